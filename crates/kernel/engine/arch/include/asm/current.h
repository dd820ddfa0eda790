/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_CURRENT_H
#define _ASM_FAIRLAB_CURRENT_H

#include <asm/fairlab_state.h>

#define get_current() (fl_state.running[fl_state.cpu])
#define current get_current()

#endif
