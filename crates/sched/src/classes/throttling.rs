// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports of throttled tasks: runnable tasks that wait for runtime of their group or class, not for a CPU.
//!
//! The kernel has no tracepoint for it. A task is throttled
//! - in the fair class while its group, or one above, is throttled on the task's CPU;
//! - in the real-time class while the real-time tasks of its CPU are throttled (`rt_throttled`);
//! - in the deadline class while it waits for its next replenishment (`dl_throttled`).
//!
//! Each change is an event. A task that is enqueued while it is throttled has the event before its wake-up.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rqs;
use crate::state::rq::task_list::TaskList;
use crate::state::task::{SchedClass, Task, Tasks};
use crate::types::ids::{CpuId, GroupId, TaskId};
use crate::types::runtime_limit::RuntimeLimit;

impl State {
    /// Reports changes of the fair tasks of a CPU, after a group was throttled or unthrottled there.
    pub(crate) fn report_fair_throttling(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        self.has_throttled = true;
        let mut next = self.rqs[cpu].cfs_tasks.oldest();
        while let Some(task) = next {
            self.fair.report_throttling(ctx, &self.rqs, &mut self.tasks, task);
            next = TaskList::newer(&self.tasks, task);
        }
    }

    /// Reports changes of the real-time tasks of a CPU, after they were throttled or unthrottled.
    pub(crate) fn report_rt_throttling(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if !self.rqs[cpu].rt.throttled() && !self.has_throttled {
            return;
        }
        self.has_throttled = true;
        for task in self.tasks.ids() {
            let p = &self.tasks[task];
            if p.cpu == cpu && p.class == SchedClass::RealTime && p.is_queued() {
                self.fair.report_throttling(ctx, &self.rqs, &mut self.tasks, task);
            }
        }
    }
}

impl FairTree {
    /// Returns the limit for whose runtime a runnable task waits, however many CPUs idle; `None` for a task that may run.
    #[inline]
    pub(crate) fn throttled_by(&self, rqs: &Rqs, p: &Task) -> Option<RuntimeLimit> {
        match p.class {
            SchedClass::Fair if p.group != GroupId::ROOT => {
                self.throttled_group(p.group, p.cpu).map(RuntimeLimit::Quota)
            }
            SchedClass::RealTime if rqs[p.cpu].rt.throttled() => Some(RuntimeLimit::RealTime),
            SchedClass::Deadline if p.dl.is_throttled => Some(RuntimeLimit::Deadline),
            SchedClass::Fair | SchedClass::RealTime | SchedClass::Deadline | SchedClass::Stop | SchedClass::Idle => {
                None
            }
        }
    }

    /// Reports the limit for whose runtime a runnable task waits, if it has changed. Enqueueing does so once a task has
    /// been throttled in this run.
    #[cold]
    #[inline(never)]
    pub(crate) fn report_throttling(&self, ctx: &mut Ctx<'_>, rqs: &Rqs, tasks: &mut Tasks, task: TaskId) {
        let p = &mut tasks[task];
        let limit = self.throttled_by(rqs, p);
        if p.reported_throttled_by != limit {
            p.reported_throttled_by = limit;
            ctx.report(Event::Throttling { task, limit });
        }
    }
}
