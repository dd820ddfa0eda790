// SPDX-License-Identifier: GPL-2.0-or-later
// Messages between two threads or processes, and of one thread to itself.
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct peer {
	struct channels *channels;
	int cpu;
};

static void *answer(void *data)
{
	struct peer *peer = data;

	pin(peer->cpu);
	for (int i = 0; i < WARM_UP + ROUNDS + 1; i++) {
		receive_message(peer->channels, 1);
		send_message(peer->channels, 0);
	}
	return NULL;
}

// Measures rounds: a message there and back, where each side waits for the other.
void ping_pong(struct exchange e)
{
	struct peer peer = { open_channels(e.kind, e.size), e.peer_cpu };
	char words[64] = "";
	pthread_t thread;
	pid_t child = 0;

	if (e.peer_cpu >= nr_cpus())
		return;
	if (e.group_depth)
		sprintf(words, " groups=%d", e.group_depth);
	if (e.has_processes)
		child = fork();
	else
		pthread_create(&thread, NULL, answer, &peer);
	if (e.has_processes && !child) {
		answer(&peer);
		_exit(0);
	}
	for (int i = 0; i < WARM_UP + ROUNDS; i++) {
		if (i == WARM_UP)
			begin_rounds(false);
		send_message(peer.channels, 1);
		receive_message(peer.channels, 0);
		if (i >= WARM_UP)
			end_of_round();
	}
	end_rounds("pingpong-%s-%s size=%d%s%s", KINDS[e.kind], e.peer_cpu ? "2cpus" : "1cpu", e.size, e.has_processes ? " processes" : "",
		   words);
	// The end of the peer is not part of a round: it waits for one more message.
	send_message(peer.channels, 1);
	receive_message(peer.channels, 0);
	if (e.has_processes)
		waitpid(child, NULL, 0);
	else
		pthread_join(thread, NULL);
	close_channels(peer.channels);
}

// Measures messages that a thread writes and reads itself, so that no task waits.
void pass_alone(enum kind kind, int size)
{
	struct channels *channels = open_channels(kind, size);

	for (int i = 0; i < WARM_UP + ROUNDS; i++) {
		if (i == WARM_UP)
			begin_rounds(false);
		send_message(channels, 1);
		receive_message(channels, 1);
		if (i >= WARM_UP)
			end_of_round();
	}
	end_rounds("pass-%s size=%d", KINDS[kind], size);
	close_channels(channels);
}

// Measures messages that a thread sends one after the other without TCP_NODELAY, and then receives itself. The first is sent at
// once. The others are appended, and sent together when the acknowledgement of the first arrives.
void pass_batch(int size, int nr_messages)
{
	struct channels *channels = open_channels(TCP_BATCH, size);

	for (int i = 0; i < WARM_UP + ROUNDS; i++) {
		if (i == WARM_UP)
			begin_rounds(false);
		for (int sent = 0; sent < nr_messages; sent++)
			send_message(channels, 1);
		receive_batch(channels, 1, nr_messages);
		if (i >= WARM_UP)
			end_of_round();
	}
	end_rounds("pass-tcp-batch size=%d messages=%d", size, nr_messages);
	close_channels(channels);
}

#if defined(__x86_64__)
static void relax(void) { __builtin_ia32_pause(); }
#else
static void relax(void) { __asm__ volatile("yield"); }
#endif

// Sequence number of the side whose turn it is. Both sides spin, so that the only system calls are those measured.
static _Alignas(64) unsigned turn;

static void wait_for_turn(unsigned expected)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != expected)
		relax();
}

static void *read_by_turns(void *data)
{
	struct peer *peer = data;

	pin(peer->cpu);
	for (int i = 0; i < WARM_UP + ROUNDS + 1; i++) {
		wait_for_turn(2 * i + 1);
		receive_message(peer->channels, 1);
		__atomic_store_n(&turn, 2 * i + 2, __ATOMIC_RELEASE);
	}
	return NULL;
}

// Measures messages from one CPU to another without waiting, wake-up or switch: against pass_alone(), only lines differ.
void pass_between_cpus(enum kind kind, int size)
{
	struct peer peer = { open_channels(kind, size), 1 };
	pthread_t thread;

	if (nr_cpus() < 2)
		return;
	turn = 0;
	pthread_create(&thread, NULL, read_by_turns, &peer);
	for (int i = 0; i < WARM_UP + ROUNDS + 1; i++) {
		if (i == WARM_UP)
			begin_rounds(false);
		if (i == WARM_UP + ROUNDS)
			end_rounds("pass-%s-2cpus size=%d", KINDS[kind], size);
		send_message(peer.channels, 1);
		__atomic_store_n(&turn, 2 * i + 1, __ATOMIC_RELEASE);
		wait_for_turn(2 * i + 2);
		if (i >= WARM_UP && i < WARM_UP + ROUNDS)
			end_of_round();
	}
	pthread_join(thread, NULL);
	close_channels(peer.channels);
}
