// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks and groups: what fork, system calls and the files of cgroups come down to. */
#include "local.h"

static struct task_struct untouched;	/* init_task as it was before the scheduler began */
static struct cgroup the_cgroup;
static struct signal_struct the_signal;
static struct css_set root_set;

/* By the laboratory's number. */
static struct task_struct **tasks;
static unsigned int nr_tasks, room;
static struct task_group **groups;
static int nr_groups, group_room;
static bool has_quota;		/* some group has, or had */

static void *grown(void *old, unsigned int nr, unsigned int new_nr, size_t size)
{
	void *new = fl_host_zalloc(new_nr * size);

	if (nr)
		memcpy(new, old, nr * size);
	return new;
}

struct task_struct *fl_task(unsigned int id)
{
	if (id >= nr_tasks || !tasks[id])
		fl_host_stop(FL_STOP_SHIM, "the laboratory speaks of a task that there is not");
	return tasks[id];
}

static struct task_group *group_of(int group)
{
	return group ? groups[group - 1] : &root_task_group;
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

struct task_struct *fl_new_task(unsigned int id, int pid)
{
	struct task_struct *p = fl_host_zalloc(sizeof(*p));

	if (id >= room) {
		unsigned int more = max(2 * room, roundup_pow_of_two(id + 64));

		tasks = grown(tasks, room, more, sizeof(*tasks));
		room = more;
	}
	tasks[id] = p;
	nr_tasks = max(nr_tasks, id + 1);

	memcpy(p, &untouched, sizeof(*p));
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
	p->user_cpus_ptr = NULL;
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

/* Its parent is a task of its own kind, which runs nowhere: whatever a fork inherits is as the child has it. */
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

struct task_struct *fl_prepare(int cpu, const struct fl_task_spec *spec)
{
	struct task_struct *p = fl_new_task(spec->id, spec->pid);
	struct task_group *group = group_of(spec->group);
	struct kernel_clone_args args = { };

	fl_execute_on(cpu);
	set_priority(p, spec->nice, &spec->policy);
	fl_copy_mask(&p->cpus_mask, spec->mask);
	p->nr_cpus_allowed = cpumask_weight(&p->cpus_mask);
	p->sched_task_group = group;
	args.cset = p->cgroups = fl_css_set(group);
	fork_from_its_like(cpu, p);
	sched_cgroup_fork(p, &args);
	sched_post_fork(p);
	return p;
}

void fl_fork(int cpu, const struct fl_task_spec *spec)
{
	struct task_struct *p = fl_prepare(cpu, spec);

	if (spec->uclamp_min >= 0)
		fl_set_uclamp(cpu, spec->id, spec->uclamp_min, spec->uclamp_max);
	fl_execute_on(cpu);
	wake_up_new_task(p);
}

/* ---- what the running task of a CPU does ---- */

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

/* ---- whether the books are right, between two calls ---- */

/* Who is throttled is runnable, and his runqueue does not count him: with quotas and the other classes nobody counts again. */
static bool counts_everybody(void)
{
	unsigned int id;

	if (has_quota)
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

	if (fl_state.irqs_off)
		fl_host_stop(FL_STOP_BOOKS, "interrupts were left off");
	memset(nr_of, 0, fl_nr_cpus * sizeof(*nr_of));
	for (id = fl_nr_cpus; id < nr_tasks; id++) {
		const struct task_struct *p = tasks[id];

		if (!p || !p->on_rq)
			continue;
		if (task_on_rq_migrating(p)) {
			snprintf(text, sizeof(text), "the task with pid %d was taken from a runqueue and put on no other", p->pid);
			fl_host_stop(FL_STOP_BOOKS, text);
		}
		nr_of[task_cpu(p)]++;
	}
	for (cpu = 0; counts && cpu < fl_nr_cpus; cpu++)
		if (nr_of[cpu] != cpu_rq(cpu)->nr_running) {
			snprintf(text, sizeof(text), "CPU %d counts %u runnable tasks, and %u are", cpu, cpu_rq(cpu)->nr_running, nr_of[cpu]);
			fl_host_stop(FL_STOP_BOOKS, text);
		}
}

/* ---- what another task changes, which runs on the CPU that executes ---- */

int fl_cpu_of(unsigned int task) { return task_cpu(fl_task(task)); }

int fl_set_affinity(int cpu, unsigned int task, const unsigned long *mask)
{
	static struct cpumask wanted;

	fl_execute_on(cpu);
	fl_copy_mask(&wanted, mask);
	return set_cpus_allowed_ptr(fl_task(task), &wanted);
}

void fl_set_nice(int cpu, unsigned int task, int nice)
{
	fl_execute_on(cpu);
	set_user_nice(fl_task(task), nice);
}

int fl_set_policy(int cpu, unsigned int task, const struct fl_policy *policy)
{
	struct task_struct *p = fl_task(task);
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = policy->policy,
		.sched_priority = policy->priority,
		.sched_nice = task_nice(p),
		.sched_runtime = policy->runtime,
		.sched_deadline = policy->deadline,
		.sched_period = policy->period,
	};

