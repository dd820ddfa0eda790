// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks: the operations behind fork and system calls. */
#include "local.h"

static struct task_struct untouched;	/* init_task as it was before the scheduler began */
static struct cgroup the_cgroup;
static struct signal_struct the_signal;
static struct css_set root_set;

/* By the numbers that fairlab gives them. */
static struct task_struct **tasks;
static unsigned int nr_tasks, room;

void *fl_grown(void *old, unsigned int nr, unsigned int new_nr, size_t size)
{
	void *new = fl_host_zalloc(new_nr * size);

	if (nr)
		memcpy(new, old, nr * size);
	return new;
}

struct task_struct *fl_task(unsigned int id)
{
	if (id >= nr_tasks || !tasks[id])
		fl_host_stop(FL_STOP_SHIM, "fairlab names a task that does not exist");
	return tasks[id];
}

/* Returns the next task from a number on, or NULL. */
struct task_struct *fl_task_from(unsigned int *id)
{
	while (*id < nr_tasks) {
		struct task_struct *p = tasks[(*id)++];

		if (p)
			return p;
	}
	return NULL;
}

void fl_keep_template(void)
{
	memcpy(&untouched, &init_task, sizeof(untouched));
}

struct css_set *fl_css_set(struct task_group *group)
{
	struct css_set *set = group == &root_task_group ? &root_set : fl_host_zalloc(sizeof(*set));

	set->subsys[cpu_cgrp_id] = &group->css;
	set->dfl_cgrp = &the_cgroup;
	return set;
}

void fl_copy_mask(struct cpumask *to, const unsigned long *from)
{
	bitmap_zero(cpumask_bits(to), NR_CPUS);
	bitmap_copy(cpumask_bits(to), from, fl_nr_cpus);
}

static struct task_struct *make_task(unsigned int id, int pid)
{
	struct task_struct *p = fl_host_zalloc(sizeof(*p));

	memcpy(p, &untouched, sizeof(*p));
#ifdef CONFIG_UCLAMP_TASK
	if (fl_is_clamped_as_booted())
		memcpy(p->uclamp_req, init_task.uclamp_req, sizeof(p->uclamp_req));
#endif
	task_thread_info(p)->id = id;
	p->pid = p->tgid = pid;
	snprintf(p->comm, sizeof(p->comm), "task%u", id);
	p->flags = 0;
	p->group_leader = p;
	p->real_parent = p->parent = &init_task;
	p->signal = &the_signal;
	p->mm = p->active_mm = NULL;
	p->on_cpu = p->on_rq = 0;
	p->wakee_flips = 0;
	p->cpus_ptr = &p->cpus_mask;
	FORGET_USER_CPUS(p);
	cpumask_copy(&p->cpus_mask, cpu_possible_mask);
	p->nr_cpus_allowed = fl_nr_cpus;
	INIT_LIST_HEAD(&p->children);
	INIT_LIST_HEAD(&p->sibling);
	INIT_LIST_HEAD(&p->tasks);
	refcount_set(&p->usage, 2);
	refcount_set(&p->rcu_users, 2);
	raw_spin_lock_init(&p->pi_lock);
	spin_lock_init(&p->alloc_lock);
	RB_CLEAR_NODE(&p->pushable_dl_tasks);
	plist_node_init(&p->pushable_tasks, MAX_PRIO);
	return p;
}

struct task_struct *fl_new_task(unsigned int id, int pid)
{
	if (id >= room) {
		unsigned int more = max_t(unsigned int, 2 * room, roundup_pow_of_two(id + 64));

		tasks = fl_grown(tasks, room, more, sizeof(*tasks));
		room = more;
	}
	nr_tasks = max(nr_tasks, id + 1);
	return tasks[id] = make_task(id, pid);
}

static void set_priority(struct task_struct *p, int nice, const struct fl_policy *policy)
{
	int place = nice - MIN_NICE;

	p->policy = policy->policy;
	p->rt_priority = policy->priority;
	p->static_prio = NICE_TO_PRIO(nice);
	p->normal_prio = policy->priority ? MAX_RT_PRIO - 1 - policy->priority : p->static_prio;
	if (policy->policy == SCHED_IDLE) {
		p->se.load.weight = scale_load(WEIGHT_IDLEPRIO);
		p->se.load.inv_weight = WMULT_IDLEPRIO;
	} else {
		p->se.load.weight = scale_load(sched_prio_to_weight[place]);
		p->se.load.inv_weight = sched_prio_to_wmult[place];
	}
}

/*
 * Forks a task from a parent that equals it and never runs: whatever a fork inherits is as the child has it.
 */
