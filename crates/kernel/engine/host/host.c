// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of an engine that runs in the world of the C library: memory, records, messages of the kernel, and
 * the guard that turns an abnormal end of kernel code (a crash, a panic, a loop) into a report on a file
 * descriptor.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#include "../arch/include/asm/fairlab.h"
#include "host.h"

/* Exit status of a process that has written a report. */
#define REPORTED 86
#define MOST_FRAMES 64
#define MOST_TRACES 16

static int report_fd = 2;
static const char *entry = "nothing";	/* current call of fairlab */
static int entry_cpu;
static volatile unsigned long nr_entries;
static unsigned long long now;		/* of the clock that was set last */

/* ---- memory ---- */

#define CHUNK (1UL << 20)

/*
 * Allocates zeroed memory from chunks. Large pieces have their own mapping, so that untouched pages cost
 * nothing.
 */
void *fl_host_zalloc(unsigned long size)
{
	static char *next, *end;
	char *piece;

	size = (size + 63) & ~63UL;
	if (size > (unsigned long)(end - next)) {
		unsigned long length = size > CHUNK / 4 ? (size + 4095) & ~4095UL : CHUNK;

		piece = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (piece == MAP_FAILED)
			fl_host_stop(FL_STOP_SHIM, "there is no memory left");
		if (length != CHUNK)
			return piece;
		next = piece;
		end = piece + CHUNK;
	}
	piece = next;
	next += size;
	return piece;
}

/* ---- records: kept until fairlab reads them ---- */

static struct fl_record *records;
static unsigned int nr_records, room_for_records;

void fl_host_record(const struct fl_record *record)
{
	if (nr_records == room_for_records) {
		room_for_records = room_for_records ? 2 * room_for_records : 256;
		records = realloc(records, room_for_records * sizeof(*records));
		if (!records)
			fl_host_stop(FL_STOP_SHIM, "there is no memory left");
	}
	records[nr_records++] = *record;
}

const struct fl_record *fl_records(unsigned int *nr)
{
	*nr = nr_records;
	nr_records = 0;
	return records;
}

/* ---- counting: functions of the kernel's side that are counted as an operation ---- */

#define PLACES (2 * MOST_WATCHED)	/* so many slots that a lookup ends soon */
#define MOST_ENTRIES 128
#define MOST_OPERATIONS 64

struct watched {
	const void *function;
	struct entry *first;		/* of its entries; NULL: none */
	int number;			/* among watched functions, from 1 */
	int is_hidden;			/* only its calls are of interest: it is not the caller of others */
	int mark;			/* path of a call that yields in it; 0: none */
};

struct entry {
	struct entry *next;
	unsigned long long bit;		/* of the operation */
	int within;			/* counts only while the function of this number runs, or ALWAYS */
	int is_direct;			/* counts only while that is the innermost watched function */
	int operation, times;
};

static struct nesting of_process = { .running[ALWAYS] = 1 }, *nesting = &of_process;
unsigned long long fl_host_measured;

struct nesting *fl_nest(struct nesting *to)
{
	struct nesting *before = nesting;

	before->measured = fl_host_measured;
	nesting = to;
	fl_host_measured = to->measured;
	return before;
}

static struct watched watched[PLACES];
static struct entry entries[MOST_ENTRIES];
static int nr_entries_watched, nr_watched;	/* their numbers begin after ALWAYS */
static long long counts[MOST_OPERATIONS];

static struct watched *place_of(const void *function)
{
	unsigned long place = ((unsigned long)function * 0x9e3779b97f4a7c15UL) >> 56;

	while (watched[place % PLACES].function && watched[place % PLACES].function != function)
		place++;
	return &watched[place % PLACES];
}

/* Returns the beginning of the object, from which offsets are counted. */
static const char *beginning(void)
{
	static const char *found;
	Dl_info here;

	if (!found) {
		if (!dladdr((void *)beginning, &here))
			fl_host_stop(FL_STOP_SHIM, "the object does not know where it is");
		found = here.dli_fbase;
	}
	return found;
}

