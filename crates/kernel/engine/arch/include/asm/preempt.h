/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uses the tree's own counting. In addition it records where a section without preemption began (by a lock,
 * an RCU read-side section, or preempt_disable() itself) until the section ends. A section that is still
 * recorded at the end of a call was not ended.
 */
#ifndef _ASM_FAIRLAB_PREEMPT_H
#define _ASM_FAIRLAB_PREEMPT_H

#define __preempt_count_add fl_generic_preempt_count_add
#define __preempt_count_sub fl_generic_preempt_count_sub
#include <asm-generic/preempt.h>
#undef __preempt_count_add
#undef __preempt_count_sub

#include <asm/fairlab_state.h>

/* Interrupts are counted in higher bits of the same number. */
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
