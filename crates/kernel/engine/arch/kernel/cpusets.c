// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cpusets, all directly below the top one: the CPUs that their tasks may use, also during CPU hotplug.
 * Replaces the controller, as cgroup v2 has it without partitions.
 */
#include "local.h"
#include <linux/cpuset.h>

struct cpus { struct cpumask asked, effective; };

/* From 1; 0 is the top one, which has all CPUs, also those that are offline. */
static struct cpus *cpusets;
static unsigned int nr_cpusets, room;

#define CPUSET_OF(p) task_thread_info(p)->cpuset

static const struct cpumask *cpus_of(unsigned int cpuset)
{
	return cpuset ? &cpusets[cpuset - 1].effective : cpu_possible_mask;
}

/* The requested CPUs that are active, or all active ones if there are none. */
static void find_effective(const struct cpumask *asked, struct cpumask *effective)
{
	if (!cpumask_and(effective, asked, cpu_active_mask))
		cpumask_copy(effective, cpu_active_mask);
}

/* ---- functions that the scheduler calls ---- */

void cpuset_lock(void) { }
void cpuset_unlock(void) { }
void inc_dl_tasks_cs(struct task_struct *p) { }
void dec_dl_tasks_cs(struct task_struct *p) { }
void cpuset_wait_for_hotplug(void) { }
void cpuset_force_rebuild(void) { }
bool cpuset_cpu_is_isolated(int cpu) { return false; }

void cpuset_cpus_allowed(struct task_struct *p, struct cpumask *to)
{
	cpumask_copy(to, cpus_of(CPUSET_OF(p)));
}

/* A task that can run nowhere gets the requested CPUs of its cpuset, whether or not they are online. */
#ifdef FL_CPUSET_FALLBACK_TELLS
bool cpuset_cpus_allowed_fallback(struct task_struct *p)
#else
void cpuset_cpus_allowed_fallback(struct task_struct *p)
#endif
{
	unsigned int cpuset = CPUSET_OF(p);

	do_set_cpus_allowed(p, cpuset ? &cpusets[cpuset - 1].asked : cpu_possible_mask);
#ifdef FL_CPUSET_FALLBACK_TELLS
	return true;
#endif
}

/*
 * New root domains begin without the bandwidth of the existing deadline tasks. In a kernel, runnable tasks have left a
 * CPU that goes offline before the domains are rebuilt; here they still are on it, and count where they go. A sleeping
 * task counts in the domain of its CPU, also if that is offline.
 */
static void add_deadline_tasks(void)
{
	struct rq *mine = cpu_rq(fl_state.cpu);
	struct root_domain *before = mine->rd;
	bool goes_offline = !cpu_active(fl_state.cpu);
	struct task_struct *p;
	unsigned int id = 0;

	while ((p = fl_task_from(&id))) {
		if (goes_offline && task_rq(p) == mine && task_on_rq_queued(p))
			mine->rd = cpu_rq(cpumask_first(cpu_active_mask))->rd;
		dl_add_task_root_domain(p);
		mine->rd = before;
	}
}

#ifdef FL_DOMAINS_ASK_FOR_DEADLINES
DEFINE_STATIC_KEY_FALSE(cpusets_enabled_key);
void cpuset_cpus_allowed_locked(struct task_struct *p, struct cpumask *to) { cpuset_cpus_allowed(p, to); }
void cpuset_reset_sched_domains(void) { partition_sched_domains(1, NULL, NULL); }
int cpuset_num_cpus(struct cgroup *cgroup) { return num_online_cpus(); }

/* Newer trees request that whenever they have built domains. */
void dl_rebuild_rd_accounting(void)
{
	u64 cookie = ++dl_cookie;
	int cpu;

	for_each_possible_cpu(cpu)
		if (!dl_bw_visited(cpu, cookie))
			dl_clear_root_domain_cpu(cpu);
	add_deadline_tasks();
}
#endif

/*
 * Updates all cpusets and lets their tasks follow. The stopper of the CPU that goes offline runs, so no task has to
 * leave a CPU on which it runs. A task that is being woken there would wait for the stopper, which begins with the
 * functions that are queued for its CPU.
 */
