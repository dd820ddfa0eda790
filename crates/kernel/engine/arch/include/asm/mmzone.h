/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_MMZONE_H
#define _ASM_FAIRLAB_MMZONE_H
/* Newer trees have this for all architectures. */
#ifndef NODE_DATA
extern struct pglist_data *node_data[];
#define NODE_DATA(node) (node_data[node])
#endif
#endif
