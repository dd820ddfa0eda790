/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steal time: the time that a hypervisor has taken from each CPU. */
#ifndef _ASM_FAIRLAB_PARAVIRT_H
#define _ASM_FAIRLAB_PARAVIRT_H

#include <linux/types.h>

struct static_key;
extern struct static_key paravirt_steal_enabled;
extern struct static_key paravirt_steal_rq_enabled;

u64 paravirt_steal_clock(int cpu);

#endif