static struct watched *watch(unsigned long offset, int is_hidden)
{
	const char *function = beginning() + offset;
	struct watched *watched = place_of(function);

	if (!watched->function) {
		if (nr_watched + 1 == MOST_WATCHED)
			fl_host_stop(FL_STOP_SHIM, "too many functions are to be counted");
		watched->function = function;
		watched->number = ++nr_watched;
		watched->is_hidden = 1;
	}
	watched->is_hidden &= is_hidden;
	return watched;
}

/*
 * Counts an operation `times` times for each call of a function; with `within`, only while that function
 * runs, or is the innermost one (offset 0: always). A hidden entry does not change what others count.
 */
void fl_count(unsigned long function, int operation, int times, unsigned long within, int is_direct, int is_hidden)
{
	struct watched *watched = watch(function, is_hidden);
	struct entry *entry = &entries[nr_entries_watched++];

	if (nr_entries_watched > MOST_ENTRIES || operation >= MOST_OPERATIONS)
		fl_host_stop(FL_STOP_SHIM, "too much is to be counted");
	entry->within = within ? watch(within, is_hidden)->number : ALWAYS;
	entry->is_direct = is_direct;
	entry->operation = operation;
	entry->bit = 1ULL << operation;
	entry->times = times;
	entry->next = watched->first;
	watched->first = entry;
}

static unsigned long long counted;	/* operations whose count is not 0, a bit each */

long long *fl_counts(unsigned long long *which)
{
	*which = counted;
	counted = 0;
	return counts;
}

static int runs(const struct watched *function) { return nesting->running[function->number] > 0; }

/* Whether a function is the innermost one below the function that was entered last. */
static int is_innermost_caller(int number)
{
	unsigned int i;

	for (i = nesting->nr - 1; i-- > 0;)
		if (!nesting->stack[i]->is_hidden)
			return nesting->stack[i]->number == number;
	return 0;
}

/* ---- paths of calls that yield ---- */

unsigned int fl_host_looks;
static unsigned long long look_operations;
static unsigned long long special_operations;	/* those of searches, and the measured one */

void fl_mark(unsigned long function, int mark) { watch(function, 0)->mark = mark; }

void fl_count_as_look(int operation)
{
	look_operations |= 1ULL << operation;
	special_operations |= 1ULL << operation;
}

/* Returns the mark of the innermost function that has one. */
int fl_host_mark(void)
{
	unsigned int i;

	for (i = nesting->nr; i-- > 0;)
		if (nesting->stack[i]->mark)
			return nesting->stack[i]->mark;
	return 0;
}

/* Time passes after a number of scanned CPUs of a search. */
static void look(int times)
{
	if (nesting->nr_looks + times > fl_host_looks) {
		nesting->nr_looks = 0;
		fl_look();
	}
	nesting->nr_looks += times;
}

/*
 * While the measured function runs, clocks are ahead by this much for each operation of a kind: it measures
 * their cost.
 */
static const struct watched *measured;
static int measured_operation = -1;
static unsigned int measured_ns;

void fl_measure(unsigned long function, int operation, unsigned int ns)
{
	measured = watch(function, 0);
	measured_operation = operation;
	measured_ns = ns;
	special_operations |= 1ULL << operation;
}

/* Adds the cost of a measured operation to clocks. Returns the number of scanned CPUs. */
static int count_special(const struct entry *entry)
{
	if (entry->operation == measured_operation && runs(measured))
		fl_host_measured += (long long)entry->times * measured_ns;
	return look_operations & entry->bit ? entry->times : 0;
}

