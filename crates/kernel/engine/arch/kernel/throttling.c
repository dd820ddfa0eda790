// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports of throttled tasks: runnable tasks that wait for runtime of a limit, not for a CPU. The kernel has no
 * tracepoint for them. Present limits are compared with those that were reported last:
 *
 * - of a task, before its wake-up and before a switch from or to it;
 * - of all tasks that may be throttled, at the end of each call.
 *
 * A task that is not queued keeps its last report. Without quotas, and without tasks of classes that have a limit,
 * nothing is compared.
 */
#include "local.h"

/* Limits other than the quota of a group, which has the number of the group. */
#define NO_LIMIT 0
#define REAL_TIME_LIMIT (-1)
#define DEADLINE_LIMIT (-2)

struct task_list {
	struct task_struct **tasks;
	unsigned int nr, room, bit;
	bool has_throttled;	/* whether the last report about a task may name a limit */
};

bool fl_has_limits;	/* whether a task may be throttled: a group had a quota, or a task a class with a limit */

/* Tasks that were in a group, and tasks that had a class with a limit. */
static struct task_list grouped = { .bit = 1 }, real_time = { .bit = 2 }, deadline = { .bit = 4 };

/* Before 6.12 all real-time tasks of a CPU share its runtime; since then groups alone have such a limit. */
#if defined(CONFIG_RT_GROUP_SCHED) || defined(FL_RT_BANDWIDTH)
#define HAS_REAL_TIME_LIMIT 1
#else
#define HAS_REAL_TIME_LIMIT 0
#endif

/* Since 6.18 a task of a throttled group runs until it returns to user mode. */
#ifdef FL_TASK_THROTTLING
#define IS_THROTTLED(task) (task)->throttled
#else
#define IS_THROTTLED(task) ((task)->se.cfs_rq->throttle_count != 0)
#endif

static bool is_rt_throttled(const struct task_struct *p)
{
#ifdef CONFIG_RT_GROUP_SCHED
	const struct sched_rt_entity *rt_se;

	for (rt_se = &p->rt; rt_se; rt_se = rt_se->parent)
		if (rt_se->rt_rq->rt_throttled)
			return true;
	return false;
#elif HAS_REAL_TIME_LIMIT
	return task_rq(p)->rt.rt_throttled;
#else
	return false;
#endif
}

/* Whether the real-time tasks of a CPU may be throttled. */
static bool is_cpu_throttled(int cpu)
{
#ifdef CONFIG_RT_GROUP_SCHED
	return true;
#elif HAS_REAL_TIME_LIMIT
	return cpu_rq(cpu)->rt.rt_throttled;
#else
	return false;
#endif
}

static bool has_throttled_cpu(void)
{
	int cpu;

	for (cpu = 0; cpu < fl_nr_cpus; cpu++)
		if (is_cpu_throttled(cpu))
			return true;
	return false;
}

#ifdef CONFIG_CFS_BANDWIDTH
/* Returns the number of the nearest throttled group from that of a fair task upwards; 0 if the task may run. */
static int throttled_group(const struct task_struct *p)
{
	const struct sched_entity *se;

	if (!IS_THROTTLED(p))
		return 0;
	for (se = &p->se; se; se = se->parent)
		if (se->cfs_rq->throttled)
			return se->cfs_rq->tg->css.id;
	return 0;
}
#else
static int throttled_group(const struct task_struct *p) { return 0; }
#endif

static int limit_of(const struct task_struct *p)
{
	if (p->sched_class == &fair_sched_class)
		return throttled_group(p);
	if (p->sched_class == &rt_sched_class && is_rt_throttled(p))
		return REAL_TIME_LIMIT;
	if (p->sched_class == &dl_sched_class && p->dl.dl_throttled)
		return DEADLINE_LIMIT;
	return NO_LIMIT;
}

/* Reports the limit of one task if it has changed. */
void fl_report_limit_of(struct task_struct *p)
{
	struct thread_info *info = task_thread_info(p);
	int limit;

	if (!task_on_rq_queued(p))
		return;
	limit = limit_of(p);
	if (limit == info->limit)
		return;
	info->limit = limit;
	grouped.has_throttled |= limit > 0;
	real_time.has_throttled |= limit == REAL_TIME_LIMIT;
	fl_tell(FL_THROTTLING, task_cpu(p), info->id, limit, 0);
}

/* Compares the limits of all tasks of a list, and removes those that have ended. */
static void report_all(struct task_list *list)
{
	unsigned int i, nr = 0;

	for (i = 0; i < list->nr; i++) {
		struct task_struct *p = list->tasks[i];

		fl_report_limit_of(p);
		if (p->on_rq || READ_ONCE(STATE_OF(p)) != TASK_DEAD)
			list->tasks[nr++] = p;
	}
	list->nr = nr;
}

static void add(struct task_list *list, struct task_struct *p)
{
	struct thread_info *info = task_thread_info(p);

	if (info->lists & list->bit)
		return;
	info->lists |= list->bit;
	if (list->nr == list->room) {
		list->tasks = fl_grown(list->tasks, list->room, 2 * list->room + 64, sizeof(*list->tasks));
		list->room = 2 * list->room + 64;
	}
	list->tasks[list->nr++] = p;
}

/* Must be called when a task has got another group or class. */
void fl_may_be_throttled(struct task_struct *p)
{
	fl_has_limits |= p->sched_class == &dl_sched_class || (HAS_REAL_TIME_LIMIT && p->sched_class == &rt_sched_class);
	if (p->sched_class == &dl_sched_class)
		add(&deadline, p);
	if (HAS_REAL_TIME_LIMIT && p->sched_class == &rt_sched_class)
		add(&real_time, p);
	if (p->sched_task_group != &root_task_group)
		add(&grouped, p);
}

/*
 * A call that throttles the real-time tasks of a CPU makes that CPU reschedule: it executes the call, or gets an
 * interrupt.
 */
void fl_cpu_reschedules(int cpu)
{
	if (real_time.nr && is_cpu_throttled(cpu))
		real_time.has_throttled = true;
}

static void report_if(struct task_list *list, bool has_throttled)
{
	if (!has_throttled && !list->has_throttled)
		return;
	list->has_throttled = has_throttled;
	report_all(list);
}

/* Reports the limits that a call has changed. */
void fl_report_limits(void)
{
	if (fl_has_quota())
		report_if(&grouped, fl_has_throttled_group());
	fl_cpu_reschedules(fl_state.cpu);
	if (real_time.has_throttled)
		report_if(&real_time, has_throttled_cpu());
	if (deadline.nr)
		report_all(&deadline);
}