static void follow_offline(void)
{
	unsigned int cpuset, id;
	struct task_struct *p;

	for (cpuset = 1; cpuset <= nr_cpusets; cpuset++) {
		if (!fl_cpuset_update(cpuset))
			continue;
		id = 0;
		while ((p = fl_task_from(&id)))
			if (CPUSET_OF(p) == cpuset && READ_ONCE(STATE_OF(p)) != TASK_DEAD) {
				if (READ_ONCE(STATE_OF(p)) == TASK_WAKING && task_cpu(p) == fl_state.cpu)
					flush_smp_call_function_queue();
				set_cpus_allowed_ptr(p, cpus_of(cpuset));
			}
	}
}

static void rebuild_domains(void)
{
	partition_sched_domains(1, NULL, NULL);
#ifndef FL_DOMAINS_ASK_FOR_DEADLINES
	add_deadline_tasks();
#endif
}

/*
 * The executing CPU goes offline or has come online. In the kernel's order, tasks follow their cpusets while all
 * runqueues are still in the old root domain; then the sched domains are rebuilt. When a CPU comes online, tasks
 * may have to wait for stoppers, so they follow when fairlab calls fl_cpuset_update().
 * In trees with a worker, the worker rebuilds the domains after the end of the hotplug operation, so a CPU that goes
 * offline is in no masks then.
 */
void cpuset_update_active_cpus(void)
{
	int cpu = fl_state.cpu;
	bool is_gone = false;

	if (!cpu_active(cpu)) {
		follow_offline();
#ifdef FL_CPUSET_HOTPLUG_WORK
		is_gone = true;
#endif
	}
	if (is_gone) {
		sched_domains_numa_masks_clear(cpu);
		fl_set_online(cpu, false);
	}
	rebuild_domains();
	if (is_gone)
		fl_set_online(cpu, true);
}

/* ---- functions that fairlab calls ---- */

int fl_cpuset_new(const unsigned long *mask)
{
	if (nr_cpusets == room) {
		cpusets = fl_grown(cpusets, room, 2 * room + 16, sizeof(*cpusets));
		room = 2 * room + 16;
	}
	fl_copy_mask(&cpusets[nr_cpusets].asked, mask);
	find_effective(&cpusets[nr_cpusets].asked, &cpusets[nr_cpusets].effective);
	return ++nr_cpusets;
}

void fl_cpuset_cpus(unsigned int cpuset, const unsigned long *mask)
{
	fl_copy_mask(&cpusets[cpuset - 1].asked, mask);
}

/* Returns whether its tasks may use other CPUs than before. */
int fl_cpuset_update(unsigned int cpuset)
{
	static struct cpumask effective;

	find_effective(&cpusets[cpuset - 1].asked, &effective);
	if (cpumask_equal(&effective, &cpusets[cpuset - 1].effective))
		return 0;
	cpumask_copy(&cpusets[cpuset - 1].effective, &effective);
	return 1;
}

/* Sets the affinity of a task to the CPUs of its cpuset, whatever it had requested. */
void fl_cpuset_follow(int cpu, unsigned int task)
{
	struct task_struct *p = fl_task(task);

	fl_execute_on(cpu);
	if (READ_ONCE(STATE_OF(p)) != TASK_DEAD)
		set_cpus_allowed_ptr(p, cpus_of(CPUSET_OF(p)));
}

unsigned int fl_cpuset_of(unsigned int task) { return CPUSET_OF(fl_task(task)); }
void fl_cpuset_note(unsigned int task, unsigned int cpuset) { CPUSET_OF(fl_task(task)) = cpuset; }

/* Limits a mask to a cpuset: to all of the cpuset if they have no CPU in common. */
void fl_cpuset_limit(unsigned int cpuset, unsigned long *mask)
{
	static struct cpumask wanted;

	fl_copy_mask(&wanted, mask);
	if (!cpumask_and(&wanted, &wanted, cpus_of(cpuset)))
		cpumask_copy(&wanted, cpus_of(cpuset));
	bitmap_copy(mask, cpumask_bits(&wanted), fl_nr_cpus);
}

/* Limits a requested affinity to the task's cpuset; the scheduler rejects an empty one. */
void fl_limit_to_cpuset(struct task_struct *p, struct cpumask *wanted)
{
	cpumask_and(wanted, wanted, cpus_of(CPUSET_OF(p)));
}
