/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _UAPI_ASM_FAIRLAB_SIGCONTEXT_H
#define _UAPI_ASM_FAIRLAB_SIGCONTEXT_H
struct sigcontext { unsigned long where; };
#endif
