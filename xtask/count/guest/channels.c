// SPDX-License-Identifier: GPL-2.0-or-later
// Channels of every kind between two sides, 0 and 1, one in each direction.
#define _GNU_SOURCE
#include "guest.h"
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const KINDS[NR_KINDS] = { "futex", "futex-shared", "condition", "eventfd", "pipe", "unix", "udp", "tcp", "tcp-epoll", "tcp-batch" };

// State that both sides write, in a cache line of its own.
struct word {
	_Alignas(64) unsigned value;
	_Alignas(64) pthread_mutex_t mutex;
	pthread_cond_t condition;
};

struct channels {
	enum kind kind;
	int size;
	int in[2], out[2], poller[2]; // by side
	struct word words[2];         // by receiver
	char buffer[2][MAX_SIZE];     // by side
};

static bool is_futex(enum kind kind) { return kind == FUTEX || kind == FUTEX_SHARED; }
static bool is_socket(enum kind kind) { return kind >= UNIX; }
static bool has_files(enum kind kind) { return kind >= EVENTFD; }
static int private_flag(enum kind kind) { return kind == FUTEX ? FUTEX_PRIVATE_FLAG : 0; }

static void check(bool is_good, const char *what)
{
	if (!is_good) {
		perror(what);
		exit(1);
	}
}

static void open_datagrams(struct channels *c)
{
	struct sockaddr_in addresses[2];
	socklen_t length = sizeof(addresses[0]);

	for (int i = 0; i < 2; i++) {
		struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

		c->in[i] = socket(AF_INET, SOCK_DGRAM, 0);
		check(!bind(c->in[i], (void *)&any, length), "bind");
		getsockname(c->in[i], (void *)&addresses[i], &length);
	}
	for (int i = 0; i < 2; i++)
		check(!connect(c->in[i], (void *)&addresses[!i], length), "connect");
}

static void open_stream(struct channels *c)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	check(!bind(listener, (void *)&address, length) && !listen(listener, 1), "listen");
	getsockname(listener, (void *)&address, &length);
	c->in[0] = socket(AF_INET, SOCK_STREAM, 0);
	check(!connect(c->in[0], (void *)&address, length), "connect");
	c->in[1] = accept(listener, NULL, NULL);
	close(listener);
	// Without TCP_NODELAY, a message is appended to those before it while one waits for its acknowledgement.
	for (int i = 0; c->kind != TCP_BATCH && i < 2; i++)
		setsockopt(c->in[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void open_pollers(struct channels *c)
{
	for (int i = 0; i < 2; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		c->poller[i] = epoll_create1(0);
		check(!epoll_ctl(c->poller[i], EPOLL_CTL_ADD, c->in[i], &event), "epoll_ctl");
	}
}

// Returns channels in memory that processes share. An eventfd passes 8 bytes, whatever the size.
struct channels *open_channels(enum kind kind, int size)
{
	struct channels *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	check(c != MAP_FAILED, "mmap");
	c->kind = kind;
	c->size = kind == EVENTFD ? 8 : size;
	memset(c->buffer, 1, sizeof(c->buffer));
	if (kind == EVENTFD) {
		memset(c->buffer, 0, sizeof(c->buffer));
		c->buffer[0][0] = c->buffer[1][0] = 1;
		c->in[0] = c->out[1] = eventfd(0, 0);
		c->in[1] = c->out[0] = eventfd(0, 0);
	} else if (kind == PIPE) {
		for (int to = 0; to < 2; to++) {
			int ends[2];

			check(!pipe(ends), "pipe");
			c->in[to] = ends[0], c->out[!to] = ends[1];
		}
	} else if (kind == UNIX) {
		check(!socketpair(AF_UNIX, SOCK_STREAM, 0, c->in), "socketpair");
	} else if (kind == UDP) {
		open_datagrams(c);
	} else if (kind >= TCP) {
		open_stream(c);
	}
	if (is_socket(kind))
		c->out[0] = c->in[0], c->out[1] = c->in[1];
	if (kind == TCP_EPOLL)
		open_pollers(c);
	for (int i = 0; i < 2; i++) {
		pthread_mutex_init(&c->words[i].mutex, NULL);
		pthread_cond_init(&c->words[i].condition, NULL);
	}
	return c;
}

void close_channels(struct channels *c)
{
	for (int i = 0; has_files(c->kind) && i < 2; i++) {
		close(c->in[i]);
		if (c->kind == PIPE)
			close(c->out[i]);
		if (c->kind == TCP_EPOLL)
			close(c->poller[i]);
	}
	munmap(c, sizeof(*c));
}

static void post(struct channels *c, struct word *word)
{
	if (is_futex(c->kind)) {
		__atomic_store_n(&word->value, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &word->value, FUTEX_WAKE | private_flag(c->kind), 1, NULL, NULL, 0);
		return;
	}
	pthread_mutex_lock(&word->mutex);
	word->value = 1;
	pthread_cond_signal(&word->condition);
	pthread_mutex_unlock(&word->mutex);
}

static void await(struct channels *c, struct word *word)
{
	if (is_futex(c->kind)) {
		while (!__atomic_exchange_n(&word->value, 0, __ATOMIC_SEQ_CST))
			syscall(SYS_futex, &word->value, FUTEX_WAIT | private_flag(c->kind), 0, NULL, NULL, 0);
		return;
	}
	pthread_mutex_lock(&word->mutex);
	while (!word->value)
		pthread_cond_wait(&word->condition, &word->mutex);
	word->value = 0;
	pthread_mutex_unlock(&word->mutex);
}

void send_message(struct channels *c, int to)
{
	int side = !to;

	if (!has_files(c->kind)) {
		post(c, &c->words[to]);
		return;
	}
	for (int sent = 0, n; sent < c->size; sent += n) {
		const char *from = c->buffer[side] + sent;

		n = is_socket(c->kind) ? send(c->out[side], from, c->size - sent, 0) : write(c->out[side], from, c->size - sent);
		check(n > 0, "send");
	}
}

void receive_message(struct channels *c, int at)
{
	struct epoll_event event;

	if (!has_files(c->kind)) {
		await(c, &c->words[at]);
		return;
	}
	for (int got = 0, n; got < c->size; got += n) {
		char *to = c->buffer[at] + got;

		if (c->kind == TCP_EPOLL)
			epoll_wait(c->poller[at], &event, 1, -1);
		n = is_socket(c->kind) ? recv(c->in[at], to, c->size - got, 0) : read(c->in[at], to, c->size - got);
		check(n > 0, "receive");
	}
}

// Receives messages of a batch, as many as there are with each call.
void receive_batch(struct channels *c, int at, int nr_messages)
{
	for (int got = 0, n; got < nr_messages * c->size; got += n) {
		n = recv(c->in[at], c->buffer[at], sizeof(c->buffer[at]), 0);
		check(n > 0, "receive");
	}
}
