/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread executes all CPUs, so plain loads and stores are atomic. */
#ifndef _ASM_FAIRLAB_CMPXCHG_H
#define _ASM_FAIRLAB_CMPXCHG_H

#define arch_xchg(where, new)						\
({									\
	__auto_type __where = (where);					\
	__typeof__(*__where) __was = *__where;				\
	*__where = (__typeof__(*__where))(new);				\
	__was;								\
})

#define arch_cmpxchg(where, old, new)					\
({									\
	__auto_type __where = (where);					\
	__typeof__(*__where) __was = *__where;				\
	if (__was == (__typeof__(*__where))(old))			\
		*__where = (__typeof__(*__where))(new);			\
	__was;								\
})

#define arch_cmpxchg_local arch_cmpxchg
#define arch_cmpxchg64 arch_cmpxchg
#define arch_cmpxchg64_local arch_cmpxchg

#endif
