// SPDX-License-Identifier: GPL-2.0-or-later
/* Clocks, context switches, locks that cannot be waited for, and inter-processor interrupts. */
#include "local.h"

struct fl_state fl_state = { .running = { [0 ... NR_CPUS - 1] = &init_task } };

u64 jiffies_64 = INITIAL_JIFFIES;
enum system_states system_state;
unsigned long __per_cpu_offset[NR_CPUS];
bool static_key_initialized = true;
bool tick_nohz_active = true;
bool cpuhp_tasks_frozen;
int oops_in_progress;
#ifdef FL_EARLY_IRQS_OFF
bool early_boot_irqs_disabled;
#endif
unsigned long init_stack[THREAD_SIZE / sizeof(unsigned long)];
struct mm_struct init_mm;
DEFINE_PER_CPU(struct pt_regs *, __irq_regs);
DEFINE_PER_CPU(struct task_struct *, ksoftirqd);
DEFINE_PER_CPU_ALIGNED(irq_cpustat_t, irq_stat);
#ifdef FL_LOCAL_INTERRUPT
DEFINE_PER_CPU(unsigned long, local_interrupt_disable_state);
#endif
#ifdef FL_FAST_SRCU_OF_TRACEPOINTS
DEFINE_SRCU_FAST(tracepoint_srcu);
#endif
DEFINE_STATIC_KEY_FALSE(timers_migration_enabled);
DEFINE_STATIC_KEY_TRUE(cpu_cgrp_subsys_on_dfl_key);

/* ---- clocks: one for all CPUs ---- */

void fl_set_clock(const struct fl_clock *clock)
{
	fl_state.now = clock->now;
	fl_state.ahead = clock->ahead;
	fl_state.newidle_cost = clock->newidle_cost;
	fl_state.stack_end = __builtin_frame_address(0);
}

unsigned long long fl_ahead(void) { return fl_state.ahead; }
unsigned int fl_tick_hz(void) { return HZ; }

unsigned long long notrace sched_clock(void) { return fl_state.now + fl_state.ahead + fl_host_measured; }
ktime_t ktime_get(void) { return fl_state.now; }
ktime_t ktime_get_with_offset(enum tk_offsets offset) { return fl_state.now; }
u64 ktime_get_mono_fast_ns(void) { return fl_state.now; }

/* Real time, boot time and TAI began with the monotonic clock. */
ktime_t ktime_get_update_offsets_now(unsigned int *version, ktime_t *real, ktime_t *boot, ktime_t *tai)
{
	*real = *boot = *tai = 0;
	return fl_state.now;
}

void ktime_get_real_ts64(struct timespec64 *to) { *to = ns_to_timespec64(fl_state.now); }

/* Counted from INITIAL_JIFFIES. Time does not go back. */
void fl_jiffies(unsigned long long number)
{
	u64 to = INITIAL_JIFFIES + number;

	if (time_after64(to, jiffies_64))
		jiffies_64 = to;
	if (system_state == SYSTEM_RUNNING && !fl_has_ways())
		fl_check_books();
}

void fl_frequency(int cpu, unsigned long part) { fl_place[cpu].frequency = part; }
void fl_irq_time(int cpu, unsigned long long ns) { per_cpu(cpu_irqtime, cpu).total += ns; }

/* ---- steal time ---- */

static u64 stolen[NR_CPUS];
#ifndef FL_STEAL_KEYS
struct static_key paravirt_steal_enabled, paravirt_steal_rq_enabled;
#endif

u64 paravirt_steal_clock(int cpu) { return stolen[cpu]; }

void fl_steal(int cpu, unsigned long long ns)
{
	static_key_enable(&paravirt_steal_enabled);
	static_key_enable(&paravirt_steal_rq_enabled);
	stolen[cpu] += ns;
}

/* ---- random numbers ---- */

/* Seed of the random number generators until fairlab sets another one. */
#define FIRST_SEED 0x5a

void get_random_bytes(void *to, size_t size) { memset(to, FIRST_SEED, size); }

void fl_seed_dice(int cpu, const unsigned int *words)
{
#ifdef FL_RND_STATE
	struct rnd_state *dice = per_cpu_ptr(&sched_rnd_state, cpu);

	dice->s1 = words[0];
	dice->s2 = words[1];
	dice->s3 = words[2];
	dice->s4 = words[3];
#endif
}

/* ---- records ---- */

