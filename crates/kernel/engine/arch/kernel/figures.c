// SPDX-License-Identifier: GPL-2.0-or-later
/* State that fairlab may read and set, accessed with the tree's own headers. */
#include "local.h"

/* Fields that later trees have replaced. */
#ifdef FL_ZERO_VRUNTIME
#define MIN_VRUNTIME(cfs_rq) (cfs_rq)->zero_vruntime
#else
#define MIN_VRUNTIME(cfs_rq) (cfs_rq)->min_vruntime
#endif
#ifdef FL_UTIL_EST_OF_TWO
#define UTIL_EST(avg) ((u64)(avg)->util_est.ewma << 32 | (avg)->util_est.enqueued)
#else
#define UTIL_EST(avg) (avg)->util_est
#endif
#define SINCE_BEGINNING(jiffy) ((long)((jiffy) - INITIAL_JIFFIES))

void fl_show_llc(int cpu, struct fl_llc *to)
{
	const struct sched_domain *sd = rcu_dereference_raw(per_cpu(sd_llc, cpu));
	struct sched_domain_shared *shared = rcu_dereference_raw(per_cpu(sd_llc_shared, cpu));

	to->is_first = sd && shared && per_cpu(sd_llc_id, cpu) == cpu;
	if (!to->is_first)
		return;
	to->size = per_cpu(sd_llc_size, cpu);
#ifdef FL_NR_IDLE_SCAN
	to->nr_idle_scan = shared->nr_idle_scan;
#endif
	to->has_idle_cores = shared->has_idle_cores;
	to->nr_busy_cpus = atomic_read(&shared->nr_busy_cpus);
}

void fl_show_rq(int cpu, struct fl_rq *to)
{
	const struct rq *rq = cpu_rq(cpu);
	const struct cfs_rq *cfs_rq = &rq->cfs;

	*to = (struct fl_rq) {
		.nr_running = rq->nr_running,
		.h_nr_running = H_NR_RUNNING(cfs_rq),
		.curr = task_thread_info(rq->curr)->id,
		.frequency = fl_place[cpu].frequency,
		.util_avg = cfs_rq->avg.util_avg,
		.runnable_avg = cfs_rq->avg.runnable_avg,
		.load_avg = cfs_rq->avg.load_avg,
		.cpu_capacity = rq->cpu_capacity,
		.misfit_task_load = rq->misfit_task_load,
		.clock = rq->clock,
		.clock_pelt = rq->clock_pelt,
		.lost_idle_time = rq->lost_idle_time,
		.min_vruntime = MIN_VRUNTIME(cfs_rq),
		.avg_idle = rq->avg_idle,
		.next_balance = SINCE_BEGINNING(rq->next_balance),
	};
}

static void show_avg(const struct sched_avg *avg, struct fl_avg *to)
{
	*to = (struct fl_avg) {
		.last_update_time = avg->last_update_time,
		.load_sum = avg->load_sum,
		.runnable_sum = avg->runnable_sum,
		.util_sum = avg->util_sum,
		.period_contrib = avg->period_contrib,
		.load_avg = avg->load_avg,
		.runnable_avg = avg->runnable_avg,
		.util_avg = avg->util_avg,
	};
}

void fl_show_task(unsigned int task, struct fl_task *to)
{
	const struct task_struct *p = fl_task(task);

	to->cpu = task_cpu(p);
	to->on_rq = p->on_rq;
	show_avg(&p->se.avg, &to->avg);
	to->vruntime = p->se.vruntime;
	to->sum_exec_runtime = p->se.sum_exec_runtime;
	to->util_est = UTIL_EST(&p->se.avg);
}

#ifdef CONFIG_SCHEDSTATS
static void show_domain(const struct sched_domain *sd, struct fl_domain *to)
{
	int idle;

	*to = (struct fl_domain) {
		.level = sd->level,
		.nr_balance_failed = sd->nr_balance_failed,
		.cache_nice_tries = sd->cache_nice_tries,
		.imbalance_pct = sd->imbalance_pct,
		.alb = { sd->alb_count, sd->alb_failed, sd->alb_pushed },
		.sb = { sd->sbe_count, sd->sbf_count },
		.ttwu = { sd->ttwu_wake_remote, sd->ttwu_move_affine, sd->ttwu_move_balance },
		.balance_interval = sd->balance_interval,
#ifdef FL_IMB_NUMA_NR
		.imb_numa_nr = sd->imb_numa_nr,
#endif
		.max_newidle_lb_cost = sd->max_newidle_lb_cost,
	};
#ifdef CONFIG_SCHED_DEBUG
	snprintf(to->name, sizeof(to->name), "%s", sd->name);
#endif
	for (idle = 0; idle < CPU_MAX_IDLE_TYPES; idle++) {
		unsigned int *lb = to->lb[idle];

		lb[0] = sd->lb_count[idle];
		lb[1] = sd->lb_balanced[idle];
		lb[2] = sd->lb_failed[idle];
		lb[3] = sd->lb_gained[idle];
		lb[4] = sd->lb_hot_gained[idle];
		lb[5] = sd->lb_nobusyq[idle];
		lb[6] = sd->lb_nobusyg[idle];
	}
}

void fl_show_schedstat(int cpu, struct fl_schedstat *to)
{
	const struct rq *rq = cpu_rq(cpu);
	const struct sched_domain *sd;

	to->calls[0] = rq->yld_count;
	to->calls[1] = rq->sched_count;
	to->calls[2] = rq->sched_goidle;
	to->calls[3] = rq->ttwu_count;
	to->calls[4] = rq->ttwu_local;
	to->times[0] = rq->rq_cpu_time;
	to->times[1] = rq->rq_sched_info.run_delay;
	to->times[2] = rq->rq_sched_info.pcount;
	to->nr_domains = 0;
	for (sd = rcu_dereference_raw(rq->sd); sd && to->nr_domains < FL_MOST_DOMAINS; sd = rcu_dereference_raw(sd->parent))
		show_domain(sd, &to->domains[to->nr_domains++]);
}
#else
void fl_show_schedstat(int cpu, struct fl_schedstat *to) { memset(to, 0, sizeof(*to)); }
#endif

unsigned int fl_layout(int what)
{
	static const unsigned int sizes[] = {
		sizeof(struct fl_record), sizeof(struct fl_cpu), sizeof(struct fl_policy), sizeof(struct fl_task_spec),
		sizeof(struct fl_clock), sizeof(struct fl_nohz), sizeof(struct fl_llc), sizeof(struct fl_rq),
		sizeof(struct fl_task), sizeof(struct fl_schedstat), sizeof(struct fl_frequency_domain),
		sizeof(struct fl_called), sizeof(struct fl_pause), sizeof(struct fl_feature), sizeof(struct fl_tunable),
		sizeof(struct fl_lag), sizeof(struct fl_bandwidth),
	};

	return what >= 0 && what < ARRAY_SIZE(sizes) ? sizes[what] : 0;
}
