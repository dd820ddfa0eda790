/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree's own counting. Besides, who keeps others from being preempted (by a lock, an RCU reader's section, or preempt_disable() itself) is
 * remembered until he allows it again: who still stands there at the end of a call has forgotten to.
 */
#ifndef _ASM_FAIRLAB_PREEMPT_H
#define _ASM_FAIRLAB_PREEMPT_H

#define __preempt_count_add fl_generic_preempt_count_add
#define __preempt_count_sub fl_generic_preempt_count_sub
#include <asm-generic/preempt.h>
#undef __preempt_count_add
#undef __preempt_count_sub

#include <asm/fairlab_state.h>

/* Interrupts count in the same number, in higher digits. */
#define FL_IS_SECTION(val) ((val) == 1)

static __always_inline void __preempt_count_add(int val)
{
	fl_generic_preempt_count_add(val);
	if (FL_IS_SECTION(val))
		fl_state.began[(unsigned int)fl_state.depth++ % FL_SECTIONS] = fl_here();
}

static __always_inline void __preempt_count_sub(int val)
{
	if (FL_IS_SECTION(val))
		fl_state.depth--;
	fl_generic_preempt_count_sub(val);
}

#endif
