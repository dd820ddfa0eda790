// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits to which the tree's tables of tunables refer. Its headers declare them as constant, so they are apart. */
int sysctl_vals[32];

int *fl_limits(int from) { return sysctl_vals + from; }
