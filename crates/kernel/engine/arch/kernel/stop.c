// SPDX-License-Identifier: GPL-2.0-or-later
/* Stoppers: the task of the highest class on each CPU, which runs the queued works and blocks. */
#include "local.h"

/* The arguments are copied: the caller may have them on a stack that is reused before the work runs. */
#define MOST_ARGUMENTS 64

struct awaited { struct cpu_stop_work work; char arguments[MOST_ARGUMENTS]; };

static struct { struct task_struct *task; struct list_head works; struct awaited awaited; } stopper[NR_CPUS];
/* The stopper with the newest work. */
static int newest;

void fl_make_stopper(int cpu, struct task_struct *task)
{
	INIT_LIST_HEAD(&stopper[cpu].works);
	stopper[cpu].task = task;
	sched_set_stop_task(cpu, task);
}

struct task_struct *fl_stopper_of(int cpu) { return stopper[cpu].task; }
bool fl_stopper_has_work(int cpu) { return stopper[cpu].task && !list_empty(&stopper[cpu].works); }

static bool queue(unsigned int cpu, cpu_stop_fn_t act, void *arg, struct cpu_stop_work *work)
{
	work->fn = act;
	work->arg = arg;
	list_add_tail(&work->list, &stopper[cpu].works);
	newest = cpu;
	wake_up_process(stopper[cpu].task);
	return true;
}

/* Newer trees do not need the result. */
#ifdef FL_STOP_NOWAIT_VOID
void stop_one_cpu_nowait(unsigned int cpu, cpu_stop_fn_t act, void *arg, struct cpu_stop_work *work) { queue(cpu, act, arg, work); }
#else
bool stop_one_cpu_nowait(unsigned int cpu, cpu_stop_fn_t act, void *arg, struct cpu_stop_work *work) { return queue(cpu, act, arg, work); }
#endif

/*
 * The stopper of the caller's own CPU preempts it, and the caller continues after it was moved; so its part
 * of the call ends here. Each CPU has at most one such work at a time.
 * In trees before 5.12 a call that changes the CPUs of a task running on another CPU waits here, and that
 * CPU's stopper runs at once.
 */
int stop_one_cpu(unsigned int cpu, cpu_stop_fn_t act, void *arg)
{
	struct awaited *awaited = &stopper[cpu].awaited;
	unsigned long irqs_off = fl_state.irqs_off;
	int me = fl_state.cpu;

	memcpy(awaited->arguments, arg, MOST_ARGUMENTS);
	queue(cpu, act, awaited->arguments, &awaited->work);
	if (cpu != me) {
		fl_awaited_stopper(cpu);
		fl_execute_on(me);
		fl_state.irqs_off = irqs_off;
	}
	return 0;
}

/* Works run in the order in which they were queued; a work may be reused as soon as it is dequeued. */
void fl_stopper(int cpu)
{
	fl_execute_on(cpu);
	while (fl_stopper_has_work(cpu)) {
		struct cpu_stop_work *work = list_first_entry(&stopper[cpu].works, struct cpu_stop_work, list);
		cpu_stop_fn_t act = work->fn;
		void *arg = work->arg;

		list_del_init(&work->list);
		act(arg);
	}
	set_current_state(TASK_INTERRUPTIBLE);
	schedule();
}

/* A CPU has rescheduled, and its stopper has work. */
static void chosen_stopper(int cpu)
{
	if (current != stopper[cpu].task)
		fl_host_stop(FL_STOP_SHIM, "a stopper with work is not chosen to run");
	fl_stopper(cpu);
}

/* Runs the stopper of a CPU inside the call that waits for it. */
void fl_awaited_stopper(int cpu)
{
	if (!fl_stopper_has_work(cpu))
		return;
	/* It was woken through the wake list of the CPU, and is in the queue of its interrupt. */
	if (!task_on_rq_queued(stopper[cpu].task))
		fl_interrupt(cpu, FL_IRQ_CALL);
	fl_execute_on(cpu);
	fl_state.irqs_off = 0;
	if (is_idle_task(current))
		fl_idle_exit(cpu);
	fl_reschedule(cpu);
	chosen_stopper(cpu);
}

/*
 * A call that changes the CPUs of a running task waits until a stopper has moved it. The stoppers of other
 * CPUs do that at once, in the order of their CPUs, and the caller then finds that its wait is over. Other
 * work of its own CPU's stopper waits until the call is over.
 * A task that changes its own CPUs sleeps while the stopper of its CPU moves it; the rest of its call only
 * releases the resources of the wait.
 */
signed long schedule_timeout(signed long timeout)
{
	int me = fl_state.cpu, cpu, count = preempt_count(), depth = fl_state.depth;
	unsigned long irqs_off = fl_state.irqs_off;

	if (!fl_stopper_has_work(newest))
		fl_host_stop(FL_STOP_SHIM, "kernel code wants to sleep where nothing will wake it");
	if (newest == me) {
		schedule();
		chosen_stopper(me);
	}
	for (cpu = 0; cpu < fl_nr_cpus; cpu++)
		if (cpu != me && fl_stopper_has_work(cpu))
			fl_awaited_stopper(cpu);
	fl_execute_on(me);
	fl_state.depth = depth;
	preempt_count_set(count);
	fl_state.irqs_off = irqs_off;
	return timeout;
}
