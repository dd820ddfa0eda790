// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls that yield in the middle of kernel code, where time passes: each runs on its own stack
 * (host/paths.c).
 *
 * A call yields:
 * - before it takes the lock of a runqueue: it gets the lock from the machine, which knows the order of the
 *   waiters;
 * - when it releases the last such lock, so that the lock is held for as long as its work takes;
 * - after a number of scanned CPUs of a search;
 * - while it spins on something else that a yielded call holds.
 *
 * The calls of a CPU form a stack: an interrupt may come on top of a softirq. Calls that change what others
 * rely on (hotplug, policies, cpusets, ...) do not yield, and all yielded calls end before them.
 */
#include "local.h"

#define MOST_GIVEN 8
#define MOST_PAUSES 1000000	/* of one call: a pass over all CPUs of the largest machines has some thousands */

struct way {
	struct fl_path *path;		/* its stack */
	struct way *below;		/* next lower call of the CPU; or the next unused one */
	int call, nr_held, nr_given;
	arch_spinlock_t *given[MOST_GIVEN];	/* locks that become free at the end of the phase */
	unsigned int a, b;
	long result;
	struct fl_pause pause;
	bool is_granted;		/* whether it got the lock that it has tried to take */
	struct fl_context context;
	int count;			/* preemption count */
};

static struct way *ways[NR_CPUS], *unused;
static unsigned int nr_ways;
static bool is_leaving;			/* whether calls yield */
static bool is_asked;			/* whether a call must report its stack instead of resuming */

static arch_spinlock_t *lock_of(int cpu) { return &LOCK_OF(cpu_rq(cpu)).raw_lock; }

void fl_set_leaving(unsigned int budget)
{
	int cpu;

	fl_host_looks = budget;
	is_leaving = true;
	for_each_possible_cpu(cpu)
		lock_of(cpu)->runqueue = cpu + 1;
}

bool fl_has_ways(void) { return nr_ways; }
bool fl_has_way(int cpu) { return ways[cpu] != NULL; }

/* Whether the current call has yielded since it began. */
bool fl_has_left(void)
{
	return fl_state.leaves && ways[fl_state.cpu]->pause.nr;
}

/* An interrupt on top of a softirq leaves softirqs to the call below. */
bool fl_is_above_softirq(void)
{
	struct way *way = fl_state.leaves ? ways[fl_state.cpu]->below : NULL;

	for (; way; way = way->below)
		if (way->count & SOFTIRQ_MASK)
			return true;
	return false;
}

/* ---- yielding ---- */

static void leave(int why, int cpu, bool is_search)
{
	struct way *mine = ways[fl_state.cpu];

	if (mine->pause.nr == MOST_PAUSES)
		fl_host_stop(FL_STOP_ENDLESS, "one call has left kernel code a million times, to wait or to let time pass, and does not end");
	mine->pause.why = why;
	mine->pause.cpu = cpu;
	mine->pause.call = mine->call;
	mine->pause.is_search = is_search;
	mine->pause.irqs_off = fl_state.irqs_off;
	mine->pause.in_softirq = (preempt_count() & SOFTIRQ_MASK) != 0;
	mine->pause.mark = fl_host_mark();
	mine->pause.nr++;
	mine->count = preempt_count();
	mine->context = fl_state.context;
	fl_state.leaves = 0;
	fl_state.irqs_off = 0;
	fl_state.depth = 0;
	do {
		if (is_asked)
			fl_host_stack();
		fl_host_leave();
	} while (is_asked);
}

/* In the middle of a search, before it scans one more CPU. */
void fl_look(void)
{
	if (fl_state.leaves)
		leave(FL_PAUSE_NONE, 0, true);
}

void fl_relax(void)
{
	if (fl_state.leaves)
		leave(FL_PAUSE_SPIN, 0, false);
	barrier();
}

void fl_wait_for(arch_spinlock_t *lock)
{
	if (fl_state.leaves && lock->runqueue) {
		leave(FL_PAUSE_LOCK, lock->runqueue - 1, false);
		ways[fl_state.cpu]->nr_held++;
	}
	/* Held by another call that has yielded. */
	while (fl_state.leaves && lock->holder && lock->holder != fl_state.cpu + 1 && ways[lock->holder - 1])
		fl_relax();
	if (lock->holder)
		fl_lock_is_held(lock, lock->holder - 1, lock->taker);
}

int fl_try_for(arch_spinlock_t *lock)
{
	struct way *mine = ways[fl_state.cpu];

	leave(FL_PAUSE_TRY, lock->runqueue - 1, false);
	if (!mine->is_granted || lock->holder)
		return 0;
	mine->nr_held++;
	return 1;
}

/* The phase ends with the last one. */
void fl_give_back(arch_spinlock_t *lock)
{
	struct way *mine = ways[fl_state.cpu];

	if (mine->nr_given == MOST_GIVEN)
		fl_host_stop(FL_STOP_SHIM, "too many locks are given back in one phase");
	mine->given[mine->nr_given++] = lock;
	lock->is_given = 1;
	if (!--mine->nr_held)
		leave(FL_PAUSE_NONE, 0, false);
}

void fl_phase_over(int cpu)
{
	struct way *way = ways[cpu];

	while (way && way->nr_given) {
		arch_spinlock_t *lock = way->given[--way->nr_given];

		lock->holder = lock->is_given = 0;
	}
}

/* Whether a CPU holds the lock of a runqueue beyond its phase. */
int fl_keeps_lock(int cpu, int other)
{
	arch_spinlock_t *lock = lock_of(other);

	return lock->holder == cpu + 1 && !lock->is_given;
}

/* Returns the CPU that has the lock for which a CPU waits. */
static int who_keeps(int cpu) { return (int)lock_of(ways[cpu]->pause.cpu)->holder - 1; }

