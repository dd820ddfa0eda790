// SPDX-License-Identifier: GPL-2.0-or-later
/* Interrupts of a CPU, and the softirqs that run when an interrupt ends. */
#include "local.h"

#ifdef FL_SOFTIRQ_WITHOUT_ARGUMENT
typedef void (*softirq_t)(void);
#define PERFORM(softirq) (softirq)()
#else
typedef void (*softirq_t)(struct softirq_action *);
#define PERFORM(softirq) (softirq)(NULL)
#endif

#define MOST_ROUNDS 10	/* the rest is left to the next interrupt */

static softirq_t softirqs[NR_SOFTIRQS];
static unsigned int raised[NR_CPUS];
static struct clock_event_device clock_event[NR_CPUS];
DECLARE_PER_CPU(struct hrtimer_cpu_base, hrtimer_bases);

void open_softirq(int nr, softirq_t act) { softirqs[nr] = act; }
void __raise_softirq_irqoff(unsigned int nr) { raised[fl_state.cpu] |= BIT(nr); }
void raise_softirq_irqoff(unsigned int nr) { __raise_softirq_irqoff(nr); }
void raise_softirq(unsigned int nr) { __raise_softirq_irqoff(nr); }
void __local_bh_enable_ip(unsigned long where, unsigned int count) { preempt_count_sub(count); }

void fl_softirqs(void)
{
	unsigned int *mine = &raised[fl_state.cpu];
	int round, nr;

	for (round = 0; *mine && round < MOST_ROUNDS; round++) {
		unsigned long now = *mine;

		*mine = 0;
		preempt_count_add(SOFTIRQ_OFFSET);
		for_each_set_bit(nr, &now, NR_SOFTIRQS)
			if (softirqs[nr])
				PERFORM(softirqs[nr]);
		preempt_count_sub(SOFTIRQ_OFFSET);
	}
}

static void irq_begins(int cpu)
{
	fl_execute_on(cpu);
	fl_state.irqs_off = 1;
	preempt_count_add(HARDIRQ_OFFSET);
}

static void irq_ends(void)
{
	preempt_count_sub(HARDIRQ_OFFSET);
	fl_state.irqs_off = 0;
	if (!fl_is_above_softirq())
		fl_softirqs();
}

/* The CPU that has not yet been interrupted for the timers of a CPU, plus 1. */
static int heir_of[NR_CPUS];

void fl_interrupt(int cpu, int irq)
{
	int other;

	irq_begins(cpu);
	switch (irq) {
	case FL_IRQ_RESCHEDULE:
		scheduler_ipi();
		break;
	case FL_IRQ_CALL:
		for (other = 0; other < fl_nr_cpus; other++)
			if (heir_of[other] == cpu + 1)
				heir_of[other] = 0;
		generic_smp_call_function_single_interrupt();
		break;
	case FL_IRQ_TIMER:
		hrtimer_interrupt(&clock_event[cpu]);
		break;
	}
	irq_ends();
}

void fl_tick(int cpu)
{
	irq_begins(cpu);
#ifdef FL_SCHED_TICK
	sched_tick();
#else
	scheduler_tick();
#endif
	irq_ends();
}

int fl_interrupt_wake(int cpu, unsigned int task)
{
	int was_asleep;

	irq_begins(cpu);
	was_asleep = wake_up_process(fl_task(task));
	irq_ends();
	return was_asleep;
}

/* ---- timers: hrtimers in high resolution from the start, one clock event device for each CPU ---- */

int tick_program_event(ktime_t expires, int force)
{
	fl_tell(FL_TIMER, fl_state.cpu, 0, expires, 0);
	return 0;
}

/* A tick by default. */
void fl_timer_resolution(unsigned int ns) { hrtimer_resolution = ns; }

/* Must run on the CPU itself. */
void fl_start_timers_of(int cpu)
{
	struct hrtimer_cpu_base *base = per_cpu_ptr(&hrtimer_bases, cpu);

	if (cpu) {
		hrtimers_prepare_cpu(cpu);
		smpcfd_prepare_cpu(cpu);
	}
#ifdef FL_HRTIMERS_CPU_STARTING
	hrtimers_cpu_starting(cpu);
#endif
	base->hres_active = 1;
	base->expires_next = base->softirq_expires_next = KTIME_MAX;
	clock_event[cpu].next_event = KTIME_MAX;
}

void fl_start_timers(void)
{
	int cpu;

	hrtimers_init();
	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		fl_execute_on(cpu);
		fl_start_timers_of(cpu);
	}
	fl_execute_on(0);
}

/*
 * The CPU that receives the timers is interrupted once. If the same CPU comes back and goes offline again at one
 * instant, that interrupt is still to come: a kernel would have had it when stop_machine() ended.
 */
static void await_heir(int cpu)
{
	int heir = heir_of[cpu] - 1;

	if (heir >= 0) {
		fl_execute_on(heir);
		fl_state.irqs_off = 1;
		generic_smp_call_function_single_interrupt();
		fl_execute_on(cpu);
		fl_state.irqs_off = 1;
	}
	heir_of[cpu] = cpumask_first(cpu_active_mask) + 1;
}

/* Timers of a CPU that goes offline move to another one. */
void fl_end_timers_of(int cpu)
{
	await_heir(cpu);
#ifdef FL_HRTIMERS_CPU_DYING
	hrtimers_cpu_dying(cpu);
#else
	hrtimers_dead_cpu(cpu);
#endif
	fl_tell(FL_TIMER, cpu, 0, KTIME_MAX, 0);
}