/* Counts the operations of the function that was entered last. */
static void __attribute__((noinline)) count_entries(const struct entry *entry)
{
	int nr_scans = 0;

	for (; entry; entry = entry->next) {
		if (!nesting->running[entry->within] || (entry->is_direct && !is_innermost_caller(entry->within)))
			continue;
		counts[entry->operation] += entry->times;
		counted |= entry->bit;
		if (special_operations & entry->bit)
			nr_scans += count_special(entry);
	}
	if (nr_scans > 0 && fl_host_looks)
		look(nr_scans);
}

/* ---- tracing of the functions that are entered ---- */

static struct fl_called *called;
static unsigned int nr_called, room_for_called;
static int is_traced;

static void note_call(struct fl_called one)
{
	if (nr_called == room_for_called) {
		room_for_called = room_for_called ? 2 * room_for_called : 1024;
		called = realloc(called, room_for_called * sizeof(*called));
		if (!called)
			fl_host_stop(FL_STOP_SHIM, "there is no memory left");
	}
	called[nr_called++] = one;
}

void fl_trace(int on)
{
#ifndef FL_TRACED
	fl_host_stop(FL_STOP_SHIM, "only the object for traces reports all functions");
#endif
	is_traced = on;
}

/* Only the object for traces has hooks in all functions, and keeps the stack of those that are entered. */
static inline void note_entry(const void *function)
{
	(void)function;
#ifdef FL_TRACED
	if (is_traced)
		note_call((struct fl_called){ .function = (const char *)function - beginning(), .depth = nesting->depth });
	if (nesting->depth < MOST_NESTED)
		nesting->functions[nesting->depth] = function;
	nesting->depth++;
#endif
}

static inline void note_exit(void)
{
#ifdef FL_TRACED
	nesting->depth--;
#endif
}

/* A yielded call resumes: the functions that it is in stand before those that it enters. */
void fl_trace_again(void)
{
	int i;

	for (i = 0; is_traced && i < nesting->depth && i < MOST_NESTED; i++)
		note_call((struct fl_called){ .function = (const char *)nesting->functions[i] - beginning(), .depth = i });
}

const struct fl_called *fl_called(unsigned int *nr)
{
	*nr = nr_called;
	nr_called = 0;
	return called;
}

/* The compiler inserts calls of these functions. */
void __cyg_profile_func_enter(void *function, void *site)
{
	const struct watched *watched = place_of(function);

	(void)site;
	note_entry(function);
	if (!watched->function)
		return;
	if (nesting->nr == MOST_NESTED)
		fl_host_stop(FL_STOP_SHIM, "functions that are counted call each other too deeply");
	nesting->stack[nesting->nr++] = watched;
	nesting->running[watched->number]++;
	if (watched->first)
		count_entries(watched->first);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	const struct watched *watched;

	(void)site;
	note_exit();
	/* The innermost watched function returns before those that called it. */
	if (!nesting->nr || nesting->stack[nesting->nr - 1]->function != function)
		return;
	watched = nesting->stack[--nesting->nr];
	nesting->running[watched->number]--;
	if (watched == measured && !runs(watched))
		fl_host_measured = 0;
}

/* ---- reports: lines of a keyword and its value ---- */

static void say(const char *format, ...)
{
	char line[1024];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (length > (int)sizeof(line) - 1)
		length = sizeof(line) - 1;
	if (write(report_fd, line, length) < 0)
		_exit(REPORTED);
}

/* The level of a message is two characters in front of it. */
void fl_host_log(const char *format, va_list args)
{
	char text[900];
	char *line, *rest;

	if (format[0] == 1 && format[1])
		format += 2;
	vsnprintf(text, sizeof(text), format, args);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		say("log %llu %d %s\n", now, entry_cpu, line);
}

/* Addresses are offsets from the object's beginning, for which its debug information has names. */
static void say_frames(const char *kind)
{
	void *frames[MOST_FRAMES];
	int nr = backtrace(frames, MOST_FRAMES), i;
	Dl_info here, frame;

	if (!dladdr((void *)say_frames, &here))
		return;
	for (i = 0; i < nr; i++)
		if (dladdr(frames[i], &frame) && frame.dli_fbase == here.dli_fbase)
			say("%s %lx\n", kind, (unsigned long)((char *)frames[i] - (char *)here.dli_fbase));
}

