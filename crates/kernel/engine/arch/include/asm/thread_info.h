/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_THREAD_INFO_H
#define _ASM_FAIRLAB_THREAD_INFO_H

#define THREAD_SIZE_ORDER 2
#define THREAD_SHIFT (12 + THREAD_SIZE_ORDER)
#define THREAD_SIZE (1 << THREAD_SHIFT)

#ifndef __ASSEMBLY__
struct thread_info {
	unsigned long flags;
	unsigned long syscall_work;
	int preempt_count;
	u32 cpu;
	u32 id;			/* number of the task in fairlab */
	u32 cpuset;		/* number of its cpuset */
	int limit;		/* whose runtime it waits for, as reported last: see throttling.c */
	u32 lists;		/* of throttling.c that have the task */
};
#define INIT_THREAD_INFO(task) { .flags = 0 }
#endif

/* TIF_POLLING_NRFLAG is never set: an idle CPU has to be interrupted. */
enum fl_thread_flags {
	TIF_NOTIFY_RESUME, TIF_SIGPENDING, TIF_NEED_RESCHED, TIF_NOTIFY_SIGNAL, TIF_MEMDIE, TIF_RESTORE_SIGMASK, TIF_SYSCALL_TRACE,
	TIF_SYSCALL_AUDIT, TIF_UPROBE, TIF_POLLING_NRFLAG,
};
#define TIF_NEED_RESCHED TIF_NEED_RESCHED
#define TIF_NOTIFY_SIGNAL TIF_NOTIFY_SIGNAL
#define TIF_POLLING_NRFLAG TIF_POLLING_NRFLAG
#define _TIF_NOTIFY_RESUME (1 << TIF_NOTIFY_RESUME)
#define _TIF_SIGPENDING (1 << TIF_SIGPENDING)
#define _TIF_NEED_RESCHED (1 << TIF_NEED_RESCHED)
#define _TIF_NOTIFY_SIGNAL (1 << TIF_NOTIFY_SIGNAL)
#define _TIF_UPROBE (1 << TIF_UPROBE)
#define _TIF_POLLING_NRFLAG (1 << TIF_POLLING_NRFLAG)

#endif
