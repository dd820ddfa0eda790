// SPDX-License-Identifier: GPL-2.0-or-later
// Newly-idle balancing of CPUs that keep changing their runqueues.
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
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
