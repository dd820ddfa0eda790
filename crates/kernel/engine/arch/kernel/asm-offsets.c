// SPDX-License-Identifier: GPL-2.0-or-later
/* No assembly needs offsets, but every architecture has this file. */
int main(void)
{
	return 0;
}
