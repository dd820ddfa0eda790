/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is one thing in this process and one thing per CPU on a machine: who executes, what it holds, and whether interrupts are off. */
#ifndef _ASM_FAIRLAB_STATE_H
#define _ASM_FAIRLAB_STATE_H

struct task_struct;

#define FL_CALLERS 3	/* of who takes a lock, innermost first; NULL: no more are known */
#define FL_SECTIONS 8	/* of which is known where they began */

/* What a call keeps while it has left kernel code: see paths.c. */
#define FL_CONTEXT \
	int cpu;				/* the CPU that executes */ \
	int depth;				/* sections without preemption that the call has begun and not ended */ \
	const void *began[FL_SECTIONS];		/* where, last at each depth */ \
	const void *turned_off;			/* where interrupts were */ \
	void *stack_end;			/* frames of the kernel's side lie below */ \
	unsigned long irqs_off;

struct fl_context { FL_CONTEXT };

struct fl_state {
	union {
		struct { FL_CONTEXT };
		struct fl_context context;
	};
	int leaves;				/* what executes leaves kernel code where time passes */
	unsigned long long now;			/* the time of the machine's event, in ns */
	unsigned long long ahead;		/* how far sched_clock() has run on during the event */
	unsigned long long newidle_cost;	/* by how much each newly-idle pass lets it run on */
	struct task_struct *running[];		/* what each CPU runs */
};

extern struct fl_state fl_state;

/* The place in the code at which this stands. */
static inline __attribute__((always_inline)) const void *fl_here(void)
{
	const void *here;

#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %0" : "=r"(here));
#elif defined(__aarch64__)
	__asm__ volatile("adr %0, .+4" : "=r"(here));
#else
	here = __builtin_return_address(0);
#endif
	return here;
}

/* Who has called the function in which this stands. Whoever called the laboratory has frames of another make, which lie above. */
static inline __attribute__((always_inline)) void fl_note_callers(const void **to)
{
#if defined(CONFIG_FRAME_POINTER) && (defined(__x86_64__) || defined(__aarch64__))
	void **frame = __builtin_frame_address(0);
	int i;

	for (i = 0; i < FL_CALLERS; i++) {
		void **next = frame[0];

		to[i] = frame[1];
		if (next <= frame || (void *)next > fl_state.stack_end)
			break;
		frame = next;
	}
	if (i < FL_CALLERS - 1)
		to[i + 1] = 0;
#else
	to[0] = __builtin_return_address(0);
	to[1] = 0;
#endif
}

#endif
