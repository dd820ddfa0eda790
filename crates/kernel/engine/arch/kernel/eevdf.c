// SPDX-License-Identifier: GPL-2.0-or-later
/* What trees with EEVDF have in addition: slices of tasks, fair servers, and lags. */
#include "local.h"

#ifdef FL_CUSTOM_SLICE
int fl_has_slices(void) { return 1; }

/* Sets the slice of a task, whose policy and nice value stay. 0: the slice of the kernel. */
int fl_set_slice(int cpu, unsigned int task, unsigned long long ns)
{
	struct task_struct *p = fl_task(task);
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = p->policy,
		.sched_nice = task_nice(p),
		.sched_runtime = ns,
	};

	if (p->policy != SCHED_NORMAL && p->policy != SCHED_BATCH)
		return -EINVAL;
	fl_execute_on(cpu);
	return sched_setattr_nocheck(p, &attr);
}
#else
int fl_has_slices(void) { return 0; }
int fl_set_slice(int cpu, unsigned int task, unsigned long long ns) { return -EOPNOTSUPP; }
#endif

#ifdef FL_FAIR_SERVER
#define MIN_PERIOD (100ULL * NSEC_PER_USEC)
#define MAX_PERIOD ((1ULL << 22) * NSEC_PER_USEC)

int fl_has_fair_servers(void) { return 1; }

/*
 * Sets runtime and period of the fair server of a CPU at once. A user writes two files, of which the first
 * combines a new value with an old one. The limits of the period are those of these files.
 */
int fl_set_fair_server(int cpu, int other, unsigned long long runtime, unsigned long long period)
{
	struct rq *rq = cpu_rq(other);
	struct rq_flags flags;
	int refused;

	if (runtime > period || period < MIN_PERIOD || period > MAX_PERIOD)
		return -EINVAL;
	if (!cpu_online(other))
		return -EBUSY;
	fl_execute_on(cpu);
	rq_lock_irqsave(rq, &flags);
	update_rq_clock(rq);
	if (rq->fair_server.dl_server)
		dl_server_stop(&rq->fair_server);
	refused = dl_server_apply_params(&rq->fair_server, runtime, period, 0);
	if (H_NR_RUNNING(&rq->cfs))
		dl_server_start(&rq->fair_server);
	rq_unlock_irqrestore(rq, &flags);
	return refused;
}

/*
 * Takes the runtime of a server that has not started yet, and returns it. A kernel's CPUs have all had fair tasks
 * before they can go offline, and the tree's hotplug stops each server that has a runtime.
 */
u64 fl_hide_new_server(struct rq *rq)
{
	u64 runtime = rq->fair_server.dl_runtime;

	if (rq->fair_server.dl_server)
		return 0;
	rq->fair_server.dl_runtime = 0;
	return runtime;
}

void fl_show_new_server(struct rq *rq, u64 runtime)
{
	if (!rq->fair_server.dl_server)
		rq->fair_server.dl_runtime = runtime;
}
#else
int fl_has_fair_servers(void) { return 0; }
int fl_set_fair_server(int cpu, int other, unsigned long long runtime, unsigned long long period) { return -EOPNOTSUPP; }
u64 fl_hide_new_server(struct rq *rq) { return 0; }
void fl_show_new_server(struct rq *rq, u64 runtime) { }
#endif

#if defined(FL_CUSTOM_SLICE) && defined(FL_ZERO_VRUNTIME) && defined(FL_AVG_LOAD)
static bool tells_lags;
static struct fl_lag *lags;
static unsigned int nr_lags, room;

/*
 * The average virtual runtime of a queue, rounded down: the tree's own function also moves the origin of its
 * sums. The running entity is not in the sums.
 */
static long long avg_vruntime_of(const struct cfs_rq *cfs_rq)
{
	const struct sched_entity *curr = cfs_rq->curr;
	long long sum = cfs_rq->avg_vruntime, weight = cfs_rq->avg_load;

	if (curr && curr->on_rq) {
		long long own = scale_load_down(curr->load.weight);

		sum += own * (long long)(curr->vruntime - cfs_rq->zero_vruntime);
		weight += own;
	}
	if (!weight)
		return cfs_rq->zero_vruntime;
	if (sum < 0)
		sum -= weight - 1;
	return cfs_rq->zero_vruntime + sum / weight;
}

static void add_queue(struct cfs_rq *cfs_rq, struct fl_lag *to)
{
	to->cpu = cpu_of(rq_of(cfs_rq));
	to->nr_queued = cfs_rq->nr_running;
	to->h_nr_queued = cfs_rq->h_nr_queued;
	to->h_nr_runnable = cfs_rq->h_nr_runnable;
	to->zero_vruntime = cfs_rq->zero_vruntime;
	to->sum_w_vruntime = cfs_rq->avg_vruntime;
	to->sum_weight = cfs_rq->avg_load;
	to->avg_vruntime = avg_vruntime_of(cfs_rq);
}

static struct fl_lag lag_of(struct sched_entity *se)
{
	struct fl_lag lag = {
		.is_task = entity_is_task(se),
		.depth = se->depth,
		.on_rq = se->on_rq,
		.delayed = se->sched_delayed,
		.has_relative_deadline = se->rel_deadline,
		.has_custom_slice = se->custom_slice,
		.weight = se->load.weight,
		.vruntime = se->vruntime,
		.deadline = se->deadline,
		.vlag = se->vlag,
		.slice = se->slice,
	};

	add_queue(cfs_rq_of(se), &lag);
	return lag;
}

void fl_report_lags(void) { tells_lags = true; }
const struct fl_lag *fl_lags(void) { return lags; }
void fl_forget_lags(void) { nr_lags = 0; }

/* Records a fair task and the groups above it. */
void fl_tell_lags(struct task_struct *p, enum fl_moment moment)
{
	struct sched_entity *se = &p->se;
	unsigned int first = nr_lags;

	if (!tells_lags || p->sched_class != &fair_sched_class)
		return;
	for (; se; se = se->parent) {
		if (nr_lags == room) {
			lags = fl_grown(lags, room, 2 * room + 64, sizeof(*lags));
			room = 2 * room + 64;
		}
		lags[nr_lags++] = lag_of(se);
	}
	fl_tell(FL_LAG, moment, task_thread_info(p)->id, first, nr_lags - first);
}

int fl_show_lag(unsigned int task, struct fl_lag *to)
{
	*to = lag_of(&fl_task(task)->se);
	to->cpu = task_cpu(fl_task(task));
	return 1;
}

int fl_show_queue_lag(int cpu, struct fl_lag *to)
{
	*to = (struct fl_lag) { };
	add_queue(&cpu_rq(cpu)->cfs, to);
	return 1;
}
#else
void fl_report_lags(void) { }
const struct fl_lag *fl_lags(void) { return NULL; }
void fl_forget_lags(void) { }
void fl_tell_lags(struct task_struct *p, enum fl_moment moment) { }
int fl_show_lag(unsigned int task, struct fl_lag *to) { return 0; }
int fl_show_queue_lag(int cpu, struct fl_lag *to) { return 0; }
#endif
