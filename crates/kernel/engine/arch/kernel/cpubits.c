// SPDX-License-Identifier: GPL-2.0-or-later
/* Table behind cpumask_of(): in row b + 1 only bit b of the first word is set. */
#include <linux/bitops.h>
#include <linux/cpumask.h>

#define ROW(b)		[(b) + 1][0] = 1UL << (b)
#define ROWS4(b)	ROW(b), ROW((b) + 1), ROW((b) + 2), ROW((b) + 3)
#define ROWS16(b)	ROWS4(b), ROWS4((b) + 4), ROWS4((b) + 8), ROWS4((b) + 12)

const unsigned long cpu_bit_bitmap[BITS_PER_LONG + 1][BITS_TO_LONGS(NR_CPUS)] = {
	ROWS16(0), ROWS16(16), ROWS16(32), ROWS16(48),
};
