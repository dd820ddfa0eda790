/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_SPINLOCK_TYPES_H
#define _ASM_FAIRLAB_SPINLOCK_TYPES_H

#include <asm/fairlab_state.h>

/*
 * Who holds it: 0 nobody, otherwise the CPU's number plus one; and where it was taken last. That of a runqueue knows its CPU, plus one, once paths
 * leave kernel code; there who gives one back keeps it until the phase is over.
 */
typedef struct { unsigned int holder, runqueue, is_given; const void *taker[FL_CALLERS]; } arch_spinlock_t;
/* How many read; -1 if one writes. */
typedef struct { int users; } arch_rwlock_t;

#define __ARCH_SPIN_LOCK_UNLOCKED { 0 }
#define __ARCH_RW_LOCK_UNLOCKED { 0 }

#endif
