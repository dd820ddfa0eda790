// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The boot, as far as the scheduler takes part in it: its initialisation, the idle tasks, the CPUs that come
 * up, the first task, which builds the sched domains, and the stoppers, each of which runs once.
 */
#include "local.h"

#define PID_OF_FIRST 1
#define PID_OF_STOPPERS 100000
#define STEP_NS 1000		/* time between two steps of the last part of the boot */

void sched_init(void);
void sched_init_smp(void);

static unsigned int id_of_idle(int cpu) { return cpu; }
static unsigned int id_of_stopper(int cpu) { return fl_nr_cpus + cpu; }
static unsigned int id_of_first(void) { return 2 * fl_nr_cpus; }

static void make_idle_tasks(void)
{
	int cpu;

	task_thread_info(&init_task)->id = id_of_idle(0);
	init_task.cgroups = fl_css_set(&root_task_group);
	for (cpu = 1; cpu < fl_nr_cpus; cpu++) {
		struct task_struct *idle = fl_new_task(id_of_idle(cpu), 0);

		idle->cgroups = fl_css_set(&root_task_group);
		idle->sched_task_group = &root_task_group;
		idle->flags = PF_KTHREAD | PF_IDLE;
		sched_fork(0, idle);
		init_idle(idle, cpu);
		idle->active_mm = &init_mm;
		fl_state.running[cpu] = idle;
	}
}

static void bring_cpus_up(void)
{
	int cpu;

	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		fl_execute_on(cpu);
		sched_cpu_starting(cpu);
	}
	fl_execute_on(0);
	/* One after the other, since a core is counted when its second CPU comes up. */
	for (cpu = 1; cpu < fl_nr_cpus; cpu++)
		fl_set_online(cpu, false);
	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		fl_set_online(cpu, true);
		sched_cpu_activate(cpu);
	}
}

static struct task_struct *kernel_task(unsigned int id, int pid, int cpu)
{
	static unsigned long mask[BITS_TO_LONGS(NR_CPUS)];
	struct fl_task_spec spec = { .id = id, .pid = pid, .uclamp_min = -1, .mask = mask };
	struct task_struct *p;

	__set_bit(cpu, mask);
	p = fl_prepare(0, &spec);
	__clear_bit(cpu, mask);
	return p;
}

/* From here on there is a task on CPU 0 that may sleep, as the building of sched domains requires. */
static void start_first_task(void)
{
	wake_up_new_task(kernel_task(id_of_first(), PID_OF_FIRST, 0));
}

static void run_first_task(void)
{
	fl_execute_on(0);
	schedule_idle();
	if (current->pid != PID_OF_FIRST)
		fl_host_stop(FL_STOP_SHIM, "boot: the first task does not run");
	cpumask_copy(&current->cpus_mask, cpu_possible_mask);
	current->nr_cpus_allowed = fl_nr_cpus;
	/* The boot CPU's idle task enters its loop for the first time when nothing else is left to do. */
	init_task.flags |= PF_IDLE;
}

static void make_stoppers(void)
{
	int cpu;

	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		struct task_struct *p = kernel_task(id_of_stopper(cpu), PID_OF_STOPPERS + cpu, cpu);

		p->flags |= PF_KTHREAD | PF_NO_SETAFFINITY;
		__set_task_cpu(p, cpu);
		WRITE_ONCE(STATE_OF(p), TASK_INTERRUPTIBLE);
		fl_make_stopper(cpu, p);
	}
}

/* Makes each CPU busy and idle again before the machine uses it, one after the other. */
static void run_each_stopper(void)
{
	int cpu;

	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		fl_state.now += STEP_NS;
		fl_execute_on(0);
		wake_up_process(fl_stopper_of(cpu));
		fl_execute_on(cpu);
		if (cpu)
			generic_smp_call_function_single_interrupt();
		fl_reschedule(cpu);
		if (current != fl_stopper_of(cpu))
			fl_host_stop(FL_STOP_SHIM, "boot: a stopper does not run");
		fl_state.now += STEP_NS;
		fl_stopper(cpu);
	}
}

void fl_boot(int nr_cpus, const struct fl_cpu *cpus, const char *levels)
{
	fl_nr_cpus = nr_cpus;
	nr_cpu_ids = nr_cpus;
	system_state = SYSTEM_BOOTING;
	fl_jiffies(fl_state.now / TICK_NSEC);
	fl_make_caches();
	fl_make_percpu_areas();
	fl_set_places(cpus);
	fl_keep_template();
	fl_execute_on(0);
	sched_init();
#ifdef CONFIG_SCHEDSTATS
	static_branch_enable(&sched_schedstats);
#endif
	call_function_init();
	fl_start_timers();
	sched_clock_init();
	make_idle_tasks();
	bring_cpus_up();
	start_first_task();
	fl_set_levels(levels);
	run_first_task();
	fl_make_frequency_domains();
	sched_init_smp();
	system_state = SYSTEM_SCHEDULING;
	make_stoppers();
	fl_run_late_initcalls();
	system_state = SYSTEM_RUNNING;
	fl_block(0, 0, 0);
	fl_start_governors();
	run_each_stopper();
	fl_listen();
}
