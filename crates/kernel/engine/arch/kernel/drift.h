/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is the same thing under another name, or not there at all, in some trees. Which a tree has is in facts.txt. */
#ifndef FAIRLAB_DRIFT_H
#define FAIRLAB_DRIFT_H

#ifdef FL_HIDDEN_STATE
#define STATE_OF(task) (task)->__state
#else
#define STATE_OF(task) (task)->state
#endif

#ifdef FL_HIDDEN_LOCK
#define LOCK_OF(rq) (rq)->__lock
#else
#define LOCK_OF(rq) (rq)->lock
#endif

#ifdef FL_USER_CPUS
#define FORGET_USER_CPUS(task) (task)->user_cpus_ptr = NULL
#else
#define FORGET_USER_CPUS(task) do { } while (0)
#endif

/* A task becomes one of its group before it is seen, or when it is. */
#ifdef FL_CGROUP_FORK
#define JOIN_GROUP(task, args) do { sched_cgroup_fork(task, args); sched_post_fork(task); } while (0)
#else
#define JOIN_GROUP(task, args) sched_post_fork(task, args)
#endif

#ifndef FL_GROUPS_MAY_IDLE
#define sched_group_set_idle(group, idle) ((idle) ? -EOPNOTSUPP : 0)
#endif

/* Newer trees always have what this option was for. */
#if defined(CONFIG_SCHED_DEBUG) || !defined(FL_DEBUG_IS_OPTIONAL)
#define HAS_SCHED_DEBUG 1
#else
#define HAS_SCHED_DEBUG 0
#endif

/* Idle tasks do what is queued for their CPU. */
#ifndef FL_FLUSH_QUEUE
#define flush_smp_call_function_queue flush_smp_call_function_from_idle
#endif

#ifndef FL_PRINTK_MACRO
#define _printk printk
#define _printk_deferred printk_deferred
#endif

#ifndef FL_CLUSTERS
#define cpu_cluster_flags cpu_core_flags
#endif

#ifdef FL_CPUS_ALLOWED_FORCE
#define do_set_cpus_allowed set_cpus_allowed_force
#endif

extern struct cpumask __cpu_dying_mask;

void sched_set_stop_task(int cpu, struct task_struct *stop);

#endif
