/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_PGTABLE_H
#define _ASM_FAIRLAB_PGTABLE_H
#include <asm/page.h>
#include <asm-generic/pgtable-nopmd.h>
#endif
