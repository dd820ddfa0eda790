// SPDX-License-Identifier: GPL-2.0-or-later
//! Utilisation clamps: bounds within which the utilisation of tasks shall count, whatever they use.
//!
//! Models `uclamp_eff_get()`, `uclamp_eff_value()`, `uclamp_tg_restrict()`, `uclamp_rq_inc()`, `uclamp_rq_dec()`,
//! `uclamp_rq_max_value()`, `uclamp_idle_value()`, `uclamp_rq_util_with()`, `uclamp_rq_is_capped()` and the static key
//! `sched_uclamp_used` (6.1). A runqueue's clamps are the highest of its runnable tasks' clamps ([`crate::state::uclamp`]). Clamps count only from the moment when somebody has set one. Leaves out the
//! limits for the whole machine (`sched_util_clamp_min` and `_max`, which are 1024).

use crate::state::State;
use crate::state::task::{SchedClass, Uclamp};
use crate::state::uclamp::RT_DEFAULT_MIN;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::SCHED_CAPACITY_SCALE;
impl State {
    /// A task has another policy now: what it asks for follows, unless somebody has set it (`__setscheduler_uclamp()`).
    pub(crate) fn reset_uclamp(&mut self, task: TaskId) {
        let p = &mut self.tasks[task.index()];
        if !p.has_uclamp {
            let min = if p.class >= SchedClass::RealTime { RT_DEFAULT_MIN } else { 0 };
            p.uclamp = Uclamp { min, ..Uclamp::default() };
        }
    }

    /// The clamps that count for a task: while it is runnable those with which it was enqueued, otherwise what it asks for
    /// within what its group allows (in the root group: anything).
    pub fn uclamp_eff(&self, task: TaskId) -> Uclamp {
        let p = &self.tasks[task.index()];
        if let Some(active) = p.uclamp_active {
            return active;
        }
        let Some(limits) = self.groups[p.group.index()].uclamp else { return p.uclamp };
        let within = |clamp: u32| clamp.max(limits.min).min(limits.max);
        Uclamp { min: within(p.uclamp.min), max: within(p.uclamp.max) }
    }

    /// A task is enqueued: it counts for its runqueue's clamps.
    #[inline]
    pub(crate) fn uclamp_rq_inc(&mut self, cpu: CpuId, task: TaskId) {
        if self.uclamp_used && has_clamps(self.tasks[task.index()].class) {
            self.tasks[task.index()].uclamp_active = None;
            let clamps = self.uclamp_eff(task);
            self.tasks[task.index()].uclamp_active = Some(clamps);
            self.rqs[cpu.index()].uclamp.inc(clamps);
        }
    }

    /// A task is dequeued: it does not count any more.
    #[inline]
    pub(crate) fn uclamp_rq_dec(&mut self, cpu: CpuId, task: TaskId) {
        if let Some(clamps) = self.tasks[task.index()].uclamp_active.take() {
            self.rqs[cpu.index()].uclamp.dec(clamps);
        }
    }

    /// `util` within the clamps of a CPU's runqueue, and of a task that would come to it.
    ///
    /// On a runqueue where no task counts, only those of the task do.
    pub(crate) fn uclamp_rq_util_with(&self, cpu: CpuId, util: u64, task: Option<TaskId>) -> u64 {
        if !self.uclamp_used {
            return util;
        }
        let rq = &self.rqs[cpu.index()].uclamp;
        let clamps = match task {
            None => rq.clamps(),
            Some(task) if rq.is_idle() => self.uclamp_eff(task),
            Some(task) => self.uclamp_eff(task).max(rq.clamps()),
        };
        clamps.apply(util)
    }

    /// Whether the upper clamp of a CPU keeps it below what it uses.
    pub(crate) fn uclamp_rq_is_capped(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu.index()];
        let max = u64::from(rq.uclamp.clamps().max);
        self.uclamp_used && max != SCHED_CAPACITY_SCALE && self.cpu_util_cfs(cpu) + rq.avg_rt.util_avg >= max
    }
}

/// Whether clamps mean anything for the tasks of a class: `uclamp_enabled`.
const fn has_clamps(class: SchedClass) -> bool {
    matches!(class, SchedClass::Fair | SchedClass::RealTime)
}
