// SPDX-License-Identifier: GPL-2.0-or-later
// First program of a kernel that `cargo xtask count` counts. Prints the kernel's symbols, or measures and prints the name of each
// measurement as "RUN NAME". It ends with a power-off.
#define _GNU_SOURCE
#include "guest.h"
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const int SIZES[] = { 1, 100, 4096, 65536 };
#define EACH(index, array) (unsigned index = 0; index < sizeof(array) / sizeof(array[0]); index++)

static void print_symbols(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (!strchr(line, '['))
			printf("SYM %s", line);
}

static void start_loopback_device(void)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { 0 };

	strcpy(request.ifr_name, "lo");
	ioctl(s, SIOCGIFFLAGS, &request);
	request.ifr_flags |= IFF_UP;
	ioctl(s, SIOCSIFFLAGS, &request);
	close(s);
}

// A datagram has at most 65,507 bytes, and futexes and eventfds have no size.
static bool has_size(enum kind kind, int size)
{
	return size == 1 || (kind >= PIPE && kind != TCP_EPOLL && (kind != UDP || size < 65536));
}

// A thread that sends itself 64 KiB over TCP would wait for itself.
static bool can_pass_alone(enum kind kind, int size) { return kind != TCP || size < 65536; }

static void measure_exchanges(void)
{
	for (enum kind kind = 0; kind <= TCP_EPOLL; kind++)
		for EACH (i, SIZES)
			for (int cpu = 0; has_size(kind, SIZES[i]) && cpu < 2; cpu++)
				ping_pong((struct exchange){ .kind = kind, .size = SIZES[i], .peer_cpu = cpu });
	for (enum kind kind = EVENTFD; kind <= TCP_EPOLL; kind++)
		for EACH (i, SIZES)
			if (has_size(kind, SIZES[i]) && can_pass_alone(kind, SIZES[i])) {
				pass_alone(kind, SIZES[i]);
				pass_between_cpus(kind, SIZES[i]);
			}
	pass_batch(1, 1);
	pass_batch(1, 2);
	pass_batch(1, 8);
	pass_batch(4096, 8);
	for (int cpu = 0; cpu < 2; cpu++) {
		ping_pong((struct exchange){ .kind = PIPE, .size = 1, .peer_cpu = cpu, .has_processes = true });
		ping_pong((struct exchange){ .kind = PIPE, .size = 100, .peer_cpu = cpu, .has_processes = true });
		ping_pong((struct exchange){ .kind = UNIX, .size = 100, .peer_cpu = cpu, .has_processes = true });
		ping_pong((struct exchange){ .kind = UDP, .size = 1, .peer_cpu = cpu, .has_processes = true });
		ping_pong((struct exchange){ .kind = TCP, .size = 1, .peer_cpu = cpu, .has_processes = true });
		ping_pong((struct exchange){ .kind = TCP, .size = 4096, .peer_cpu = cpu, .has_processes = true });
	}
}

static void measure_groups(void)
{
	for (int depth = 1; depth <= 5; depth++) {
		if (!enter_group(depth))
			return;
		for (int cpu = 0; cpu < 2; cpu++)
			ping_pong((struct exchange){ .kind = PIPE, .size = 1, .peer_cpu = cpu, .group_depth = depth });
		leave_groups();
	}
}

// Prints the driver of idle states, without which the governor does not run.
static void print_idle_driver(void)
{
	char name[64] = "";
	FILE *file;

	mkdir("/sys", 0755);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	file = fopen("/sys/devices/system/cpu/cpuidle/current_driver", "r");
	if (file && fgets(name, sizeof(name), file))
		printf("IDLE DRIVER %s", name);
	if (file)
		fclose(file);
}

int main(void)
{
	static char command_line[2048];
	struct utsname name;
	FILE *file;

	if (getpid() != 1) {
		fprintf(stderr, "guest: this is the first program of a guest; it ends with a power-off\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	mkdir("/proc", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	file = fopen("/proc/cmdline", "r");
	if (!file || !fread(command_line, 1, sizeof(command_line) - 1, file))
		return 1;
	if (strstr(command_line, "print-symbols")) {
		uname(&name);
		printf("KERNEL %s %s\n", name.release, name.version);
		print_symbols();
		reboot(RB_POWER_OFF);
	}
	print_idle_driver();
	start_loopback_device();
	begin_watching();
	pin(0);
	open_kernel_memory(command_line);
	if (strstr(command_line, "measure=pipe")) {
		for (int cpu = 0; cpu < 2; cpu++)
			ping_pong((struct exchange){ .kind = PIPE, .size = 1, .peer_cpu = cpu });
	} else if (strstr(command_line, "measure=messaging")) {
		// The kernel's own start has to end.
		sleep(60);
		measure_messaging(PIPE);
		measure_messaging(UNIX);
	} else if (strstr(command_line, "measure=balance")) {
		measure_migration();
		measure_balance();
		measure_scan();
	} else if (strstr(command_line, "measure=ticks")) {
		// Instructions are slow here, so the kernel's own start takes longer.
		sleep(120);
		measure_ticks();
	} else {
		measure_exchanges();
		measure_single_operations();
		measure_groups();
	}
	printf("DONE\n");
	reboot(RB_POWER_OFF);
}
