// SPDX-License-Identifier: GPL-2.0-or-later
//! Push and pull of deadline tasks: a task moves to a CPU where its deadline is the earliest.
//!
//! Models `push_dl_task()`, `pull_dl_task()`, `balance_dl()` and `task_woken_dl()` (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::deadline::entity::time_before;
use crate::state::task::SchedClass;
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// Pushes tasks if a woken task does not preempt on its CPU and may use others.
    pub(crate) fn task_woken_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let (p, rq) = (&self.tasks[task], &self.rqs[cpu]);
        let curr = &self.tasks[rq.curr];
        if !p.on_cpu
            && !rq.need_resched
            && p.nr_cpus_allowed > 1
            && curr.class == SchedClass::Deadline
            && (curr.nr_cpus_allowed < 2 || !p.dl.preempts(&curr.dl))
        {
            self.push_dl_tasks(ctx, cpu);
        }
    }

    /// Pulls tasks if the previous task has left the queue (`balance_dl()`). Returns whether the CPU has work
    /// of this class or a higher one.
    pub(crate) fn balance_dl(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, prev: TaskId) -> bool {
        let p = &self.tasks[prev];
        if p.class == SchedClass::Deadline && !p.dl.is_queued && self.rqs[cpu].online {
            self.pull_dl_task(ctx, cpu);
        }
        let rq = &self.rqs[cpu];
        rq.dl.nr_running() > 0 || self.tasks[rq.stop].is_queued()
    }

    /// Pushes tasks until none can be pushed.
    pub(crate) fn push_dl_tasks(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        while self.push_dl_task(ctx, cpu) {}
    }

    /// Moves the first waiting task to a CPU where it has the earliest deadline. Returns whether it was
    /// moved.
    ///
    /// If its deadline is before that of the running task, and the running task may use other CPUs, this CPU
    /// reschedules instead.
    pub(crate) fn push_dl_task(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        let Some((_, task)) = rq.dl.pushable().first().filter(|_| rq.dl.overloaded()) else { return false };
        let (p, curr) = (&self.tasks[task], &self.tasks[rq.curr]);
        let is_earlier = time_before(p.dl.deadline, curr.dl.deadline);
        if curr.class == SchedClass::Deadline && is_earlier && curr.nr_cpus_allowed > 1 {
            self.resched_curr(ctx, cpu);
            return false;
        }
        let Some(target) = self.find_later_rq(ctx, task) else { return false };
        if target == cpu || !self.rqs[target].dl.would_be_earliest(&self.tasks[task].dl) {
            return false;
        }
        self.move_pushed_task(ctx, task, target);
        self.resched_curr(ctx, target);
        true
    }

    /// Pulls tasks from all CPUs with too many deadline tasks, if their deadlines are earlier than those of
    /// the tasks on `this_cpu`.
    pub(crate) fn pull_dl_task(&mut self, ctx: &mut Ctx<'_>, this_cpu: CpuId) {
        let mut earliest_pulled = i64::MAX as u64;
        let mut has_pulled = false;
        let mut next = self.dl_root.overloaded_cpus.first();
        while let Some(source) = next {
            if source != this_cpu && self.rqs[source].dl.may_have_earlier(&self.rqs[this_cpu].dl) {
                let _theirs = self.rq_lock_charged(ctx, source);
                if let Some(task) = self.find_pullable_dl_task(source, this_cpu, earliest_pulled) {
                    earliest_pulled = self.tasks[task].dl.deadline;
                    self.move_pushed_task(ctx, task, this_cpu);
                    has_pulled = true;
                }
            }
            next = self.dl_root.overloaded_cpus.next_from(CpuId(source.0 + 1));
        }
        if has_pulled {
            self.resched_curr(ctx, this_cpu);
        }
    }

    /// Returns the first waiting task of `source` that may use `this_cpu`. Its deadline must be before those
    /// of all tasks on `this_cpu` and of the tasks pulled so far, and the task must not be about to preempt
    /// on its own CPU.
    fn find_pullable_dl_task(&self, source: CpuId, this_cpu: CpuId, earliest_pulled: u64) -> Option<TaskId> {
        let rq = &self.rqs[source];
        if rq.dl.nr_running() <= 1 {
            return None;
        }
        let may_come = |&task: &TaskId| {
            let p = &self.tasks[task];
            !p.on_cpu && p.cpus_allowed.contains(this_cpu)
        };
        let task = rq.dl.pushable().iter().find(may_come)?;
        let (p, curr) = (&self.tasks[task], &self.tasks[rq.curr]);
        // An idle task has no deadline: what is stored there is that of the fair server.
        let curr_deadline = if curr.class == SchedClass::Idle { 0 } else { curr.dl.deadline };
        let is_wanted = time_before(p.dl.deadline, earliest_pulled)
            && self.rqs[this_cpu].dl.would_be_earliest(&p.dl)
            && !time_before(p.dl.deadline, curr_deadline);
        is_wanted.then_some(task)
    }
}
