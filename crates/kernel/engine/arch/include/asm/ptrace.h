/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_PTRACE_H
#define _ASM_FAIRLAB_PTRACE_H

#include <uapi/asm/ptrace.h>

/* Interrupts come from tasks in user mode or from the idle loop; the exact address does not matter. */
struct pt_regs { unsigned long where; };

#define user_mode(regs) 1
#define instruction_pointer(regs) ((regs)->where)
#define user_stack_pointer(regs) ((regs)->where)
#define kernel_stack_pointer(regs) ((regs)->where)
#define profile_pc(regs) ((regs)->where)

static inline void instruction_pointer_set(struct pt_regs *regs, unsigned long where) { regs->where = where; }
static inline unsigned long regs_return_value(struct pt_regs *regs) { return 0; }
static inline int is_syscall_success(struct pt_regs *regs) { return 1; }

#endif
