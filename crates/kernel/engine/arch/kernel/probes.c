// SPDX-License-Identifier: GPL-2.0-or-later
/* Observers of the tree's own tracepoints and of its domain counters. */
#include "local.h"
#include <trace/events/sched.h>

#define ID(task) task_thread_info(task)->id

static void on_waking(void *unused, struct task_struct *p) { fl_tell(FL_WAKING, task_cpu(p), ID(p), 0, 0); }
static void on_migrate(void *unused, struct task_struct *p, int to) { fl_tell(FL_MIGRATE, task_cpu(p), ID(p), to, 0); }

static void tell_wakeup(struct task_struct *p, int is_new)
{
	if (fl_has_limits)
		fl_report_limit_of(p);
	fl_tell(FL_WAKEUP, task_cpu(p), ID(p), is_new, 0);
	fl_tell_lags(p, FL_MOMENT_WAKEUP);
}

static void on_wakeup(void *unused, struct task_struct *p) { tell_wakeup(p, 0); }
static void on_new(void *unused, struct task_struct *p) { tell_wakeup(p, 1); }
#ifdef FL_RUNTIME_WITH_VRUNTIME
static void on_runtime(void *unused, struct task_struct *p, u64 ns, u64 vruntime) { fl_tell(FL_RUNTIME, task_cpu(p), ID(p), ns, 0); }
#else
static void on_runtime(void *unused, struct task_struct *p, u64 ns) { fl_tell(FL_RUNTIME, task_cpu(p), ID(p), ns, 0); }
#endif

static void on_inherit(void *unused, struct task_struct *p, struct task_struct *from)
{
	fl_tell(FL_PRIO, task_cpu(p), ID(p), from ? min(p->normal_prio, from->prio) : p->normal_prio, 1);
}

#ifdef FL_KEY_IS_FALSE
#define KEY(tracepoint) (&(tracepoint).key.key)
#else
#define KEY(tracepoint) (&(tracepoint).key)
#endif

/* A tracepoint calls a list of functions that ends with an empty entry; here each list has one function. */
#define LISTEN(event, act)								\
	do {										\
		static struct tracepoint_func funcs[2] = { { .func = (void *)(act) } };	\
		check_trace_callback_type_##event(act);					\
		__tracepoint_##event.funcs = funcs;					\
		static_key_enable(KEY(__tracepoint_##event));				\
	} while (0)

void fl_listen(void)
{
	LISTEN(sched_waking, on_waking);
	LISTEN(sched_wakeup, on_wakeup);
	LISTEN(sched_wakeup_new, on_new);
	LISTEN(sched_migrate_task, on_migrate);
	LISTEN(sched_pi_setprio, on_inherit);
}

void fl_report_runtimes(void)
{
	LISTEN(sched_stat_runtime, on_runtime);
}

#define IS_IN(where, sd) ((const char *)(where) >= (const char *)(sd) && (const char *)(where) < (const char *)((sd) + 1))

static struct sched_domain *domain_of(int cpu, const void *where)
{
	struct sched_domain *sd;

	for (sd = rcu_dereference_raw(cpu_rq(cpu)->sd); sd; sd = rcu_dereference_raw(sd->parent))
		if (IS_IN(where, sd))
			return sd;
	return NULL;
}

/*
 * Load-balancing counters exist once for each idle type, and trees order the types differently. Returns the
 * number in the order of 6.1, from 1; 0 for a single counter.
 */
static int type_of(const char *counter, const unsigned int *where, struct sched_domain *sd)
{
	if (!strchr(counter, '['))
		return 0;
	switch ((where - sd->lb_count) % CPU_MAX_IDLE_TYPES) {
	case CPU_IDLE: return 1;
	case CPU_NEWLY_IDLE: return 3;
	default: return 2;
	}
}

/* Most counters belong to a domain of the CPU that executes. */
void fl_domain_stat(const char *counter, const void *where, long amount)
{
	struct fl_record record = { .kind = FL_STAT, .on = fl_state.cpu, .cpu = fl_state.cpu, .a = amount, .text = counter };
	struct sched_domain *sd = domain_of(record.cpu, where);

	for (; !sd; sd = domain_of(record.cpu, where))
		record.cpu = record.cpu + 1 == fl_nr_cpus ? 0 : record.cpu + 1;
	record.task = sd->level;
	record.b = type_of(counter, where, sd);
	if (where == (void *)&sd->lb_count[CPU_NEWLY_IDLE])
		fl_state.ahead += fl_state.newidle_cost;
	fl_host_record(&record);
}
