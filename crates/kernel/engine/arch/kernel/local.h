/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the kernel's side. */
#ifndef FAIRLAB_LOCAL_H
#define FAIRLAB_LOCAL_H

#include <linux/cgroup.h>
#include <linux/clockchips.h>
#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#ifdef FL_HRTIMER_BASES
#include <linux/hrtimer_bases.h>
#endif
#include <linux/init_task.h>
#include <linux/interrupt.h>
#include <linux/kernel_stat.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>
#include <linux/sched/hotplug.h>
#include <linux/sched/isolation.h>
#include <linux/sched/loadavg.h>
#include <linux/sched/nohz.h>
#include <linux/sched/task.h>
#include <linux/sched/topology.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/task_work.h>
#include <linux/wait.h>
#include <uapi/linux/sched/types.h>
#include "sched.h"
#include "smp.h"
#include <asm/fairlab.h>
#include "drift.h"

extern int fl_nr_cpus;

void fl_tell(enum fl_kind kind, unsigned int cpu, unsigned int task, long long a, long long b);

/* Makes a CPU the executing one: it holds nothing except what an idle task always holds. */
static inline void fl_execute_on(int cpu)
{
	fl_state.cpu = cpu;
	fl_state.depth = 0;
	memset(fl_state.began, 0, sizeof(fl_state.began));
	preempt_count_set(current == cpu_rq(cpu)->idle ? PREEMPT_DISABLED : PREEMPT_ENABLED);
}

/* cpus.c */
void fl_set_places(const struct fl_cpu *cpus);
void fl_set_levels(const char *levels);
void fl_set_online(int cpu, bool online);

/* hotplug.c */
bool fl_is_dying(int cpu);
void fl_die(int cpu);

/* cpusets.c */
void fl_limit_to_cpuset(struct task_struct *p, struct cpumask *wanted);

/* eevdf.c */
u64 fl_hide_new_server(struct rq *rq);
void fl_show_new_server(struct rq *rq, u64 runtime);
void fl_tell_lags(struct task_struct *p, enum fl_moment moment);

/* groups.c */
struct task_group *fl_group(int group);
bool fl_has_quota(void);
bool fl_has_throttled_group(void);
bool fl_is_clamped_as_booted(void);

/* memory.c */
void fl_make_caches(void);
void fl_make_percpu_areas(void);

/* limits.c */
int *fl_limits(int from);

/* machine.c */
void fl_check_context(void);

/* switches.c */
void fl_run_late_initcalls(void);

/* tasks.c */
void fl_keep_template(void);
struct task_struct *fl_new_task(unsigned int id, int pid);
struct task_struct *fl_unlisted_task(void);
struct task_struct *fl_prepare(int cpu, const struct fl_task_spec *spec);
struct task_struct *fl_task(unsigned int id);
struct task_struct *fl_task_from(unsigned int *id);
void *fl_grown(void *old, unsigned int nr, unsigned int new_nr, size_t size);
struct css_set *fl_css_set(struct task_group *group);
void fl_check_books(void);
void fl_copy_mask(struct cpumask *to, const unsigned long *from);

/* compiled with fair.c: see wrap/stats.h */
unsigned int *fl_bandwidth_slice_us(void);

/* cpufreq.c */
void fl_make_frequency_domains(void);
void fl_start_governors(void);
void fl_restart_governor(int cpu);

/* stop.c */
void fl_make_stopper(int cpu, struct task_struct *task);
bool fl_stopper_has_work(int cpu);
struct task_struct *fl_stopper_of(int cpu);

/* irq.c, tasks.c, idle.c, stop.c: calls that paths.c begins */
void fl_interrupt(int cpu, int irq);
void fl_tick(int cpu);
int fl_interrupt_wake(int cpu, unsigned int task);
int fl_wake(int cpu, unsigned int task, int sync);
void fl_block(int cpu, int dies, int in_iowait);
void fl_yield(int cpu);
void fl_exec(int cpu);
void fl_reschedule(int cpu);
void fl_stopper(int cpu);
void fl_idle_enter(int cpu, int tick);

/* paths.c */
bool fl_has_ways(void);
bool fl_has_way(int cpu);
bool fl_has_left(void);
bool fl_is_above_softirq(void);

/* irq.c */
void fl_softirqs(void);
void fl_start_timers(void);
void fl_start_timers_of(int cpu);
void fl_end_timers_of(int cpu);

/* probes.c */
void fl_listen(void);

/* throttling.c: the functions that report are called only if there are limits */
extern bool fl_has_limits;
void fl_may_be_throttled(struct task_struct *p);
void fl_cpu_reschedules(int cpu);
void fl_report_limit_of(struct task_struct *p);
void fl_report_limits(void);

#endif
