// SPDX-License-Identifier: GPL-2.0-or-later
/* Task groups: the operations behind the files of cgroups. */
#include "local.h"

static struct task_group **groups;
static int nr_groups, group_room;
static bool has_quota;		/* whether a group has, or had, a quota */
static bool as_booted;		/* whether clamps are those of cgroups that came online */

struct task_group *fl_group(int group)
{
	return group ? groups[group - 1] : &root_task_group;
}

bool fl_has_quota(void) { return has_quota; }

/* Whether a group is throttled on some CPU. */
bool fl_has_throttled_group(void)
{
#ifdef CONFIG_CFS_BANDWIDTH
	int i;

	for (i = 0; i < nr_groups; i++)
		if (!list_empty(&groups[i]->cfs_bandwidth.throttled_cfs_rq))
			return true;
#endif
	return false;
}

void fl_first_clamps(int booted)
{
	as_booted = booted;
}

bool fl_is_clamped_as_booted(void) { return as_booted; }

int fl_group_new(int cpu, int parent)
{
	struct task_group *above = fl_group(parent), *group;

	fl_execute_on(cpu);
	group = sched_create_group(above);
	group->css.parent = &above->css;
	if (!as_booted)
		sched_online_group(group, above);
	else if (cpu_cgrp_subsys.css_online(&group->css))
		fl_host_stop(FL_STOP_SHIM, "a group does not come online");
	if (nr_groups == group_room) {
		groups = fl_grown(groups, group_room, 2 * group_room + 16, sizeof(*groups));
		group_room = 2 * group_room + 16;
	}
	groups[nr_groups++] = group;
	group->css.id = nr_groups;
	return nr_groups;
}

int fl_group_shares(int cpu, int group, unsigned long shares)
{
	fl_execute_on(cpu);
	return sched_group_set_shares(fl_group(group), scale_load(shares));
}

int fl_group_idle(int cpu, int group, int idle)
{
	fl_execute_on(cpu);
	return sched_group_set_idle(fl_group(group), idle);
}

/* Returns the file of that name in a cgroup of this controller. Trees before 5.14 have none for bursts. */
static struct cftype *file_of_cpu_cgroup(const char *name)
{
	struct cftype *file;

	for (file = cpu_cgrp_subsys.legacy_cftypes; file->name[0]; file++)
		if (!strcmp(file->name, name))
			return file;
	return NULL;
}

int fl_has_group_file(const char *name) { return file_of_cpu_cgroup(name) != NULL; }

#ifdef CONFIG_CFS_BANDWIDTH
/*
 * Writes the files as a user does: no quota while period and burst change, so that runtime is refilled once,
 * when the quota is written.
 */
int fl_group_quota(int cpu, int group, long long quota_us, long long period_us, long long burst_us)
{
	struct cgroup_subsys_state *css = &fl_group(group)->css;
	struct cftype *quota = file_of_cpu_cgroup("cfs_quota_us"), *period = file_of_cpu_cgroup("cfs_period_us");
	struct cftype *burst = file_of_cpu_cgroup("cfs_burst_us");
	int refused = 0;

	has_quota = fl_has_limits = true;
	fl_execute_on(cpu);
	if (fl_group(group)->cfs_bandwidth.quota != RUNTIME_INF)
		refused = quota->write_s64(css, quota, -1);
	if (!refused)
		refused = period->write_u64(css, period, period_us);
	if (!refused && (burst || burst_us))
		refused = burst ? burst->write_u64(css, burst, burst_us) : -EOPNOTSUPP;
	if (!refused && quota_us >= 0)
		refused = quota->write_s64(css, quota, quota_us);
	return refused;
}
#else
int fl_group_quota(int cpu, int group, long long quota_us, long long period_us, long long burst_us) { return -EINVAL; }
#endif

