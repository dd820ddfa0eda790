// SPDX-License-Identifier: GPL-2.0-or-later
// Newly-idle balancing of CPUs that keep changing their runqueues, scans for an idle CPU among busy ones, and wake-ups that migrate.
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CPUS = 64, PAIR_CPU = 1, PAIR_PERIOD_NS = 500000 };
static volatile bool stop;
static struct timespec start;

static void nap_for(long ns)
{
	struct timespec time = { 0, ns };

	nanosleep(&time, NULL);
}

// Wakes, switches and updates change the CPU's runqueue. Periods differ, so that CPUs do not stay in step.
static void *nap_on(void *cpu)
{
	pin((intptr_t)cpu);
	prctl(PR_SET_TIMERSLACK, 1);
	while (!stop)
		nap_for(900000 + 17000 * (intptr_t)cpu);
	return NULL;
}

// Two of these wake at the same time on one CPU. A CPU that becomes idle then searches for a task to pull. A task that spins would
// not do: emulated CPUs run one after another, so a pass that another CPU interrupts seems to take long, and is left out later.
static void *wake_in_step(void *unused)
{
	struct timespec next = start;

	pin(PAIR_CPU);
	prctl(PR_SET_TIMERSLACK, 1);
	while (!stop) {
		next.tv_nsec += PAIR_PERIOD_NS;
		if (next.tv_nsec >= 1000000000)
			next.tv_sec++, next.tv_nsec -= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		for (volatile int i = 0; i < 2000; i++)
			;
	}
	return unused;
}

static void nap(void) { nap_for(2000000); }

// A round is a sleep of this CPU. Passes of all CPUs count: a row of a sheet is read by the number of its calls.
void measure_balance(void)
{
	pthread_t threads[MAX_CPUS + 1];
	char name[32];
	int nr = 0;

	if (nr_cpus() < 3 || nr_cpus() > MAX_CPUS) {
		printf("balancing needs 3 to %d CPUs\n", MAX_CPUS);
		return;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	clock_gettime(CLOCK_MONOTONIC, &start);
	stop = false;
	for (int task = 0; task < 2; task++)
		pthread_create(&threads[nr++], NULL, wake_in_step, NULL);
	for (intptr_t cpu = 2; cpu < nr_cpus(); cpu++)
		pthread_create(&threads[nr++], NULL, nap_on, (void *)cpu);
	// Threads of the kernel's start have to end.
	sleep(2);
	snprintf(name, sizeof(name), "newidle cpus=%d", nr_cpus());
	measure(name, true, nap);
	stop = true;
	while (nr > 0)
		pthread_join(threads[--nr], NULL);
}

static void *spin_on(void *cpu)
{
	pin((intptr_t)cpu);
	while (!stop)
		;
	return NULL;
}

static int word;

// May run on every CPU, so a wake-up scans them all.
static void *wait_on_any(void *unused)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = 0; cpu < nr_cpus(); cpu++)
		CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (!stop)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return unused;
}

static void wake_waiter(void)
{
	nap();
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

// The utilisation of busy CPUs would end each scan at once.
static bool unlimit_scans(void)
{
	const char *name = "NO_SIS_UTIL";
	int file;

	mkdir("/sys", 0755);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	file = open("/sys/kernel/debug/sched/features", O_WRONLY);
	return file >= 0 && write(file, name, strlen(name)) > 0 && !close(file);
}

// A round wakes a task while every CPU is busy: this one with the waker, others with tasks that spin.
void measure_scan(void)
{
	pthread_t threads[MAX_CPUS + 1];
	char name[32];
	int nr = 0;

	if (nr_cpus() > MAX_CPUS || !unlimit_scans() || access("/sys/devices/system/cpu/cpu0/cache/index0", F_OK)) {
		printf("scans need at most %d CPUs, the kernel's debugfs, and caches that the kernel knows\n", MAX_CPUS);
		return;
	}
	stop = false;
	for (intptr_t cpu = 1; cpu < nr_cpus(); cpu++)
		pthread_create(&threads[nr++], NULL, spin_on, (void *)cpu);
	pthread_create(&threads[nr++], NULL, wait_on_any, NULL);
	snprintf(name, sizeof(name), "scan cpus=%d", nr_cpus());
	measure(name, true, wake_waiter);
	stop = true;
	wake_waiter();
	while (nr > 0)
		pthread_join(threads[--nr], NULL);
}

static pid_t waiter;
static int waiter_cpu = 1;

static void *wait_where_allowed(void *unused)
{
	waiter = syscall(SYS_gettid);
	return wait_on_any(unused);
}

static void wake_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(waiter, sizeof(set), &set);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	nap_for(300000);
}

static void wake_on_same(void) { wake_on(waiter_cpu); }

static void wake_on_other(void) { wake_on(waiter_cpu = 3 - waiter_cpu); }

// A round wakes a task on an idle CPU: the one on which it has slept, or another one.
void measure_migration(void)
{
	pthread_t thread;

	if (nr_cpus() != 4)
		return;
	stop = false;
	pthread_create(&thread, NULL, wait_where_allowed, NULL);
	while (!waiter)
		nap();
	measure("wake-up cpu=same", true, wake_on_same);
	measure("wake-up cpu=other", true, wake_on_other);
	stop = true;
	wake_on_same();
	pthread_join(thread, NULL);
}
