/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interface between the kernel's side and fairlab. Plain C types only: fairlab, the host and the kernel's
 * side all read this. The mirror in Rust is crates/kernel/src/object/raw.rs, which compares sizes by means of
 * fl_layout().
 */
#ifndef _ASM_FAIRLAB_H
#define _ASM_FAIRLAB_H

/* ---- records of the kernel's side ---- */

enum fl_kind {
	FL_WAKEUP,	/* task, cpu; a: whether it is new */
	FL_SWITCH,	/* task, cpu; a: next task; b: state of the previous one */
	FL_MIGRATE,	/* task, cpu where it was; a: its new CPU */
	FL_IPI,		/* cpu that gets it; a: kind */
	FL_STAT,	/* cpu of the domain, its level in task; a: amount; text is the counter */
	FL_TIMER,	/* cpu; a: expiry */
	FL_FREQUENCY,	/* cpu; a: share of the highest frequency, of 1024 */
	FL_GOVERNOR,	/* cpu that wakes its thread; frequency domain in task */
	FL_RUNTIME,	/* task; a: ns that it is charged for */
	FL_WAKING,	/* task, cpu where it was */
	FL_PRIO,	/* task; a: its priority; b: whether it is inherited */
	FL_LAG,		/* task, moment in cpu: enum fl_moment; a: first of its lags; b: their number */
	FL_THROTTLING,	/* task, cpu; a: limit whose runtime it waits for: a group's number, -1 real-time, -2 deadline, 0 none */
};

enum fl_moment { FL_MOMENT_WAKEUP, FL_MOMENT_PREV, FL_MOMENT_NEXT };

struct fl_record {
	unsigned int kind, on;		/* CPU that executes */
	unsigned int cpu, task;
	long long a, b;
	const char *text;
};

enum fl_stop { FL_STOP_PANIC, FL_STOP_LOCK, FL_STOP_FORBIDDEN, FL_STOP_SHIM, FL_STOP_BOOKS, FL_STOP_CONTEXT, FL_STOP_ENDLESS,
	       FL_STOP_DEADLOCK };

/* ---- provided by the host (host.c), in the world of the C library ---- */

void fl_host_record(const struct fl_record *record);
void fl_host_log(const char *format, __builtin_va_list args);
void fl_host_trace(void);
void __attribute__((noreturn)) fl_host_stop(int why, const char *text);
void *fl_host_zalloc(unsigned long size);
extern unsigned long long fl_host_measured;	/* offset of clocks while a function measures */
void fl_host_waits(int cpu, int has, int wants);	/* locks of runqueues; the two reports that follow belong to it */
void fl_host_stack(void);
void fl_host_taken(const char *what, const void *const *places, int nr);	/* for a report, before its end */

struct fl_path;				/* stack of a call that may yield */

struct fl_path *fl_host_path(void (*act)(void *), void *arg);
int fl_host_run(struct fl_path *path);
void fl_host_leave(void);
int fl_host_mark(void);
extern unsigned int fl_host_looks;	/* a search yields after this many scanned CPUs; 0: never */
void fl_look(void);			/* provided by the kernel's side for the host */

/* ---- provided by the kernel's side: calls by fairlab ---- */

struct fl_cpu { int core, cluster, llc, package, node; unsigned int capacity; };

struct fl_frequency_domain {
	unsigned int nr_cpus, nr_points, rate_limit_us, holds_when_busy;
	unsigned int sleeps, skips_inefficient;	/* the driver; frequencies that cost no less than a higher one */
	unsigned int fixed_khz;			/* 0: schedutil */
	const unsigned int *cpus, *khz, *uw;	/* ascending; uw may be NULL */
};

struct fl_policy {
	int policy, priority;		/* numbers of the kernel */
	int reclaims, is_governor;	/* uses the bandwidth that others leave; is a governor's thread */
	long long runtime, deadline, period;
};

struct fl_task_spec {
	unsigned int id;
	int pid, nice, group;		/* group 0 is the root */
	struct fl_policy policy;
	int uclamp_min, uclamp_max;	/* -1: not set */
	unsigned long long slice;	/* ns; 0: that of the kernel */
	const unsigned long *mask;	/* one bit for each CPU */
};

/* Jiffies are counted from INITIAL_JIFFIES. */
struct fl_nohz { unsigned int nr_cpus, has_blocked, needs_update; long long next_balance, next_blocked; };

struct fl_llc { unsigned int is_first, size, has_idle_cores; int nr_idle_scan, nr_busy_cpus; };

struct fl_avg {
	unsigned long long last_update_time, load_sum, runnable_sum;
	unsigned int util_sum, period_contrib;
	unsigned long load_avg, runnable_avg, util_avg;
};

struct fl_rq {
	unsigned int nr_running, h_nr_running, curr, frequency;
	unsigned long util_avg, runnable_avg, load_avg, cpu_capacity, misfit_task_load;
	unsigned long long clock, clock_pelt, lost_idle_time, min_vruntime, avg_idle;
	long long next_balance;
};

