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
