// SPDX-License-Identifier: GPL-2.0-or-later
//! Utilisation clamps: bounds within which the utilisation of tasks counts, whatever they use.
//!
//! Models `uclamp_eff_get()`, `uclamp_eff_value()`, `uclamp_tg_restrict()`, `uclamp_rq_inc()`,
//! `uclamp_rq_dec()`, `uclamp_rq_max_value()`, `uclamp_idle_value()`, `uclamp_rq_util_with()`,
//! `uclamp_rq_is_capped()` and the static key `sched_uclamp_used` (6.1). A runqueue's clamps are the highest
//! of its runnable tasks' clamps ([`crate::state::uclamp`]). Clamps have no effect before the first one is
//! set. Leaves out the limits for the whole machine (`sched_util_clamp_min` and `_max`, which are 1024).

use crate::state::State;
use crate::state::group::TaskGroup;
use crate::state::rq::Rq;
use crate::state::task::{SchedClass, Task, Uclamp};
use crate::state::uclamp::{RT_DEFAULT_MIN, RqUclamp};
use crate::types::arena::Arena;
use crate::types::ids::{GroupId, TaskId};
use crate::types::kernel_rules::KernelRules;
use crate::types::units::SCHED_CAPACITY_SCALE;

impl Task {
    /// Resets the requested clamps of a task whose policy has changed, unless the task has its own
    /// (`__setscheduler_uclamp()`).
    pub(crate) fn reset_uclamp(&mut self, rules: &KernelRules) {
        if !self.has_uclamp {
            // Deadline tasks may not count as real-time tasks.
            let is_deadline = self.class == SchedClass::Deadline;
            let counts = self.class >= SchedClass::RealTime && !(rules.rt_task_excludes_dl && is_deadline);
            let min = if counts { RT_DEFAULT_MIN } else { 0 };
            self.uclamp = Uclamp { min, ..Uclamp::default() };
        }
    }

    /// Requested clamps within the limits of the task's group; the root group has no limits.
    fn uclamp_within_group(&self, groups: &Arena<GroupId, TaskGroup>) -> Uclamp {
        let Some(limits) = groups[self.group].uclamp else { return self.uclamp };
        let within = |clamp: u32| clamp.max(limits.min).min(limits.max);
        Uclamp { min: within(self.uclamp.min), max: within(self.uclamp.max) }
    }
}

impl State {
    /// Effective clamps of a task.
    ///
    /// A runnable task has those with which it was enqueued. Any other task has the requested ones within the
    /// limits of its group.
    pub fn uclamp_eff(&self, task: TaskId) -> Uclamp {
        let p = &self.tasks[task];
        p.uclamp_active.unwrap_or_else(|| p.uclamp_within_group(&self.fair.groups))
    }
}

impl Rq {
    /// Removes a task that is dequeued from the runqueue's clamps.
    #[inline]
    pub(crate) fn uclamp_dec(&mut self, p: &mut Task) {
        if let Some(clamps) = p.uclamp_active.take() {
            self.uclamp.dec(clamps);
        }
    }

    /// Whether the upper clamp of the CPU is at or below its utilisation (`uclamp_rq_is_capped()`).
    pub(crate) fn is_capped(&self, util_cfs: u64) -> bool {
        let max = u64::from(self.uclamp.clamps().max);
        max != SCHED_CAPACITY_SCALE && util_cfs + self.avg_rt.util_avg >= max
    }

    /// Counts a task that is enqueued in the runqueue's clamps.
    #[inline]
    pub(crate) fn uclamp_inc(&mut self, p: &mut Task, groups: &Arena<GroupId, TaskGroup>, uclamp_used: bool) {
        if uclamp_used && has_clamps(p.class) {
            let clamps = p.uclamp_within_group(groups);
            p.uclamp_active = Some(clamps);
            self.uclamp.inc(clamps);
        }
    }
}

impl RqUclamp {
    /// Limits `util` to the clamps of the runqueue and to `added`, those of a task that would be added to it
    /// (`uclamp_rq_util_with()`).
    ///
    /// If no task counts on the runqueue, only the clamps of the added task apply.
    pub(crate) fn util_with(&self, util: u64, added: Option<Uclamp>) -> u64 {
        let clamps = match added {
            None => self.clamps(),
            Some(added) if self.is_idle() => added,
            Some(added) => added.max(self.clamps()),
        };
        clamps.apply(util)
    }
}

/// Whether clamps apply to the tasks of a class: `uclamp_enabled`.
const fn has_clamps(class: SchedClass) -> bool {
    matches!(class, SchedClass::Fair | SchedClass::RealTime)
}