static bool waits(int cpu) { return cpu >= 0 && ways[cpu] && ways[cpu]->pause.why == FL_PAUSE_LOCK; }

/*
 * A CPU waits for a lock whose holder waits, in a circle. Each CPU of the circle reports the lock that it
 * has, and where it waits for the next one.
 */
void __attribute__((noreturn)) fl_deadlock(int cpu)
{
	arch_spinlock_t *lock;
	int first, i;

	/* A CPU outside the circle leads into it. */
	for (i = 0; i < fl_nr_cpus && waits(cpu); i++)
		cpu = who_keeps(cpu);
	if (!waits(cpu))
		fl_host_stop(FL_STOP_SHIM, "CPUs are said to wait for each other, and one of them does not wait");
	first = cpu;
	is_asked = true;
	do {
		int keeper = who_keeps(cpu);

		fl_host_waits(keeper, ways[cpu]->pause.cpu, ways[keeper]->pause.cpu);
		lock = lock_of(ways[cpu]->pause.cpu);
		fl_host_taken("taken", lock->taker, FL_CALLERS);
		fl_host_run(ways[keeper]->path);
		cpu = keeper;
	} while (cpu != first);
	fl_host_stop(FL_STOP_DEADLOCK, "each has the lock of a runqueue, and waits for the next one's");
}

/* ---- calls ---- */

static long perform(int cpu, int call, unsigned int a, unsigned int b)
{
	switch (call) {
	case FL_CALL_WAKE:
		return fl_wake(cpu, a, b);
	case FL_CALL_WAKE_NEW:
		fl_execute_on(cpu);
		wake_up_new_task(fl_task(a));
		return 0;
	case FL_CALL_INTERRUPT:
		fl_interrupt(cpu, a);
		return 0;
	case FL_CALL_TICK:
		fl_tick(cpu);
		return 0;
	case FL_CALL_INTERRUPT_WAKE:
		return fl_interrupt_wake(cpu, a);
	case FL_CALL_RESCHEDULE:
		fl_reschedule(cpu);
		return 0;
	case FL_CALL_BLOCK:
		fl_block(cpu, a, b);
		return 0;
	case FL_CALL_YIELD:
		fl_yield(cpu);
		return 0;
	case FL_CALL_EXEC:
		fl_exec(cpu);
		return 0;
	case FL_CALL_STOPPER:
		fl_stopper(cpu);
		return 0;
	case FL_CALL_IDLE_ENTER:
		fl_idle_enter(cpu, a);
		return 0;
	}
	fl_host_stop(FL_STOP_SHIM, "fairlab makes a call with an unknown number");
}

static void live(void *what)
{
	struct way *mine = what;

	fl_state.stack_end = __builtin_frame_address(0);
	mine->result = perform(fl_state.cpu, mine->call, mine->a, mine->b);
	fl_check_context();
}

/* The state of the CPU must be set before. */
static long go_on(int cpu, struct way *way)
{
	fl_state.leaves = 1;
	if (!fl_host_run(way->path))
		return FL_LEFT;
	fl_state.leaves = 0;
	ways[cpu] = way->below;
	way->below = unused;
	unused = way;
	nr_ways--;
	return way->result;
}

/* Returns the result, or FL_LEFT. */
long fl_begin(int cpu, int call, unsigned int a, unsigned int b)
{
	struct way *way;

	if (!is_leaving)
		return perform(cpu, call, a, b);
	way = unused;
	if (way) {
		unused = way->below;
	} else {
		way = fl_host_zalloc(sizeof(*way));
		way->path = fl_host_path(live, way);
	}
	way->call = call;
	way->a = a;
	way->b = b;
	way->pause.nr = 0;
	way->nr_held = 0;
	way->below = ways[cpu];
	ways[cpu] = way;
	nr_ways++;
	fl_state.cpu = cpu;
	return go_on(cpu, way);
}

/*
 * Resumes the last yielded call of a CPU. fl_grant() sets before whether it got the lock that it has tried to
 * take.
 */
long fl_resume(int cpu)
{
	struct way *way = ways[cpu];

	fl_phase_over(cpu);
	fl_state.context = way->context;
	preempt_count_set(way->count);
	return go_on(cpu, way);
}

void fl_grant(int cpu, int is_granted) { ways[cpu]->is_granted = is_granted; }

/* Returns the state of the last yielded call of a CPU. */
int fl_paused(int cpu, struct fl_pause *pause)
{
	if (!ways[cpu])
		return 0;
	*pause = ways[cpu]->pause;
	return 1;
}

/*
 * Returns a CPU that can resume at once, after the one that was returned last; -1 if there is no yielded
 * call.
 */
int fl_ready(void)
{
	static int last;
	int i;

	for (i = 1; nr_ways && i <= fl_nr_cpus; i++) {
		int cpu = (last + i) % fl_nr_cpus;
		struct way *way = ways[cpu];
		arch_spinlock_t *lock;

		if (!way)
			continue;
		fl_phase_over(cpu);
		lock = lock_of(way->pause.cpu);
		if (way->pause.why == FL_PAUSE_LOCK && lock->holder)
			continue;
		way->is_granted = !lock->holder;
		last = cpu;
		return cpu;
	}
	for (i = 0; i < fl_nr_cpus; i++)
		if (ways[i])
			fl_deadlock(i);
	return -1;
}

/* Whether a wake-up at this time would find the task asleep. */
int fl_is_asleep(unsigned int task)
{
	struct task_struct *p = fl_task(task);

	return (READ_ONCE(STATE_OF(p)) & TASK_NORMAL) && !p->pi_lock.raw_lock.holder;
}