void fl_tell(enum fl_kind kind, unsigned int cpu, unsigned int task, long long a, long long b)
{
	struct fl_record record = { .kind = kind, .on = fl_state.cpu, .cpu = cpu, .task = task, .a = a, .b = b };

	fl_host_record(&record);
}

/*
 * All CPUs share one stack, so only `current` is switched. The caller continues as the next task until it
 * returns to fairlab, which then makes that task do its work.
 */
struct task_struct *__switch_to(struct task_struct *prev, struct task_struct *next)
{
	int cpu = fl_state.cpu, count = preempt_count();

	fl_state.running[cpu] = next;
	preempt_count_set(count);	/* the next task has taken the same number of sections as the previous one */
	if (fl_has_limits) {
		fl_report_limit_of(prev);
		fl_report_limit_of(next);
	}
	fl_tell(FL_SWITCH, cpu, task_thread_info(prev)->id, task_thread_info(next)->id, READ_ONCE(STATE_OF(prev)));
	fl_tell_lags(prev, FL_MOMENT_PREV);
	fl_tell_lags(next, FL_MOMENT_NEXT);
	return prev;
}

void arch_smp_send_reschedule(int cpu)
{
	if (fl_has_limits)
		fl_cpu_reschedules(cpu);
	fl_tell(FL_IPI, cpu, 0, FL_IRQ_RESCHEDULE, 0);
}

#ifndef FL_RESCHEDULE_MACRO
void smp_send_reschedule(int cpu) { arch_smp_send_reschedule(cpu); }
#endif

void arch_send_call_function_single_ipi(int cpu) { fl_tell(FL_IPI, cpu, 0, FL_IRQ_CALL, 0); }

void arch_send_call_function_ipi_mask(const struct cpumask *mask)
{
	int cpu;

	for_each_cpu(cpu, mask)
		arch_send_call_function_single_ipi(cpu);
}

/* ---- locks and sections at the end of a call ---- */

/* Ends the run if a call has not released the lock of a runqueue. */
static void expect_no_lock(void)
{
	char text[160];
	int cpu;

	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		const arch_spinlock_t *lock = &LOCK_OF(cpu_rq(cpu)).raw_lock;

		if (!lock->holder || (lock->holder != fl_state.cpu + 1 && fl_has_way(lock->holder - 1)))
			continue;
		fl_host_taken("taken", lock->taker, FL_CALLERS);
		snprintf(text, sizeof(text), "the runqueue's lock of CPU %d was not released", cpu);
		fl_host_stop(FL_STOP_CONTEXT, text);
	}
}

/*
 * A call that switches tasks ends as another task than it began, but with the same nesting depth. The tree
 * corrects its own number when it switches.
 */
void fl_check_context(void)
{
	int more = fl_state.depth;
	char text[160];

	if (fl_state.irqs_off) {
		fl_host_taken("taken", &fl_state.turned_off, 1);
		fl_host_stop(FL_STOP_CONTEXT, "interrupts were left off");
	}
	if (!more)
		return;
	expect_no_lock();
	if (more > 0)
		fl_host_taken("section", fl_state.began, FL_SECTIONS);
	snprintf(text, sizeof(text), "a lock, rcu_read_lock() or preempt_disable() was %s", more > 0 ? "not undone" : "undone once too often");
	fl_host_stop(FL_STOP_CONTEXT, text);
}

void fl_leaving(void)
{
	fl_check_context();
	if (fl_has_limits)
		fl_report_limits();
}

/* ---- locks ---- */

static void name_lock(char *text, size_t size, const char *what, const void *lock)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (lock == (const void *)&LOCK_OF(cpu_rq(cpu))) {
			snprintf(text, size, "%s: the runqueue's lock of CPU %d", what, cpu);
			return;
		}
	snprintf(text, size, "%s: a lock that is no runqueue's", what);
}

void fl_lock_is_held(const void *lock, unsigned int holder, const void *const *taker)
{
	char what[64], text[160];

	snprintf(what, sizeof(what), "CPU %d waits for ever for a lock that CPU %u holds", fl_state.cpu, holder);
	name_lock(text, sizeof(text), what, lock);
	if (taker)
		fl_host_taken("taken", taker, FL_CALLERS);
	fl_host_stop(FL_STOP_LOCK, text);
}

void fl_lock_is_free(const void *lock)
{
	char text[160];

	name_lock(text, sizeof(text), "a lock is released that no CPU holds", lock);
	fl_host_stop(FL_STOP_LOCK, text);
}
