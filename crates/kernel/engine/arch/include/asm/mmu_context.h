/* SPDX-License-Identifier: GPL-2.0-or-later */
#if __has_include(<asm-generic/nommu_context.h>)
#include <asm-generic/nommu_context.h>
#else
#include <asm-generic/mmu_context.h>
#endif
