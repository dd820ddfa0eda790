/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the host's files. */
#ifndef FAIRLAB_HOST_H
#define FAIRLAB_HOST_H

#define MOST_NESTED 256

struct watched;

/* What runs of the kernel's side on one stack. */
struct nesting {
	const struct watched *stack[MOST_NESTED];	/* watched functions, outermost first */
	unsigned int nr;
	const void *functions[MOST_NESTED];		/* all, outermost first, for a trace */
	int depth;					/* of these */
	unsigned int nr_looks;				/* of a search, since it has begun or left */
	unsigned long long measured;			/* see fl_measure() */
};

/* Another stack runs now: that of the one before. */
struct nesting *fl_nest(struct nesting *to);
void fl_trace_again(void);

#endif