/* Returns whether the group exists and groups can have a quota. */
int fl_show_bandwidth(int group, struct fl_bandwidth *to)
{
#ifdef CONFIG_CFS_BANDWIDTH
	const struct cfs_bandwidth *cfs_b;

	if (group > nr_groups)
		return 0;
	cfs_b = &fl_group(group)->cfs_bandwidth;
	*to = (struct fl_bandwidth) {
		.quota = cfs_b->quota == RUNTIME_INF ? -1 : (long long)cfs_b->quota,
		.period = ktime_to_ns(cfs_b->period),
		.nr_periods = cfs_b->nr_periods,
		.nr_throttled = cfs_b->nr_throttled,
		.throttled_time = cfs_b->throttled_time,
#ifdef FL_BURST
		.burst = cfs_b->burst,
#endif
#ifdef FL_BURST_COUNTERS
		.nr_burst = cfs_b->nr_burst,
		.burst_time = cfs_b->burst_time,
#endif
	};
	return 1;
#else
	return 0;
#endif
}

#ifdef CONFIG_UCLAMP_TASK_GROUP
/* ---- clamps: the files uclamp.min and uclamp.max, and the cgroup functions that writing them calls ---- */

static struct cgroup_subsys_state *written, *walked;	/* group whose file is written, and group whose tasks are iterated */
static long long percent;			/* value that is written, in hundredths of a per cent */
static unsigned int next_task;
static int next_group;

struct cgroup_subsys_state *of_css(struct kernfs_open_file *of) { return written; }
char *strim(char *text) { return text; }

int cgroup_parse_float(const char *text, unsigned int nr_decimals, s64 *to)
{
	*to = percent;
	return 0;
}

static bool is_below(const struct task_group *group, const struct task_group *top)
{
	while (group && group != top)
		group = group->parent;
	return group;
}

/* A group is older than those below it, so the numbers are a valid order. */
struct cgroup_subsys_state *css_next_descendant_pre(struct cgroup_subsys_state *pos, struct cgroup_subsys_state *top)
{
	if (!pos) {
		next_group = 1;
		return top;
	}
	for (; next_group <= nr_groups; next_group++) {
		struct task_group *group = fl_group(next_group);

		if (&group->css != top && is_below(group, container_of(top, struct task_group, css))) {
			next_group++;
			return &group->css;
		}
	}
	return NULL;
}

/* Groups below an unchanged one are visited too: they find that they have not changed either. */
struct cgroup_subsys_state *css_rightmost_descendant(struct cgroup_subsys_state *pos) { return pos; }

void css_task_iter_start(struct cgroup_subsys_state *css, unsigned int flags, struct css_task_iter *iter)
{
	walked = css;
	next_task = 0;
}

struct task_struct *css_task_iter_next(struct css_task_iter *iter)
{
	struct task_struct *p;

	while ((p = fl_task_from(&next_task)))
		if (&p->sched_task_group->css == walked && READ_ONCE(STATE_OF(p)) != TASK_DEAD)
			return p;
	return NULL;
}

void css_task_iter_end(struct css_task_iter *iter) { }

/*
 * Clamps are written as percentages in hundredths, of which there are more than capacities: each capacity has
 * one that is converted back to itself.
 */
static int write_clamp(struct task_group *group, const char *name, int clamp)
{
	struct cftype *file = file_of_cpu_cgroup(name);
	char text[] = "-";
	ssize_t done;

	written = &group->css;
	percent = DIV_ROUND_CLOSEST(clamp * 10000, SCHED_CAPACITY_SCALE);
	done = file->write(NULL, text, sizeof(text), 0);
	return done < 0 ? done : 0;
}

int fl_group_uclamp(int group, int min, int max)
{
	int refused;

	refused = write_clamp(fl_group(group), "uclamp.min", min);
	return refused ? refused : write_clamp(fl_group(group), "uclamp.max", max);
}
#else
int fl_group_uclamp(int group, int min, int max) { return -EINVAL; }
#endif
