// SPDX-License-Identifier: GPL-2.0-or-later
/* There is no assembly that would want offsets, but every architecture has this file. */
int main(void)
{
	return 0;
}
