// SPDX-License-Identifier: GPL-2.0-or-later
// Messages from every sender of a group to every receiver, as in hackbench and `perf bench sched messaging`.
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SENDERS = 10, RECEIVERS = 10, MESSAGE_BYTES = 100, READ_END = 0, WRITE_END = 1 };
// Messages of a round, and those before the first: more than all channels hold, as senders are ahead of receivers.
enum { ROUND_MESSAGES = SENDERS * RECEIVERS, FIRST_MESSAGES = 200 * ROUND_MESSAGES };
static int ends[RECEIVERS][2];
static enum kind kind;
static volatile bool stop;
static _Alignas(64) long received;

static void run_on_all_cpus(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = 0; cpu < nr_cpus(); cpu++)
		CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void send_to_all(void)
{
	static const char message[MESSAGE_BYTES];

	for (int i = 0; i < RECEIVERS; i++)
		if (write(ends[i][WRITE_END], message, sizeof(message)) != sizeof(message))
			exit(1);
}

static void *send_until_stopped(void *unused)
{
	run_on_all_cpus();
	while (!stop)
		send_to_all();
	return unused;
}

// A round has one message for each pair of sender and receiver.
static void count_message(void)
{
	long number = __atomic_add_fetch(&received, 1, __ATOMIC_RELAXED) - FIRST_MESSAGES;

	if (number < 0 || number % ROUND_MESSAGES || number > ROUNDS * ROUND_MESSAGES)
		return;
	if (number)
		end_of_round();
	else
		begin_rounds(true);
	if (number == ROUNDS * ROUND_MESSAGES) {
		end_rounds("messaging-%s size=%d", KINDS[kind], MESSAGE_BYTES);
		stop = true;
	}
}

static void *receive_until_closed(void *index)
{
	char message[MESSAGE_BYTES];

	run_on_all_cpus();
	while (read(ends[(intptr_t)index][READ_END], message, sizeof(message)) > 0)
		count_message();
	return NULL;
}

void measure_messaging(enum kind of)
{
	pthread_t senders[SENDERS], receivers[RECEIVERS];

	kind = of;
	received = 0;
	stop = false;
	for (int i = 0; i < RECEIVERS; i++)
		if (kind == PIPE ? pipe(ends[i]) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]))
			exit(1);
	for (intptr_t i = 0; i < RECEIVERS; i++)
		pthread_create(&receivers[i], NULL, receive_until_closed, (void *)i);
	for (int i = 0; i < SENDERS; i++)
		pthread_create(&senders[i], NULL, send_until_stopped, NULL);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(senders[i], NULL);
	for (int i = 0; i < RECEIVERS; i++)
		close(ends[i][WRITE_END]);
	for (int i = 0; i < RECEIVERS; i++) {
		pthread_join(receivers[i], NULL);
		close(ends[i][READ_END]);
	}
}
