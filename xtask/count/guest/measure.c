// SPDX-License-Identifier: GPL-2.0-or-later
// Control of the plugin: a store to a page with a fixed address marks the begin, a round and the end of a measurement.
#define _GNU_SOURCE
#include "guest.h"
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#define MARK_PAGE ((void *)0x777700000000)
enum mark { BEGIN = 0, END = 8, ROUND = 16, KEEP_IGNORED = 24, WATCH = 64 };
static volatile char *page;

static void mark(enum mark mark) { page[mark] = 1; }

void begin_watching(void)
{
	page = mmap(MARK_PAGE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mark(WATCH);
}

// keeps_ticks: rounds count even if a tick falls into them.
void begin_rounds(bool keeps_ticks)
{
	if (keeps_ticks)
		mark(KEEP_IGNORED);
	mark(BEGIN);
}

void end_of_round(void) { mark(ROUND); }

// Ends a measurement and prints its name, and the owners of memory before what it used is freed.
void end_rounds(const char *format, ...)
{
	char name[128];
	va_list arguments;

	mark(END);
	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	printf("RUN %s\n", name);
	print_owners();
	// The console's interrupts would fall into the next measurement.
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	usleep(20000);
}

void measure(const char *name, bool keeps_ticks, void (*operation)(void))
{
	for (int i = 0; i < WARM_UP / 5; i++)
		operation();
	begin_rounds(keeps_ticks);
	for (int i = 0; i < ROUNDS; i++) {
		operation();
		end_of_round();
	}
	end_rounds("%s", name);
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity");
}

int nr_cpus(void) { return sysconf(_SC_NPROCESSORS_ONLN); }
