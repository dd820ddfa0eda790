// SPDX-License-Identifier: GPL-2.0-or-later
//! Priority inheritance: a task runs with the priority of the most important task that waits for it.
//!
//! Models `rt_mutex_setprio()` and, from `locking/rtmutex.c`, the order of waiters (6.1). The machine models
//! the mutexes: it calls [`Sched::inherit_priority`] each time the most important waiter of a task changes,
//! also along chains of owners.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::paths::change::ReenqueueFlags;
use crate::paths::sched::Sched;
use crate::state::prio::{MAX_RT_PRIO, class_of};
use crate::state::snapshot::WaiterKey;
use crate::types::ids::TaskId;

impl Sched {
    /// Returns the position that a task has among the waiters of a mutex if it is queued now.
    pub fn waiter_key(&self, task: TaskId) -> WaiterKey {
        let p = &self.tasks[task];
        let prio = p.prio().min(MAX_RT_PRIO);
        WaiterKey { prio, deadline: if prio < 0 { p.dl.deadline } else { 0 } }
    }

    /// Sets the most important task that waits for `task`, or `None` if no task waits any more.
    ///
    /// Rules, in order:
    /// 1. The task gets the higher one of its own priority and the waiter's. If that is no change, and it is
    ///    not a deadline priority, only the clock of its runqueue is updated, if the waiter is another one.
    /// 2. The task is dequeued and enqueued with the new priority, as for a change of policy. Its class may
    ///    change, and the classes handle that.
    /// 3. A task that joins the deadline class, or has a later deadline than the waiter, gets the waiter's
    ///    parameters and a new budget of this size.
    /// 4. A task whose priority is lowered goes ahead of the others of its real-time priority.
    pub fn inherit_priority(&mut self, ctx: &mut Ctx<'_>, task: TaskId, waiter: Option<TaskId>) {
        let inherited = self.inherited_prio(waiter);
        let p = &self.tasks[task];
        let (cpu, old_class, old_prio, normal_prio) = (p.cpu, p.class, p.prio(), p.normal_prio());
        let prio = normal_prio.min(inherited);
        let is_changed = prio != old_prio || prio < 0;
        if !is_changed && p.pi_top_task == waiter {
            self.tasks[task].pi_prio = inherited;
            return;
        }
        let rq = self.rq_lock_clocked(ctx, cpu);
        self.tasks[task].pi_top_task = waiter;
        if !is_changed {
            self.tasks[task].pi_prio = inherited;
            self.balance_callbacks(ctx, cpu);
            return;
        }
        let is_real_time = (0..MAX_RT_PRIO).contains(&prio);
        let mut how =
            ReenqueueFlags { moved: prio != old_prio, head: is_real_time && old_prio < prio, replenish: false };
        ctx.report(Event::Priority { task, prio, is_inherited: true, on: ctx.cpu });
        self.end_delay_for_class(ctx, &rq, task, class_of(prio));
        let taken = self.sched_change_begin(ctx, &rq, task, how.moved);
        let donated = waiter.filter(|_| prio < 0).map(|waiter| self.tasks[waiter].dl);
        let p = &mut self.tasks[task];
        p.dl.inherited = match donated {
            Some(donor) if normal_prio >= 0 || (inherited < 0 && donor.preempts(&p.dl)) => {
                how.replenish = true;
                Some(donor.effective())
            }
            _ => None,
        };
        (p.pi_prio, p.class) = (inherited, class_of(prio));
        self.sched_change_end(ctx, &rq, task, taken, how);
        self.check_class_changed(ctx, &rq, task, old_class, old_prio);
        self.balance_callbacks(ctx, cpu);
    }
}
