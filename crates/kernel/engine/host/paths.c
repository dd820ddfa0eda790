// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks for calls that yield in the middle of kernel code. makecontext() creates a stack; setjmp() and
 * longjmp() switch to it and back. A stack whose call has ended waits for the next call.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "../arch/include/asm/fairlab.h"
#include "host.h"

#define STACK_BYTES (256UL << 10)	/* untouched pages cost nothing */
#define GUARD_BYTES (4UL << 10)		/* below the stack: an overflow crashes */

struct fl_path {
	void (*act)(void *);
	void *arg;
	jmp_buf inside, outside;
	int is_begun, is_over;
	ucontext_t first, caller;
	struct nesting nesting;
};

static struct fl_path *running;

/* Runs one call to its end, and again when the stack is reused. */
static void live(void)
{
	for (;;) {
		struct fl_path *mine = running;

		mine->act(mine->arg);
		mine->is_over = 1;
		fl_host_leave();
	}
}

struct fl_path *fl_host_path(void (*act)(void *), void *arg)
{
	struct fl_path *path = fl_host_zalloc(sizeof(*path));
	char *stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) || getcontext(&path->first))
		fl_host_stop(FL_STOP_SHIM, "there is no memory left");
	path->nesting.running[ALWAYS] = 1;
	path->act = act;
	path->arg = arg;
	path->first.uc_stack.ss_sp = stack + GUARD_BYTES;
	path->first.uc_stack.ss_size = STACK_BYTES;
	makecontext(&path->first, live, 0);
	return path;
}

/* Resumes or begins a call until it yields. Returns whether it has ended. */
int fl_host_run(struct fl_path *path)
{
	struct nesting *outer = fl_nest(&path->nesting);

	fl_trace_again();
	running = path;
	path->is_over = 0;
	if (!_setjmp(path->outside)) {
		if (path->is_begun)
			_longjmp(path->inside, 1);
		path->is_begun = 1;
		swapcontext(&path->caller, &path->first);
	}
	running = NULL;
	fl_nest(outer);
	return path->is_over;
}

void fl_host_leave(void)
{
	struct fl_path *mine = running;

	if (!_setjmp(mine->inside))
		_longjmp(mine->outside, 1);
}