struct fl_task {
	unsigned int cpu, on_rq;
	struct fl_avg avg;
	unsigned long long vruntime, sum_exec_runtime, util_est;
};

#define FL_MOST_DOMAINS 16

struct fl_domain {
	char name[16];
	unsigned int nr_balance_failed, cache_nice_tries, imbalance_pct;
	unsigned int level, lb[3][7], alb[3], sb[2], ttwu[3], balance_interval, imb_numa_nr;
	unsigned long long max_newidle_lb_cost;
};

struct fl_schedstat {
	unsigned int calls[5], nr_domains;
	unsigned long long times[3];
	struct fl_domain domains[FL_MOST_DOMAINS];
};

struct fl_feature { const char *name; int on; };
struct fl_tunable { const char *name; long long value, min, max; };

/* Virtual times of a fair entity, a task or a group on a CPU (is_task is 0), and of the queue that it is on. */
struct fl_lag {
	unsigned int cpu, is_task, depth, on_rq, delayed, has_relative_deadline, has_custom_slice;
	unsigned long weight;
	long long vruntime, deadline, vlag;
	unsigned long long slice;
	unsigned int nr_queued, h_nr_queued, h_nr_runnable;
	unsigned long long sum_weight;
	long long zero_vruntime, sum_w_vruntime, avg_vruntime;
};

/* Limits and counters of a group, in ns. */
struct fl_bandwidth {
	long long quota;		/* -1: none */
	unsigned long long period, burst, nr_periods, nr_throttled, throttled_time, nr_burst, burst_time;
};

struct fl_clock { unsigned long long now, ahead, newidle_cost; };

void fl_set_clock(const struct fl_clock *clock);
void fl_report_runtimes(void);		/* from now on; charges of run time are frequent */
void fl_report_lags(void);		/* from now on */
const struct fl_lag *fl_lags(void);	/* of the records since fl_forget_lags() */
void fl_forget_lags(void);
unsigned long long fl_ahead(void);
unsigned int fl_max_cpus(void);
unsigned int fl_tick_hz(void);
unsigned int fl_layout(int what);

void fl_node_distances(int nr_nodes, const unsigned int *distances);
void fl_frequency_domain(const struct fl_frequency_domain *domain_spec);
void fl_boot(int nr_cpus, const struct fl_cpu *cpus, const char *levels);
const struct fl_feature *fl_features(unsigned int *nr);
int fl_set_feature(const char *name, int on);
const struct fl_tunable *fl_tunables(unsigned int *nr);
int fl_set_tunable(int cpu, const char *name, long long value);
void fl_timer_resolution(unsigned int ns);
void fl_jiffies(unsigned long long number);
void fl_frequency(int cpu, unsigned long part);
void fl_seed_dice(int cpu, const unsigned int *words);
void fl_irq_time(int cpu, unsigned long long ns);
void fl_steal(int cpu, unsigned long long ns);
void fl_limit(int cpu, int other, int is_thermal, unsigned long part);
void fl_exit_latency(int cpu, long long ns);
int fl_skips_inefficient(void);
unsigned int fl_begin_transition(unsigned int domain);
void fl_end_transition(unsigned int domain, unsigned int khz);

int fl_has_group_file(const char *name);	/* of the cpu controller, without its prefix */
int fl_group_new(int cpu, int parent);
int fl_group_shares(int cpu, int group, unsigned long shares);
int fl_group_quota(int cpu, int group, long long quota_us, long long period_us, long long burst_us);
int fl_group_idle(int cpu, int group, int idle);
void fl_first_clamps(int as_booted);
int fl_group_uclamp(int group, int min, int max);

/* Cpusets are numbered from 1. */
int fl_cpuset_new(const unsigned long *mask);
void fl_cpuset_cpus(unsigned int cpuset, const unsigned long *mask);
int fl_cpuset_update(unsigned int cpuset);
void fl_cpuset_follow(int cpu, unsigned int task);
unsigned int fl_cpuset_of(unsigned int task);
void fl_cpuset_note(unsigned int task, unsigned int cpuset);
void fl_cpuset_limit(unsigned int cpuset, unsigned long *mask);

int fl_offline(int cpu, int other);
void fl_online(int cpu, int other);
int fl_is_online(int cpu);
int fl_is_active(int cpu);

void fl_fork(int cpu, const struct fl_task_spec *spec);	/* without its first wake-up */
int fl_waiter_prio(unsigned int task);
unsigned long long fl_deadline(unsigned int task);
void fl_inherit(int cpu, unsigned int task, int waiter);
int fl_set_affinity(int cpu, unsigned int task, const unsigned long *mask);
void fl_set_nice(int cpu, unsigned int task, int nice);
int fl_set_policy(int cpu, unsigned int task, const struct fl_policy *policy);
int fl_has_slices(void);
int fl_set_slice(int cpu, unsigned int task, unsigned long long ns);
int fl_has_fair_servers(void);
int fl_set_fair_server(int cpu, int other, unsigned long long runtime, unsigned long long period);
int fl_set_uclamp(int cpu, unsigned int task, int min, int max);
unsigned int fl_uclamp(unsigned int task);	/* the upper clamp is in the upper half */
int fl_spans_domain(unsigned int task);
void fl_move(int cpu, unsigned int task, int group);

