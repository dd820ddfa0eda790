/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the host. */
#ifndef FAIRLAB_HOST_H
#define FAIRLAB_HOST_H

#define MOST_NESTED 256
#define MOST_WATCHED 128	/* functions that are counted or change what others count */
#define ALWAYS 0		/* number in the place of a watched function: it always runs */

struct watched;

/* State of the kernel's side on one stack. */
struct nesting {
	const struct watched *stack[MOST_NESTED];	/* watched functions, outermost first */
	unsigned int nr;
	unsigned short running[MOST_WATCHED];		/* how often each watched function is in `stack`, by number */
	const void *functions[MOST_NESTED];		/* all functions, outermost first, for a trace */
	int depth;					/* number of `functions` */
	unsigned int nr_looks;				/* CPUs that a search has scanned since it began or yielded */
	unsigned long long measured;			/* see fl_measure() */
};

/* Makes another stack current, and returns the one before. */
struct nesting *fl_nest(struct nesting *to);
void fl_trace_again(void);

#endif
