/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread executes all CPUs, so plain arithmetic is atomic. The generic headers derive the other
 * operations.
 */
#ifndef _ASM_FAIRLAB_ATOMIC_H
#define _ASM_FAIRLAB_ATOMIC_H

#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/cmpxchg.h>

/* Trees before 5.13 need to know which of the two kinds of names these are. */
#define ARCH_ATOMIC
#define ATOMIC64_INIT(value) { (value) }

#define FL_STORAGE(P, V)								\
static __always_inline V arch_##P##_read(const P##_t *v) { return READ_ONCE(v->counter); }	\
static __always_inline void arch_##P##_set(P##_t *v, V to) { WRITE_ONCE(v->counter, to); }

#define FL_OPERATION(P, V, verb, apply)							\
static __always_inline void arch_##P##_##verb(V by, P##_t *v) { v->counter apply by; }	\
static __always_inline V arch_##P##_fetch_##verb(V by, P##_t *v)			\
{											\
	V was = v->counter;								\
	v->counter apply by;								\
	return was;									\
}

#define FL_RESULT(P, V, verb, apply)							\
static __always_inline V arch_##P##_##verb##_return(V by, P##_t *v) { v->counter apply by; return v->counter; }

#define FL_FAMILY(P, V)									\
	FL_STORAGE(P, V)								\
	FL_OPERATION(P, V, add, +=) FL_OPERATION(P, V, sub, -=)				\
	FL_OPERATION(P, V, and, &=) FL_OPERATION(P, V, or, |=) FL_OPERATION(P, V, xor, ^=)	\
	FL_RESULT(P, V, add, +=) FL_RESULT(P, V, sub, -=)

FL_FAMILY(atomic, int)
FL_FAMILY(atomic64, s64)

#define arch_atomic_add_return arch_atomic_add_return
#define arch_atomic_sub_return arch_atomic_sub_return
#define arch_atomic_fetch_add arch_atomic_fetch_add
#define arch_atomic_fetch_sub arch_atomic_fetch_sub
#define arch_atomic_fetch_and arch_atomic_fetch_and
#define arch_atomic_fetch_or arch_atomic_fetch_or
#define arch_atomic_fetch_xor arch_atomic_fetch_xor
#define arch_atomic64_add_return arch_atomic64_add_return
#define arch_atomic64_sub_return arch_atomic64_sub_return
#define arch_atomic64_fetch_add arch_atomic64_fetch_add
#define arch_atomic64_fetch_sub arch_atomic64_fetch_sub
#define arch_atomic64_fetch_and arch_atomic64_fetch_and
#define arch_atomic64_fetch_or arch_atomic64_fetch_or
#define arch_atomic64_fetch_xor arch_atomic64_fetch_xor

#define arch_atomic_xchg(v, to) arch_xchg(&(v)->counter, to)
#define arch_atomic_cmpxchg(v, from, to) arch_cmpxchg(&(v)->counter, from, to)
#define arch_atomic64_xchg(v, to) arch_xchg(&(v)->counter, to)
#define arch_atomic64_cmpxchg(v, from, to) arch_cmpxchg(&(v)->counter, from, to)

#endif