static void fork_from_its_like(int cpu, struct task_struct *p)
{
	static struct task_struct parent;
	struct task_struct *runs = fl_state.running[cpu];
	int failed;

	memcpy(&parent, p, sizeof(parent));
	parent.thread_info.preempt_count = preempt_count();
	fl_state.running[cpu] = &parent;
	failed = sched_fork(0, p);
	fl_state.running[cpu] = runs;
	if (failed)
		fl_host_stop(FL_STOP_SHIM, "sched_fork() refuses a task");
}

/* Returns a task that never runs and that fairlab does not know. */
struct task_struct *fl_unlisted_task(void)
{
	static const struct fl_policy normal;
	struct kernel_clone_args args = { };
	struct task_struct *p = make_task(0, 0);

	set_priority(p, 0, &normal);
	p->sched_task_group = &root_task_group;
	args.cset = p->cgroups = fl_css_set(&root_task_group);
	fork_from_its_like(fl_state.cpu, p);
	JOIN_GROUP(p, &args);
	return p;
}

struct task_struct *fl_prepare(int cpu, const struct fl_task_spec *spec)
{
	struct task_struct *p = fl_new_task(spec->id, spec->pid);
	struct task_group *group = fl_group(spec->group);
	struct kernel_clone_args args = { };

	fl_execute_on(cpu);
	set_priority(p, spec->nice, &spec->policy);
	fl_copy_mask(&p->cpus_mask, spec->mask);
	p->nr_cpus_allowed = cpumask_weight(&p->cpus_mask);
	p->sched_task_group = group;
	args.cset = p->cgroups = fl_css_set(group);
	fork_from_its_like(cpu, p);
	JOIN_GROUP(p, &args);
	fl_may_be_throttled(p);
	return p;
}

static void report_prio(unsigned int task) { fl_tell(FL_PRIO, task_cpu(fl_task(task)), task, fl_task(task)->prio, 0); }

void fl_fork(int cpu, const struct fl_task_spec *spec)
{
	fl_prepare(cpu, spec);
	if (spec->uclamp_min >= 0)
		fl_set_uclamp(cpu, spec->id, spec->uclamp_min, spec->uclamp_max);
	if (spec->slice)
		fl_set_slice(cpu, spec->id, spec->slice);
	report_prio(spec->id);
}

/* ---- actions of the running task of a CPU ---- */

int fl_wake(int cpu, unsigned int task, int sync)
{
	struct wait_queue_entry waiter = { .private = fl_task(task) };

	fl_execute_on(cpu);
	return default_wake_function(&waiter, TASK_NORMAL, sync ? WF_SYNC : 0, NULL);
}

void fl_block(int cpu, int dies, int in_iowait)
{
	fl_execute_on(cpu);
	if (dies) {
		set_special_state(TASK_DEAD);
		current->flags |= PF_NOFREEZE;
	} else {
		current->in_iowait = in_iowait;
		set_current_state(TASK_INTERRUPTIBLE);
	}
	schedule();
}

void fl_yield(int cpu)
{
	fl_execute_on(cpu);
	yield();
}

void fl_exec(int cpu)
{
	fl_execute_on(cpu);
	sched_exec();
}

/* ---- check of the accounting, between two calls ---- */

/*
 * Throttled tasks are runnable but not counted in their runqueue, so with quotas, and with tasks of other
 * classes, counts are not compared. Without deadline tasks the deadline class queues only fair servers, which some
 * kernels count as runnable tasks (6.12) and others do not.
 */
static bool counts_everybody(void)
{
	unsigned int id;

	if (fl_has_quota())
		return false;
	for (id = 2 * fl_nr_cpus; id < nr_tasks; id++)
		if (tasks[id] && (rt_task(tasks[id]) || tasks[id]->policy == SCHED_DEADLINE))
			return false;
	return true;
}

void fl_check_books(void)
{
	static unsigned int nr_of[NR_CPUS];
	bool counts = counts_everybody();
	char text[160];
	unsigned int id;
	int cpu;

	memset(nr_of, 0, fl_nr_cpus * sizeof(*nr_of));
	for (id = fl_nr_cpus; id < nr_tasks; id++) {
		struct task_struct *p = tasks[id];

		if (!p || !p->on_rq)
			continue;
		if (task_on_rq_migrating(p)) {
			snprintf(text, sizeof(text), "the task with pid %d was taken from a runqueue and put on no other", p->pid);
			fl_host_stop(FL_STOP_BOOKS, text);
		}
		nr_of[task_cpu(p)]++;
	}
	for (cpu = 0; counts && cpu < fl_nr_cpus; cpu++) {
		unsigned int nr = cpu_rq(cpu)->nr_running, nr_servers = cpu_rq(cpu)->dl.dl_nr_running;

		if (nr < nr_of[cpu] || nr > nr_of[cpu] + nr_servers) {
			snprintf(text, sizeof(text), "CPU %d counts %u runnable tasks, and %u are", cpu, nr, nr_of[cpu]);
			fl_host_stop(FL_STOP_BOOKS, text);
		}
	}
}

