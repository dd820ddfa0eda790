/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions and fields that have other names, or are missing, in some trees. facts.txt lists which a tree
 * has.
 */
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

#ifdef FL_H_NR_QUEUED
#define H_NR_RUNNING(cfs_rq) (cfs_rq)->h_nr_queued
#else
#define H_NR_RUNNING(cfs_rq) (cfs_rq)->h_nr_running
#endif

#ifdef FL_USER_CPUS
#define FORGET_USER_CPUS(task) (task)->user_cpus_ptr = NULL
#else
#define FORGET_USER_CPUS(task) do { } while (0)
#endif

/* A task joins its group before it becomes visible, or when it does. */
#ifdef FL_CGROUP_FORK
#define JOIN_GROUP(task, args) do { sched_cgroup_fork(task, args); sched_post_fork(task); } while (0)
#else
#define JOIN_GROUP(task, args) sched_post_fork(task, args)
#endif

#ifndef FL_GROUPS_MAY_IDLE
#define sched_group_set_idle(group, idle) ((idle) ? -EOPNOTSUPP : 0)
#endif

/* Newer trees always have the code behind this option. */
#if defined(CONFIG_SCHED_DEBUG) || !defined(FL_DEBUG_IS_OPTIONAL)
#define HAS_SCHED_DEBUG 1
#else
#define HAS_SCHED_DEBUG 0
#endif

/* Idle tasks run the functions that are queued for their CPU. */
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
