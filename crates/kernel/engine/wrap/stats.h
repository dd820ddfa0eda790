/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands around the tree's own header of this name: what it counts for a sched domain is also told to the laboratory. The rest is
 * as the tree has it.
 */
#include "tree_stats.h"

#if defined(CONFIG_SCHEDSTATS) && !defined(_FL_STATS_H)
#define _FL_STATS_H

void fl_domain_stat(const char *counter, const void *where, long amount);

/* Constant: the compiler leaves out what is not about a domain. */
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
 * What nohz is about is fair.c's own, and so is a tunable. The functions that show them are compiled with that file, before its class; its lines
 * keep their numbers.
 * __KBUILD_MODNAME tells one file from another.
 */
#define kmod_fair 1
#if __KBUILD_MODNAME && defined(DEFINE_SCHED_CLASS) && !defined(_FL_CLASS_H)
#define _FL_CLASS_H
#include <asm/fairlab.h>

#define FL_SHOW_NOHZ									\
	void fl_show_nohz(struct fl_nohz *to)						\
	{										\
		to->nr_cpus = atomic_read(&nohz.nr_cpus);				\
		to->has_blocked = nohz.has_blocked;					\
		to->needs_update = nohz.needs_update;					\
		to->next_balance = (long)(nohz.next_balance - INITIAL_JIFFIES);		\
		to->next_blocked = (long)(nohz.next_blocked - INITIAL_JIFFIES);		\
	}

#ifdef CONFIG_CFS_BANDWIDTH
#define FL_SHOW_SLICE unsigned int *fl_bandwidth_slice_us(void) { return &sysctl_sched_cfs_bandwidth_slice; }
#else
#define FL_SHOW_SLICE unsigned int *fl_bandwidth_slice_us(void) { return NULL; }
#endif

#undef DEFINE_SCHED_CLASS
#define DEFINE_SCHED_CLASS(name)							\
	FL_SHOW_NOHZ									\
	FL_SHOW_SLICE									\
	const struct sched_class name##_sched_class					\
		__aligned(__alignof__(struct sched_class)) __section("__" #name "_sched_class")
#endif
#undef kmod_fair
