/* SPDX-License-Identifier: GPL-2.0-or-later */
#define __BITS_PER_LONG 64
#include <asm-generic/bitsperlong.h>
