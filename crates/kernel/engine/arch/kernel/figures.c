// SPDX-License-Identifier: GPL-2.0-or-later
/* What the laboratory may look at and set, read with the tree's own headers. */
#include "local.h"

void fl_figures(int cpu, struct fl_figures *f)
{
	const struct rq *rq = cpu_rq(cpu);

	f->nr_running = rq->nr_running;
#ifdef FL_H_NR_QUEUED
	f->cfs_h_nr_running = rq->cfs.h_nr_queued;
#else
	f->cfs_h_nr_running = rq->cfs.h_nr_running;
#endif
	f->curr = task_thread_info(rq->curr)->id;
	f->frequency = fl_place[cpu].frequency;
	f->util_avg = rq->cfs.avg.util_avg;
	f->load_avg = rq->cfs.avg.load_avg;
	f->runnable_avg = rq->cfs.avg.runnable_avg;
	f->capacity = rq->cpu_capacity;
	f->clock = rq->clock;
	f->clock_task = rq->clock_task;
}

void fl_task_util(unsigned int task, unsigned long *util_avg, unsigned long long *vruntime)
{
	const struct task_struct *p = fl_task(task);

	*util_avg = p->se.avg.util_avg;
	*vruntime = p->se.vruntime;
}

unsigned int fl_layout(int what)
{
	static const unsigned int sizes[] = {
		sizeof(struct fl_record), sizeof(struct fl_cpu), sizeof(struct fl_policy), sizeof(struct fl_task_spec),
		sizeof(struct fl_figures), sizeof(struct fl_clock),
	};

	return what >= 0 && what < ARRAY_SIZE(sizes) ? sizes[what] : 0;
}

static const char *const features[] = {
#define SCHED_FEAT(name, enabled) #name,
#include "features.h"
#undef SCHED_FEAT
};

/* Without jump labels a feature is its bit. */
static int place_of_feature(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(features); i++)
		if (!strcmp(features[i], name))
			return i;
	return -1;
}

/* Without SCHED_DEBUG, which newer trees give only with debugfs, features and two tunables are constants. */
int fl_has_feature(const char *name) { return IS_ENABLED(CONFIG_SCHED_DEBUG) && place_of_feature(name) >= 0; }

void fl_feature(const char *name, int on)
{
	unsigned int *bits = (unsigned int *)&sysctl_sched_features, bit = 1u << place_of_feature(name);

	*bits = on ? *bits | bit : *bits & ~bit;
}

/* Under the names of debugfs. */
static unsigned int *tunable(const char *name)
{
	static const struct { const char *name; unsigned int *where; } tunables[] = {
#ifdef FL_BASE_SLICE
		{ "base_slice_ns", &sysctl_sched_base_slice },
#else
		{ "latency_ns", &sysctl_sched_latency },
		{ "min_granularity_ns", &sysctl_sched_min_granularity },
		{ "idle_min_granularity_ns", &sysctl_sched_idle_min_granularity },
		{ "wakeup_granularity_ns", &sysctl_sched_wakeup_granularity },
		{ "child_runs_first", &sysctl_sched_child_runs_first },
#endif
#ifdef CONFIG_SCHED_DEBUG
		{ "migration_cost_ns", (unsigned int *)&sysctl_sched_migration_cost },
		{ "nr_migrate", (unsigned int *)&sysctl_sched_nr_migrate },
#endif
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(tunables); i++)
		if (!strcmp(tunables[i].name, name))
			return tunables[i].where;
	return NULL;
}

int fl_has_tunable(const char *name) { return tunable(name) != NULL; }
void fl_tunable(const char *name, unsigned int value) { *tunable(name) = value; }
