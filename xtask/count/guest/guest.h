// SPDX-License-Identifier: GPL-2.0-or-later
// Parts of the guest program of `cargo xtask count`.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Rounds of a measurement, and rounds before it. Few rounds fall on a tick and are dropped; at least 400 have to remain.
enum { WARM_UP = 100, ROUNDS = 500 };

// measure.c
void begin_watching(void);
void begin_rounds(bool keeps_ticks);
void end_of_round(void);
void end_rounds(const char *format, ...) __attribute__((format(printf, 1, 2)));
void measure(const char *name, bool keeps_ticks, void (*operation)(void));
void pin(int cpu);
int nr_cpus(void);

// channels.c
enum kind { FUTEX, FUTEX_SHARED, CONDITION, EVENTFD, PIPE, UNIX, UDP, TCP, TCP_EPOLL, TCP_BATCH };
#define NR_KINDS 10
enum { MAX_SIZE = 65536 };
extern const char *const KINDS[NR_KINDS];
struct channels; // one in each direction
struct channels *open_channels(enum kind kind, int size);
void close_channels(struct channels *channels);
void send_message(struct channels *channels, int to);
void receive_message(struct channels *channels, int at);
void receive_batch(struct channels *channels, int at, int nr_messages);

// exchange.c
struct exchange {
	enum kind kind;
	int size, peer_cpu;
	bool has_processes;
	int group_depth;
};
void ping_pong(struct exchange exchange);
void pass_alone(enum kind kind, int size);
void pass_between_cpus(enum kind kind, int size);
void pass_batch(int size, int nr_messages);

// messaging.c
void measure_messaging(enum kind kind);

// operations.c
void measure_single_operations(void);
void measure_ticks(void);

// groups.c
bool enter_group(int depth);
void leave_groups(void);
void start_group_tasks(int nr_groups);
void stop_group_tasks(void);

// balance.c
void measure_balance(void);
void measure_scan(void);
void measure_migration(void);

// owners.c
void open_kernel_memory(const char *command_line);
void print_owners(void);
