/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_PROCESSOR_H
#define _ASM_FAIRLAB_PROCESSOR_H

#ifndef __ASSEMBLY__
#include <linux/compiler.h>
#include <asm/fairlab_facts.h>

struct task_struct;
struct pt_regs;
struct thread_struct { };

#define INIT_THREAD { }
#define TASK_SIZE (1UL << 47)
#define TASK_UNMAPPED_BASE (TASK_SIZE / 4)
#define STACK_TOP TASK_SIZE
#define STACK_TOP_MAX TASK_SIZE
#define task_pt_regs(task) ((struct pt_regs *)NULL)
#define KSTK_EIP(task) 0UL
#define KSTK_ESP(task) 0UL
/* The caller spins until another CPU has done something. */
void fl_relax(void);
#define cpu_relax() fl_relax()

static inline void start_thread(struct pt_regs *regs, unsigned long where, unsigned long stack) { }
static inline void release_thread(struct task_struct *task) { }
static inline unsigned long __get_wchan(struct task_struct *task) { return 0; }
#ifndef FL_WCHAN_OF_ALL
static inline unsigned long get_wchan(struct task_struct *task) { return 0; }
#endif
#endif

#endif
