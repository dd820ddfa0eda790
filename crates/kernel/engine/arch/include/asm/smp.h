/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_SMP_H
#define _ASM_FAIRLAB_SMP_H

#include <linux/cpumask.h>
#include <asm/fairlab_state.h>

#define raw_smp_processor_id() (fl_state.cpu)

void smp_send_reschedule(int cpu);
void arch_smp_send_reschedule(int cpu);
void arch_send_call_function_single_ipi(int cpu);
void arch_send_call_function_ipi_mask(const struct cpumask *mask);

#endif