	fl_execute_on(cpu);
	return sched_setattr_nocheck(p, &attr);
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

void fl_move(int cpu, unsigned int task, int group)
{
	struct task_struct *p = fl_task(task);

	fl_execute_on(cpu);
	p->cgroups = fl_css_set(group_of(group));
#ifdef FL_MOVE_FOR_AUTOGROUP
	sched_move_task(p, false);
#else
	sched_move_task(p);
#endif
}

/* ---- groups: made on CPU 0 ---- */

int fl_group_new(int parent)
{
	struct task_group *above = group_of(parent), *group;

	fl_execute_on(0);
	group = sched_create_group(above);
	sched_online_group(group, above);
	if (nr_groups == group_room) {
		groups = grown(groups, group_room, 2 * group_room + 16, sizeof(*groups));
		group_room = 2 * group_room + 16;
	}
	groups[nr_groups++] = group;
	return nr_groups;
}

int fl_group_shares(int group, unsigned long shares)
{
	fl_execute_on(0);
	return sched_group_set_shares(group_of(group), scale_load(shares));
}

int fl_group_idle(int group, int idle)
{
	fl_execute_on(0);
	return sched_group_set_idle(group_of(group), idle);
}

#ifdef CONFIG_CFS_BANDWIDTH
/* The file of that name in a cgroup of this controller. */
static struct cftype *file_of_cpu_cgroup(const char *name)
{
	struct cftype *file;

	for (file = cpu_cgrp_subsys.legacy_cftypes; file->name[0]; file++)
		if (!strcmp(file->name, name))
			return file;
	fl_host_stop(FL_STOP_SHIM, "the tree's cgroups have no file cfs_quota_us, cfs_period_us or cfs_burst_us");
}

/* As somebody does who writes the files: no quota while period and burst change, so that runtime is filled up once, when the quota is written. */
int fl_group_quota(int group, long long quota_us, long long period_us, long long burst_us)
{
	struct cgroup_subsys_state *css = &group_of(group)->css;
	struct cftype *quota = file_of_cpu_cgroup("cfs_quota_us"), *period = file_of_cpu_cgroup("cfs_period_us");
	struct cftype *burst = file_of_cpu_cgroup("cfs_burst_us");
	int refused = 0;

	has_quota = true;
	fl_execute_on(0);
	if (group_of(group)->cfs_bandwidth.quota != RUNTIME_INF)
		refused = quota->write_s64(css, quota, -1);
	if (!refused)
		refused = period->write_u64(css, period, period_us);
	if (!refused)
		refused = burst->write_u64(css, burst, burst_us);
	if (!refused && quota_us >= 0)
		refused = quota->write_s64(css, quota, quota_us);
	return refused;
}
#else
int fl_group_quota(int group, long long quota_us, long long period_us, long long burst_us) { return -EINVAL; }
#endif

bool kthread_is_per_cpu(struct task_struct *p) { return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1; }
