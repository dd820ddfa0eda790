// SPDX-License-Identifier: GPL-2.0-or-later
// Single operations, and ticks.
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void empty_call(void) { syscall(SYS_getppid); }
static void yield(void) { sched_yield(); }

static void nap(void)
{
	struct timespec time = { 0, 200000 };

	nanosleep(&time, NULL);
}

static struct timespec next;
static void nap_until(void)
{
	if (!next.tv_sec)
		clock_gettime(CLOCK_MONOTONIC, &next);
	next.tv_nsec += 300000;
	if (next.tv_nsec >= 1000000000)
		next.tv_sec++, next.tv_nsec -= 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}

static void poll_until_late(void)
{
	struct timespec time = { 0, 200000 };

	ppoll(NULL, 0, &time, NULL);
}

static int timer_file = -1;
static void timer_expires(void)
{
	struct itimerspec spec = { .it_value = { 0, 200000 } };
	uint64_t expirations;

	if (timer_file < 0)
		timer_file = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(timer_file, 0, &spec, NULL);
	if (read(timer_file, &expirations, sizeof(expirations)) < 0)
		perror("timerfd");
}

static void timer_is_set(void)
{
	struct itimerspec spec = { .it_value = { 10, 0 } };

	if (timer_file < 0)
		timer_file = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(timer_file, 0, &spec, NULL);
}

static _Alignas(64) unsigned word;
static long futex(int operation, int value) { return syscall(SYS_futex, &word, operation, value, NULL, NULL, 0); }
static void wake_none_private(void) { futex(FUTEX_WAKE_PRIVATE, 1); }
static void wake_none_shared(void) { futex(FUTEX_WAKE, 1); }
static void wait_not_private(void) { futex(FUTEX_WAIT_PRIVATE, 1); }
static void wait_not_shared(void) { futex(FUTEX_WAIT, 1); }

static void *nothing(void *data) { return data; }
static void make_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
}

static void make_process(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static volatile bool stop;
static void *spin(void *data)
{
	pin(1);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	while (!stop)
		;
	return data;
}
static void interrupt_other_cpu(void) { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

void measure_single_operations(void)
{
	pthread_t spinner;

	measure("empty-call", false, empty_call);
	measure("yield", false, yield);
	measure("futex-wake-none", false, wake_none_private);
	measure("futex-wake-none-shared", false, wake_none_shared);
	measure("futex-wait-mismatch", false, wait_not_private);
	measure("futex-wait-mismatch-shared", false, wait_not_shared);
	measure("timer-set", false, timer_is_set);
	measure("sleep-200us", true, nap);
	measure("sleep-until", true, nap_until);
	measure("poll-200us", true, poll_until_late);
	measure("timerfd-200us", true, timer_expires);
	measure("thread", true, make_thread);
	measure("process", true, make_process);
	if (nr_cpus() < 2)
		return;
	stop = false;
	pthread_create(&spinner, NULL, spin, NULL);
	usleep(100000);
	measure("interrupt", true, interrupt_other_cpu);
	stop = true;
	pthread_join(spinner, NULL);
}

// Ticks are measured at 32 ns for each instruction, so that a tick comes every 125,000 instructions.
static void run_for_a_tick(void)
{
	for (volatile int i = 0; i < 30000; i++)
		;
}

// Measures rounds of about one tick each while this task runs, alone in groups of some depth or beside tasks of other groups.
void measure_ticks(void)
{
	static const int DEPTHS[] = { 1, 2, 3, 4, 5 }, GROUPS[] = { 1, 8, 16, 64 };
	char name[32];

	measure("tick", true, run_for_a_tick);
	for (unsigned i = 0; i < sizeof(DEPTHS) / sizeof(DEPTHS[0]); i++) {
		if (!enter_group(DEPTHS[i]))
			return;
		snprintf(name, sizeof(name), "tick groups=%d", DEPTHS[i]);
		measure(name, true, run_for_a_tick);
		leave_groups();
	}
	for (unsigned i = 0; i < sizeof(GROUPS) / sizeof(GROUPS[0]); i++) {
		start_group_tasks(GROUPS[i]);
		snprintf(name, sizeof(name), "tick busy-groups=%d", GROUPS[i]);
		measure(name, true, run_for_a_tick);
		stop_group_tasks();
	}
}
