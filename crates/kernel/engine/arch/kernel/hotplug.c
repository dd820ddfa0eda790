// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU hotplug. The stopper of a CPU also does the work of its hotplug thread and of stop_machine(): the whole
 * transition happens in one step. The scheduler's part of it is the tree's own.
 */
#include "local.h"

static struct cpu_stop_work of_hotplug[NR_CPUS];

static void go_offline(int cpu)
{
	u64 runtime;

	fl_state.irqs_off = 1;
	fl_set_online(cpu, false);
	fl_restart_governor(cpu);
	runtime = fl_hide_new_server(cpu_rq(cpu));
	sched_cpu_dying(cpu);
	fl_show_new_server(cpu_rq(cpu), runtime);
	fl_end_timers_of(cpu);
	fl_state.irqs_off = 0;
}

/*
 * The scheduler refuses if deadline tasks need the CPU, which then stays active. In trees before 5.11 a CPU keeps
 * its tasks until the stopper takes them away with it.
 */
static int deactivate(void *unused)
{
	if (sched_cpu_deactivate(fl_state.cpu)) {
		cpumask_clear_cpu(fl_state.cpu, &__cpu_dying_mask);
		return 0;
	}
#ifndef FL_PUSHES_TASKS_AWAY
	go_offline(fl_state.cpu);
#endif
	return 0;
}

static int activate(void *unused) { return sched_cpu_activate(fl_state.cpu); }

/*
 * Starts to take the CPU `other` offline. It is offline once it has no tasks and next enters its idle loop.
 */
int fl_offline(int cpu, int other)
{
	fl_execute_on(cpu);
	if (!cpu_active(other))
		return 0;
	if (cpumask_weight(cpu_active_mask) == 1)
		return -EBUSY;
	cpumask_set_cpu(other, &__cpu_dying_mask);
	stop_one_cpu_nowait(other, deactivate, NULL, &of_hotplug[other]);
	return 0;
}

void fl_online(int cpu, int other)
{
	if (cpu_online(other))
		return;
	fl_execute_on(other);
	cpumask_clear_cpu(other, &__cpu_dying_mask);
	fl_set_online(other, true);
	fl_restart_governor(other);
	sched_cpu_starting(other);
	fl_start_timers_of(other);
	fl_execute_on(cpu);
	stop_one_cpu_nowait(other, activate, NULL, &of_hotplug[other]);
}

bool fl_is_dying(int cpu) { return cpumask_test_cpu(cpu, &__cpu_dying_mask) && cpu_online(cpu); }
int fl_is_online(int cpu) { return cpu_online(cpu); }
int fl_is_active(int cpu) { return cpu_active(cpu); }

/*
 * The idle task of a CPU that goes offline completes the transition, unless other work has arrived. It does
 * the work of the stopper, and is counted as a running task meanwhile.
 */
void fl_die(int cpu)
{
	flush_smp_call_function_queue();
	if (need_resched())
		return;
	cpu_rq(cpu)->nr_running++;
	go_offline(cpu);
	cpu_rq(cpu)->nr_running--;
}
