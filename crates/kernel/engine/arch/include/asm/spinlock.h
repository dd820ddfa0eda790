/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread executes all CPUs. A call yields in the middle of kernel code in three cases: before it takes
 * the lock of a runqueue, when it releases the last one, and while a yielded call holds another lock that it
 * needs.
 * In all other calls, a lock that is held when a call needs it would be held for ever. That ends the run, as
 * does the release of a lock that is not held.
 */
#ifndef _ASM_FAIRLAB_SPINLOCK_H
#define _ASM_FAIRLAB_SPINLOCK_H

#include <asm/fairlab_state.h>

void fl_lock_is_held(const void *lock, unsigned int holder, const void *const *taker);
void fl_lock_is_free(const void *lock);
void fl_wait_for(arch_spinlock_t *lock);
int fl_try_for(arch_spinlock_t *lock);
void fl_give_back(arch_spinlock_t *lock);

#define arch_spin_is_locked(l) ((l)->holder != 0)
#define arch_spin_is_contended(l) 0
#define arch_spin_value_unlocked(l) ((l).holder == 0)

static inline int arch_spin_trylock(arch_spinlock_t *l)
{
	if (l->holder || (fl_state.leaves && l->runqueue && !fl_try_for(l)))
		return 0;
	l->holder = fl_state.cpu + 1;
	fl_note_callers(l->taker);
	return 1;
}

static inline void arch_spin_lock(arch_spinlock_t *l)
{
	if (l->holder || (fl_state.leaves && l->runqueue))
		fl_wait_for(l);
	l->holder = fl_state.cpu + 1;
	fl_note_callers(l->taker);
}

static inline void arch_spin_unlock(arch_spinlock_t *l)
{
	if (!l->holder)
		fl_lock_is_free(l);
	if (fl_state.leaves && l->runqueue)
		fl_give_back(l);
	else
		l->holder = 0;
}

static inline int arch_read_trylock(arch_rwlock_t *l)
{
	if (l->users < 0)
		return 0;
	l->users++;
	return 1;
}

static inline int arch_write_trylock(arch_rwlock_t *l)
{
	if (l->users)
		return 0;
	l->users = -1;
	return 1;
}

static inline void arch_read_lock(arch_rwlock_t *l)
{
	if (!arch_read_trylock(l))
		fl_lock_is_held(l, fl_state.cpu, NULL);
}

static inline void arch_write_lock(arch_rwlock_t *l)
{
	if (!arch_write_trylock(l))
		fl_lock_is_held(l, fl_state.cpu, NULL);
}

static inline void arch_read_unlock(arch_rwlock_t *l)
{
	if (l->users-- <= 0)
		fl_lock_is_free(l);
}

static inline void arch_write_unlock(arch_rwlock_t *l)
{
	if (l->users != -1)
		fl_lock_is_free(l);
	l->users = 0;
}

#endif
