/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_IRQFLAGS_H
#define _ASM_FAIRLAB_IRQFLAGS_H

#include <asm/fairlab_state.h>

/* The machine interrupts no CPU in the middle of kernel code, so the flag is only there to be read. */
#define ARCH_IRQ_DISABLED 1
#define ARCH_IRQ_ENABLED 0

static inline unsigned long arch_local_save_flags(void) { return fl_state.irqs_off; }
static inline void arch_local_irq_restore(unsigned long flags)
{
	if (flags && !fl_state.irqs_off)
		fl_state.turned_off = fl_here();
	fl_state.irqs_off = flags;
}
#define arch_local_save_flags arch_local_save_flags
#define arch_local_irq_restore arch_local_irq_restore

#include <asm-generic/irqflags.h>

#endif
