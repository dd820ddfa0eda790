/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is one thing in this process and one thing per CPU on a machine: who executes, and whether interrupts are off. */
#ifndef _ASM_FAIRLAB_STATE_H
#define _ASM_FAIRLAB_STATE_H

struct task_struct;

struct fl_state {
	int cpu;				/* the CPU that executes */
	unsigned long irqs_off;
	unsigned long long now;			/* the time of the machine's event, in ns */
	unsigned long long ahead;		/* how far sched_clock() has run on during the event */
	unsigned long long newidle_cost;	/* by how much each newly-idle pass lets it run on */
	struct task_struct *running[];		/* what each CPU runs */
};

extern struct fl_state fl_state;

#endif
