/* SPDX-License-Identifier: GPL-2.0-or-later */
/* There is no memory map; these constants only determine sizes of fields. */
#define SECTION_SIZE_BITS 27
#define MAX_PHYSMEM_BITS 46
