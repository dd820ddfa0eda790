/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/byteorder/little_endian.h>
