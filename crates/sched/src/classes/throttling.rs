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
use crate::state::rq::task_list::TaskList;
use crate::state::task::SchedClass;
use crate::types::ids::{CpuId, GroupId, TaskId};

impl State {
    /// Whether a runnable task waits for runtime of its group or class, however many CPUs idle.
    #[inline]
    pub fn waits_for_runtime(&self, task: TaskId) -> bool {
        let p = &self.tasks[task.index()];
        match p.class {
            SchedClass::Fair => p.group != GroupId::ROOT && self.waits_for_quota(task),
            SchedClass::RealTime => self.rqs[p.cpu.index()].rt.throttled,
            SchedClass::Deadline => p.dl.is_throttled,
            SchedClass::Stop | SchedClass::Idle => false,
        }
    }

    /// Reports whether a runnable task is throttled, if that has changed. Enqueueing does so once a task has been
    /// throttled in this run.
    pub(crate) fn report_throttling(&mut self, ctx: &mut Ctx<'_>, task: TaskId) {
        let is_throttled = self.waits_for_runtime(task);
        let p = &mut self.tasks[task.index()];
        if p.is_reported_throttled != is_throttled {
            p.is_reported_throttled = is_throttled;
            ctx.report(Event::Throttling { task, is_throttled });
        }
    }

    /// Reports changes of the fair tasks of a CPU, after a group was throttled or unthrottled there.
    pub(crate) fn report_fair_throttling(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        self.has_throttled = true;
        let mut next = self.rqs[cpu.index()].cfs_tasks.oldest();
        while let Some(task) = next {
            self.report_throttling(ctx, task);
            next = TaskList::newer(&self.tasks, task);
        }
    }

    /// Reports changes of the real-time tasks of a CPU, after they were throttled or unthrottled.
    pub(crate) fn report_rt_throttling(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if !self.rqs[cpu.index()].rt.throttled && !self.has_throttled {
            return;
        }
        self.has_throttled = true;
        for index in 0..self.tasks.len() {
            let p = &self.tasks[index];
            if p.cpu == cpu && p.class == SchedClass::RealTime && p.is_queued() {
                self.report_throttling(ctx, TaskId::from_index(index));
            }
        }
    }
}
