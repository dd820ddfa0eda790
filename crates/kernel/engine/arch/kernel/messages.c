// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of the kernel: printk, WARN, panic. Each line is a result of the run. */
#include "local.h"

#define SAY(format)			\
	do {				\
		va_list args;		\
		va_start(args, format);	\
		fl_host_log(format, args); \
		va_end(args);		\
	} while (0)

int _printk(const char *format, ...)
{
	SAY(format);
	return 0;
}

int _printk_deferred(const char *format, ...)
{
	SAY(format);
	return 0;
}

void __warn_printk(const char *format, ...)
{
	SAY(format);
}

void warn_slowpath_fmt(const char *file, int line, unsigned int taint, const char *format, ...)
{
	_printk("WARNING: at %s:%d\n", file, line);
	if (format)
		SAY(format);
	fl_host_trace();
}

void panic(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fl_host_stop(FL_STOP_PANIC, text);
}

/* Repeated lines are not suppressed, so that they can be counted. */
int ___ratelimit(struct ratelimit_state *state, const char *caller) { return 1; }
int __printk_ratelimit(const char *caller) { return 1; }

int scnprintf(char *to, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(to, size, format, args);
	va_end(args);
	return min_t(int, length, size ? size - 1 : 0);
}
