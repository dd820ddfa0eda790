/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_SPINLOCK_TYPES_H
#define _ASM_FAIRLAB_SPINLOCK_TYPES_H

#include <asm/fairlab_state.h>

/*
 * `holder` is 0, or the number of the CPU that holds the lock plus one; `taker` is where it was taken last.
 * The lock of a runqueue has its CPU plus one in `runqueue` once yields are enabled; a released lock is then
 * held until the phase is over.
 */
typedef struct { unsigned int holder, runqueue, is_given; const void *taker[FL_CALLERS]; } arch_spinlock_t;
/* Number of readers; -1 for a writer. */
typedef struct { int users; } arch_rwlock_t;

#define __ARCH_SPIN_LOCK_UNLOCKED { 0 }
#define __ARCH_RW_LOCK_UNLOCKED { 0 }

#endif
