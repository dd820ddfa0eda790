/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _UAPI_ASM_FAIRLAB_PTRACE_H
#define _UAPI_ASM_FAIRLAB_PTRACE_H
struct user_regs_struct { unsigned long where; };
#endif
