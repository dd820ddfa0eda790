/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that this process has once and a machine has per CPU: the CPU that executes, the sections and locks
 * that it holds, and whether interrupts are off.
 */
#ifndef _ASM_FAIRLAB_STATE_H
#define _ASM_FAIRLAB_STATE_H

struct task_struct;

#define FL_CALLERS 3	/* recorded callers of a function that takes a lock, innermost first; NULL: no more are known */
#define FL_SECTIONS 8	/* sections whose beginnings are recorded */

/* Part of the state that a call keeps while it has yielded: see paths.c. */
#define FL_CONTEXT \
	int cpu;				/* the CPU that executes */ \
	int depth;				/* sections without preemption that the call has begun and not ended */ \
	const void *began[FL_SECTIONS];		/* their positions, the last one at each depth */ \
	const void *turned_off;			/* position where interrupts were disabled */ \
	void *stack_end;			/* frames of the kernel's side lie below */ \
	unsigned long irqs_off;

struct fl_context { FL_CONTEXT };

struct fl_state {
	union {
		struct { FL_CONTEXT };
		struct fl_context context;
	};
	int leaves;				/* whether the current call yields where time passes */
	unsigned long long now;			/* time of the machine's event, in ns */
	unsigned long long ahead;		/* offset by which sched_clock() has run ahead during the event */
	unsigned long long newidle_cost;	/* increase of that offset with each newly-idle pass */
	struct task_struct *running[];		/* current task of each CPU */
};

extern struct fl_state fl_state;

/* Returns the address of the code at which it is inlined. */
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

/*
 * Stores the callers of the function in which it is inlined. Frames of fairlab, which lie above stack_end,
 * have another layout.
 */
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