enum fl_irq { FL_IRQ_RESCHEDULE, FL_IRQ_CALL, FL_IRQ_TIMER };

/* Calls that yield in the middle of kernel code, once yields are enabled. */
enum fl_call {
	FL_CALL_WAKE,		/* task; sync. Result: whether it was asleep */
	FL_CALL_WAKE_NEW,	/* task that was forked */
	FL_CALL_INTERRUPT,	/* kind of interrupt */
	FL_CALL_TICK,
	FL_CALL_INTERRUPT_WAKE,	/* task. Result: whether it was asleep */
	FL_CALL_RESCHEDULE,
	FL_CALL_BLOCK,		/* whether the task ends; whether it waits for I/O */
	FL_CALL_YIELD,
	FL_CALL_EXEC,
	FL_CALL_STOPPER,
	FL_CALL_IDLE_ENTER,	/* tick of the idle CPU: enum fl_tick */
};

/* The tick stops, is retained for a timer that expires soon, or is retained by the governor. */
enum fl_tick { FL_TICK_STOPS, FL_TICK_IS_KEPT, FL_TICK_GOES_ON };

#define FL_LEFT (-1L)		/* a call is not over */

/* Condition for the resumption: none, a runqueue's lock, an attempt to take that lock, the end of a spin. */
enum fl_why { FL_PAUSE_NONE, FL_PAUSE_LOCK, FL_PAUSE_TRY, FL_PAUSE_SPIN };

struct fl_pause {
	int why, cpu, call, mark;	/* the mark is that of fl_mark() */
	int is_search, irqs_off, in_softirq;
	unsigned int nr;		/* how often the call has yielded */
};

void fl_set_leaving(unsigned int budget);
long fl_begin(int cpu, int call, unsigned int a, unsigned int b);
long fl_resume(int cpu);
int fl_paused(int cpu, struct fl_pause *pause);
void fl_phase_over(int cpu);
int fl_keeps_lock(int cpu, int other);
void fl_grant(int cpu, int is_granted);
int fl_ready(void);
void __attribute__((noreturn)) fl_deadlock(int cpu);
int fl_is_asleep(unsigned int task);

void fl_awaited_stopper(int cpu);
void fl_wake_idle(int cpu);
void fl_idle_exit(int cpu);
void fl_leaving(void);			/* end of each call: checks that the context is unchanged, reports limits */

enum fl_duty { FL_DUTY_RESCHEDULE, FL_DUTY_STOPPER, FL_DUTY_IDLE, FL_DUTY_TASK };

int fl_duty(int cpu);
unsigned int fl_running(int cpu);
int fl_cpu_of(unsigned int task);
int fl_tick_is_stopped(int cpu);

/* Snapshots of the kernel's side. Nothing is updated for them. */
void fl_show_nohz(struct fl_nohz *to);
void fl_show_llc(int cpu, struct fl_llc *to);
void fl_show_rq(int cpu, struct fl_rq *to);
void fl_show_task(unsigned int task, struct fl_task *to);
void fl_show_schedstat(int cpu, struct fl_schedstat *to);
int fl_show_lag(unsigned int task, struct fl_lag *to);		/* these two return 0 if the tree has no lags */
int fl_show_queue_lag(int cpu, struct fl_lag *to);
int fl_show_bandwidth(int group, struct fl_bandwidth *to);	/* 0: groups have no quotas */

/* ---- provided by the host for fairlab ---- */

const struct fl_record *fl_records(unsigned int *nr);	/* since the last call; valid until the kernel's side is entered again */
void fl_count(unsigned long function, int operation, int times, unsigned long within, int is_direct, int is_hidden);
void fl_measure(unsigned long function, int operation, unsigned int ns);
void fl_mark(unsigned long function, int mark);		/* path of calls that yield while the function runs */
void fl_count_as_look(int operation);			/* searches yield after some of these operations */
long long *fl_counts(unsigned long long *which);	/* by operation, a bit for each that is not 0; the reader sets them to 0 */

/* A function that was entered, while tracing is on, or a call by fairlab. */
struct fl_called {
	unsigned long function;		/* address in the object; 0: a call by fairlab */
	int depth, cpu;
	unsigned long long at;
	const char *what;		/* name of a call by fairlab */
};

void fl_trace(int on);
const struct fl_called *fl_called(unsigned int *nr);	/* since the last call, in order */
void fl_guard(int report, unsigned int loop_seconds);
void fl_entering(const char *what, int cpu, unsigned long long at);
void __attribute__((noreturn)) fl_forbidden(const char *symbol);

#endif
