/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wraps the tree's own header of this name: counters of sched domains are also reported to fairlab.
 * Everything else is unchanged.
 */
#include "tree_stats.h"

#if defined(CONFIG_SCHEDSTATS) && !defined(_FL_STATS_H)
#define _FL_STATS_H

void fl_domain_stat(const char *counter, const void *where, long amount);

/* Constant: the compiler leaves out counters that do not belong to a domain. */
#define FL_IS_OF_DOMAIN(text) (__builtin_strstr(text, "sd->") != NULL)

#undef schedstat_inc
#undef schedstat_add
#define schedstat_inc(var) schedstat_add(var, 1)
#define schedstat_add(var, amount)							\
	do {										\
		if (schedstat_enabled()) {						\
			(var) += (amount);						\
			if (FL_IS_OF_DOMAIN(#var))					\
				fl_domain_stat(#var, (const void *)&(var), (long)(amount)); \
		}									\
	} while (0)

#endif

/*
 * The nohz state and one tunable are private to fair.c. The functions that read them are compiled with that
 * file, before its class; the lines of fair.c keep their numbers.
 * __KBUILD_MODNAME distinguishes the files: kmod_fair, or fair in newer trees.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#define kmod_fair 1
#define fair 1
#include <asm/fairlab_facts.h>
#if (__KBUILD_MODNAME ? defined(DEFINE_SCHED_CLASS) : !defined(FL_CLASS_MACRO)) && !defined(_FL_CLASS_H)
#define _FL_CLASS_H
#include <asm/fairlab.h>

#ifdef FL_HAS_BLOCKED_LOAD
#define FL_HAS_BLOCKED has_blocked_load
#else
#define FL_HAS_BLOCKED has_blocked
#endif
#ifdef FL_NEEDS_UPDATE
#define FL_UPDATE nohz.needs_update
#else
#define FL_UPDATE 0
#endif
#ifdef FL_NOHZ_NR_CPUS
#define FL_NR_TICKLESS atomic_read(&nohz.nr_cpus)
#else
#define FL_NR_TICKLESS cpumask_weight(nohz.idle_cpus_mask)
#endif

unsigned int *fl_bandwidth_slice_us(void);

#define FL_SHOW_NOHZ									\
	void fl_show_nohz(struct fl_nohz *to)						\
	{										\
		to->nr_cpus = FL_NR_TICKLESS;					\
		to->has_blocked = nohz.FL_HAS_BLOCKED;					\
		to->needs_update = FL_UPDATE;						\
		to->next_balance = (long)(nohz.next_balance - INITIAL_JIFFIES);		\
		to->next_blocked = (long)(nohz.next_blocked - INITIAL_JIFFIES);		\
	}

#ifdef CONFIG_CFS_BANDWIDTH
#define FL_SHOW_SLICE unsigned int *fl_bandwidth_slice_us(void) { return &sysctl_sched_cfs_bandwidth_slice; }
#else
#define FL_SHOW_SLICE unsigned int *fl_bandwidth_slice_us(void) { return NULL; }
#endif

/*
 * Trees before 5.17 have no macro for a class. A lock between nohz and their class, known by its name, takes
 * its place.
 */
#ifndef FL_CLASS_MACRO
#define FL_BEHIND_balancing , FL_SHOW_NOHZ FL_SHOW_SLICE
#define FL_SECOND(first, second, ...) second
#define FL_SECOND_OF(...) FL_SECOND(__VA_ARGS__)
#undef DEFINE_SPINLOCK
#define DEFINE_SPINLOCK(name)								\
	spinlock_t name = __SPIN_LOCK_UNLOCKED(name);					\
	FL_SECOND_OF(FL_BEHIND_##name, , )						\
	struct fl_nothing
#endif

#undef DEFINE_SCHED_CLASS
#define DEFINE_SCHED_CLASS(name)							\
	FL_SHOW_NOHZ									\
	FL_SHOW_SLICE									\
	const struct sched_class name##_sched_class					\
		__aligned(__alignof__(struct sched_class)) __section("__" #name "_sched_class")
#endif
#undef kmod_fair
#undef fair
#pragma GCC diagnostic pop
