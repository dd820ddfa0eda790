// SPDX-License-Identifier: GPL-2.0-or-later
//! Utilisation clamps: bounds within which the utilisation of tasks counts, whatever they use.
//!
//! Models `uclamp_eff_get()`, `uclamp_eff_value()`, `uclamp_tg_restrict()`, `uclamp_rq_inc()`,
//! `uclamp_rq_dec()`, `uclamp_rq_max_value()`, `uclamp_idle_value()`, `uclamp_rq_util_with()`,
//! `uclamp_rq_is_capped()` and the static key `sched_uclamp_used` (6.1). A runqueue's clamps are the highest
//! of its runnable tasks' clamps ([`crate::state::uclamp`]). Clamps have no effect before the first one is
//! set. Leaves out the limits for the whole machine (`sched_util_clamp_min` and `_max`, which are 1024).

use crate::state::State;
use crate::state::task::{SchedClass, Uclamp};
use crate::state::uclamp::RT_DEFAULT_MIN;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::SCHED_CAPACITY_SCALE;
impl State {
    /// Resets the requested clamps of a task whose policy has changed, unless the task has its own
    /// (`__setscheduler_uclamp()`).
    pub(crate) fn reset_uclamp(&mut self, task: TaskId) {
        let p = &mut self.tasks[task];
        if !p.has_uclamp {
            // Deadline tasks may not count as real-time tasks.
            let counts =
                p.class >= SchedClass::RealTime && (!self.rules.rt_task_excludes_dl || p.class != SchedClass::Deadline);
            let min = if counts { RT_DEFAULT_MIN } else { 0 };
            p.uclamp = Uclamp { min, ..Uclamp::default() };
        }
    }

    /// Effective clamps of a task.
    ///
    /// A runnable task has those with which it was enqueued. Any other task has the requested ones within the
    /// limits of its group; the root group has no limits.
    pub fn uclamp_eff(&self, task: TaskId) -> Uclamp {
        let p = &self.tasks[task];
        if let Some(active) = p.uclamp_active {
            return active;
        }
        let Some(limits) = self.groups[p.group].uclamp else { return p.uclamp };
        let within = |clamp: u32| clamp.max(limits.min).min(limits.max);
        Uclamp { min: within(p.uclamp.min), max: within(p.uclamp.max) }
    }

    /// Counts a task that is enqueued in its runqueue's clamps.
    #[inline]
    pub(crate) fn uclamp_rq_inc(&mut self, cpu: CpuId, task: TaskId) {
        if self.uclamp_used && has_clamps(self.tasks[task].class) {
            self.tasks[task].uclamp_active = None;
            let clamps = self.uclamp_eff(task);
            self.tasks[task].uclamp_active = Some(clamps);
            self.rqs[cpu].uclamp.inc(clamps);
        }
    }

    /// Removes a task that is dequeued from its runqueue's clamps.
    #[inline]
    pub(crate) fn uclamp_rq_dec(&mut self, cpu: CpuId, task: TaskId) {
        if let Some(clamps) = self.tasks[task].uclamp_active.take() {
            self.rqs[cpu].uclamp.dec(clamps);
        }
    }

    /// Limits `util` to the clamps of a CPU's runqueue and of a task that would be added to it.
    ///
    /// If no task counts on the runqueue, only the clamps of the added task apply.
    pub(crate) fn uclamp_rq_util_with(&self, cpu: CpuId, util: u64, task: Option<TaskId>) -> u64 {
        if !self.uclamp_used {
            return util;
        }
        let rq = &self.rqs[cpu].uclamp;
        let clamps = match task {
            None => rq.clamps(),
            Some(task) if rq.is_idle() => self.uclamp_eff(task),
            Some(task) => self.uclamp_eff(task).max(rq.clamps()),
        };
        clamps.apply(util)
    }

    /// Whether the upper clamp of a CPU is at or below its utilisation.
    pub(crate) fn uclamp_rq_is_capped(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        let max = u64::from(rq.uclamp.clamps().max);
        self.uclamp_used && max != SCHED_CAPACITY_SCALE && self.cpu_util_cfs(cpu) + rq.avg_rt.util_avg >= max
    }
}

/// Whether clamps apply to the tasks of a class: `uclamp_enabled`.
const fn has_clamps(class: SchedClass) -> bool {
    matches!(class, SchedClass::Fair | SchedClass::RealTime)
}