/* ---- changes by another task, which runs on the CPU that executes ---- */

int fl_cpu_of(unsigned int task) { return task_cpu(fl_task(task)); }

int fl_set_affinity(int cpu, unsigned int task, const unsigned long *mask)
{
	static struct cpumask wanted;

	fl_execute_on(cpu);
	fl_copy_mask(&wanted, mask);
	fl_limit_to_cpuset(fl_task(task), &wanted);
	return set_cpus_allowed_ptr(fl_task(task), &wanted);
}

void fl_set_nice(int cpu, unsigned int task, int nice)
{
	fl_execute_on(cpu);
	set_user_nice(fl_task(task), nice);
	report_prio(task);
}

int fl_set_policy(int cpu, unsigned int task, const struct fl_policy *policy)
{
	struct task_struct *p = fl_task(task);
	int error;
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = policy->policy,
		.sched_flags = (policy->reclaims ? SCHED_FLAG_RECLAIM : 0) | (policy->is_governor ? SCHED_FLAG_SUGOV : 0),
		.sched_priority = policy->priority,
		.sched_nice = task_nice(p),
		.sched_runtime = policy->runtime,
		.sched_deadline = policy->deadline,
		.sched_period = policy->period,
	};

	fl_execute_on(cpu);
	error = sched_setattr_nocheck(p, &attr);
	if (!policy->is_governor)
		fl_may_be_throttled(p);
	report_prio(task);
	return error;
}

int fl_set_uclamp(int cpu, unsigned int task, int min, int max)
{
	struct task_struct *p = fl_task(task);
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = p->policy,
		.sched_priority = p->rt_priority,
		.sched_nice = task_nice(p),
		.sched_flags = SCHED_FLAG_KEEP_ALL | SCHED_FLAG_UTIL_CLAMP,
		.sched_util_min = min,
		.sched_util_max = max,
	};

	if (p->policy == SCHED_DEADLINE) {
		attr.sched_runtime = p->dl.dl_runtime;
		attr.sched_deadline = p->dl.dl_deadline;
		attr.sched_period = p->dl.dl_period;
	}
	fl_execute_on(cpu);
	return sched_setattr_nocheck(p, &attr);
}

/* The requested clamps; the upper one is in the upper half. */
unsigned int fl_uclamp(unsigned int task)
{
#ifdef CONFIG_UCLAMP_TASK
	const struct task_struct *p = fl_task(task);

	return p->uclamp_req[UCLAMP_MAX].value << 16 | p->uclamp_req[UCLAMP_MIN].value;
#else
	return SCHED_CAPACITY_SCALE << 16;
#endif
}

/* Whether a task may use all CPUs of its root domain, as a deadline task must. */
int fl_spans_domain(unsigned int task)
{
	const struct task_struct *p = fl_task(task);

	return cpumask_subset(task_rq(p)->rd->span, p->cpus_ptr);
}

void fl_move(int cpu, unsigned int task, int group)
{
	struct task_struct *p = fl_task(task);

	fl_execute_on(cpu);
	p->cgroups = fl_css_set(fl_group(group));
#ifdef FL_MOVE_FOR_AUTOGROUP
	sched_move_task(p, false);
#else
	sched_move_task(p);
#endif
	fl_may_be_throttled(p);
}

bool kthread_is_per_cpu(struct task_struct *p) { return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1; }

/* ---- priority inheritance: fairlab knows which task waits for which ---- */

/* All fair tasks are equal among waiters. */
int fl_waiter_prio(unsigned int task) { return min(fl_task(task)->prio, MAX_RT_PRIO); }

unsigned long long fl_deadline(unsigned int task) { return fl_task(task)->dl.deadline; }

/* Inherits from the most important waiter, or from none (-1). */
void fl_inherit(int cpu, unsigned int task, int waiter)
{
	struct task_struct *p = fl_task(task);
	unsigned long flags;

	fl_execute_on(cpu);
	raw_spin_lock_irqsave(&p->pi_lock, flags);
	rt_mutex_setprio(p, waiter < 0 ? NULL : fl_task(waiter));
	raw_spin_unlock_irqrestore(&p->pi_lock, flags);
	fl_may_be_throttled(p);
}
