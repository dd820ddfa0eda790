// SPDX-License-Identifier: GPL-2.0-or-later
//! Clock of load tracking.
//!
//! Models `update_rq_clock_pelt()`, `update_idle_rq_clock_pelt()`, `rq_clock_pelt()` and the throttled clock
//! of a group (6.1). Rules:
//! 1. While a task runs, the clock advances by the task clock's time, scaled by frequency and by capacity. On
//!    a CPU of half speed the averages of an always-running task take twice as long to rise.
//! 2. When the CPU goes idle, the clock is set to the task clock: the idle time makes up for the difference.
//! 3. If the CPU's utilisation was at its maximum then, no idle time made up for it. The difference is lost
//!    for good, and all readers subtract it.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::types::ids::{GroupId, TaskId};
use crate::types::pelt::decay::{LOAD_AVG_MAX, MIN_DIVIDER};
use crate::types::pelt::{Contribution, ContributionScale};
use crate::types::tunables::PeltScaling;
use crate::types::units::{Nanos, SCHED_CAPACITY_SHIFT, cap_scale};
use crate::types::work::KernelOp;

/// Lowest utilisation sum with which a CPU counts as having had no idle time.
const FULL_UTIL_SUM: u32 = (MIN_DIVIDER << SCHED_CAPACITY_SHIFT) - LOAD_AVG_MAX;

impl Rq {
    /// Time to which averages of the CPU are advanced, in ns.
    #[inline]
    pub(crate) const fn rq_clock_pelt(&self) -> u64 {
        self.clock_pelt.wrapping_sub(self.lost_idle_time)
    }

    /// Advances the clock by `delta_ns` of the task clock: `update_rq_clock_pelt()`.
    #[inline]
    pub(crate) fn advance_clock_pelt(&mut self, ctx: &mut Ctx<'_>, scaling: PeltScaling, delta_ns: u64) {
        if self.is_idle_task_running() {
            sync_idle_clock(self);
        } else if delta_ns == 0 {
            // No time has passed.
        } else if scaling == PeltScaling::Time {
            ctx.charge(KernelOp::PeltScale);
            self.clock_pelt += cap_scale(cap_scale(delta_ns, self.cpu_capacity_orig), self.freq_capacity);
        } else {
            self.clock_pelt += delta_ns;
        }
    }

    /// Sets the clock to the task clock because the CPU goes idle, and records lost time if no idle time made
    /// up for it.
    pub(crate) fn update_idle_rq_clock_pelt(&mut self, root: &CfsRq) {
        let fair = root.avg.util_sum;
        let util_sum = fair.wrapping_add(self.avg_rt.util_sum).wrapping_add(self.avg_dl.util_sum);
        if util_sum >= FULL_UTIL_SUM {
            self.lost_idle_time = self.lost_idle_time.wrapping_add(self.clock_task.wrapping_sub(self.clock_pelt));
        }
        sync_idle_clock(self);
    }
}

impl FairTree {
    /// Throttles a new group where its parent is throttled: `sync_throttle()`.
    pub(crate) fn sync_throttle(&mut self, rq: &Rq, group: GroupId) {
        let id = self.cfs_rq_of_group(group, rq.cpu);
        let Some(parent) = self.parent_cfs_rq(id) else { return };
        let throttle_count = self.cfs_rqs[parent].throttle_count;
        let clock_pelt = rq.rq_clock_pelt();
        let cfs_rq = &mut self.cfs_rqs[id];
        cfs_rq.throttle_count = throttle_count;
        cfs_rq.throttled_clock_pelt = clock_pelt;
    }
}

#[inline]
fn sync_idle_clock(rq: &mut Rq) {
    rq.clock_pelt = rq.clock_task;
    rq.clock_idle = rq.clock;
    rq.clock_pelt_idle = rq.clock_pelt.wrapping_sub(rq.lost_idle_time);
}

impl State {
    /// Returns the `util_avg` that a task would have if it were updated at a time, also within a period.
    /// Changes nothing.
    pub fn util_avg_at(&self, task: TaskId, now: Nanos) -> u64 {
        let se = self.entity(task);
        let cfs_rq = &self.fair.cfs_rqs[se.cfs_rq];
        let rq = &self.rqs[cfs_rq.cpu];
        let passed = now.0.saturating_sub(rq.clock);
        let (scale, passed) = match self.tunables.pelt_scaling {
            PeltScaling::Time if !rq.is_idle_task_running() => {
                (None, cap_scale(cap_scale(passed, rq.cpu_capacity_orig), rq.freq_capacity))
            }
            PeltScaling::Time => (None, passed),
            PeltScaling::Contribution => {
                (Some(ContributionScale { frequency: rq.freq_capacity, capacity: rq.cpu_capacity_orig }), passed)
            }
        };
        let mut avg = se.avg;
        let running = cfs_rq.curr == Some(self.tasks[task].se);
        let what = Contribution { load: u64::from(se.on_rq), runnable: u64::from(se.on_rq), running };
        avg.update_sum(cfs_rq.clock_pelt(rq) + passed, what, scale);
        u64::from(avg.util_sum / avg.divider())
    }
}

impl CfsRq {
    /// Records for how long the clock of a cfs_rq that becomes empty has stood still:
    /// `update_idle_cfs_rq_clock_pelt()`.
    pub(crate) fn update_idle_cfs_rq_clock_pelt(&mut self) {
        self.throttled_pelt_idle = if self.throttle_count > 0 { u64::MAX } else { self.throttled_clock_pelt_time };
    }

    /// Time to which averages of the cfs_rq, which is on `rq`, are advanced, in ns. It stands still while the cfs_rq is
    /// throttled.
    #[inline]
    pub(crate) const fn clock_pelt(&self, rq: &Rq) -> u64 {
        let now = if self.throttle_count > 0 { self.throttled_clock_pelt } else { rq.rq_clock_pelt() };
        now.wrapping_sub(self.throttled_clock_pelt_time)
    }
}
