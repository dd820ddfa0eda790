// SPDX-License-Identifier: GPL-2.0-or-later
//
// Guest program with known user instructions between two system calls: four, the call itself included. The time that a trace has between
// them contains the tracer's own instructions. The first calls return at once, later ones sleep.
#include <sys/syscall.h>

enum { CALLS = 400 };

int main(void)
{
	long short_sleep[2] = {0, 1000};
	long result;
	for (int i = 0; i < CALLS; i++)
		asm volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
	register long rem asm("rsi") = 0;
	for (int i = 0; i < CALLS; i++)
		asm volatile("syscall" : "=a"(result) : "a"(SYS_nanosleep), "D"(short_sleep), "r"(rem) : "rcx", "r11", "memory");
	return 0;
}