static void say_stack(void) { say_frames("frame"); }

/* Reports the callers of a warning that was logged. Many warnings have few different traces. */
void fl_host_trace(void)
{
	static int nr_traces;

	if (nr_traces++ < MOST_TRACES)
		say_frames("trace");
}

/*
 * Reports where something was taken: `taken`, with callers; or `section`, once for each section that may be
 * the cause.
 */
void fl_host_taken(const char *what, const void *const *places, int nr)
{
	Dl_info here, frame;
	int i;

	if (!dladdr((void *)say_frames, &here))
		return;
	for (i = 0; i < nr && places[i]; i++)
		if (dladdr(places[i], &frame) && frame.dli_fbase == here.dli_fbase)
			say("%s %lx\n", what, (unsigned long)((const char *)places[i] - (const char *)here.dli_fbase));
}

/*
 * Reports a CPU that has a lock and waits for another one. The position where it took the first, and its
 * stack, follow.
 */
void fl_host_waits(int cpu, int has, int wants) { say("waits %d %d %d\n", cpu, has, wants); }

void fl_host_stack(void) { say_stack(); }

static void __attribute__((noreturn)) stop(const char *why, const char *text)
{
	say("stop %s %s\n", why, text);
	say("during %llu %d %s\n", now, entry_cpu, entry);
	say_stack();
	_exit(REPORTED);
}

void fl_host_stop(int why, const char *text)
{
	static const char *const names[] = { "panic", "lock", "forbidden", "shim", "books", "context", "endless", "deadlock" };

	stop(names[why], text);
}

/* ---- the guard ---- */

static unsigned int loop_seconds;

static void on_crash(int signal, siginfo_t *info, void *context)
{
	char text[80];

	(void)context;
	snprintf(text, sizeof(text), "%s at address %p", strsignal(signal), info->si_addr);
	stop("crash", text);
}

/*
 * Runs once per second of CPU time: a call that is still the same after `loop_seconds` of them counts as
 * endless.
 */
static void on_watch(int signal)
{
	static unsigned long seen;
	static unsigned int how_often;
	char text[80];

	(void)signal;
	how_often = seen == nr_entries ? how_often + 1 : 0;
	seen = nr_entries;
	if (how_often < loop_seconds)
		return;
	snprintf(text, sizeof(text), "one call has taken %u s of CPU time", how_often);
	stop("loop", text);
}

void fl_guard(int report, unsigned int seconds)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT };
	struct sigaction crash = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct sigaction watch = { .sa_handler = on_watch, .sa_flags = SA_RESTART | SA_ONSTACK };
	struct itimerval each_second = { { 1, 0 }, { 1, 0 } };
	static char stack[1 << 16];
	stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	void *first;
	unsigned int i;

	report_fd = report;
	loop_seconds = seconds;
	backtrace(&first, 1);	/* loads its library now, which a handler must not do */
	sigaltstack(&own, NULL);
	for (i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		sigaction(crashes[i], &crash, NULL);
	if (seconds) {
		sigaction(SIGPROF, &watch, NULL);
		setitimer(ITIMER_PROF, &each_second, NULL);
	}
}

void fl_entering(const char *what, int cpu, unsigned long long at)
{
	entry = what;
	entry_cpu = cpu;
	now = at;
	nr_entries++;
	nesting->depth = 0;
	if (is_traced)
		note_call((struct fl_called){ .cpu = cpu, .at = at, .what = what });
}

/* Called for a function that a kernel has and an engine has not. */
void __attribute__((noreturn)) fl_forbidden(const char *symbol)
{
	stop("forbidden", symbol);
}
