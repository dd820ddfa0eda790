// SPDX-License-Identifier: GPL-2.0-or-later
//! Load tracking (PELT): geometric averages of load, runnable time and running time.
//!
//! Models `kernel/sched/pelt.c` of 6.1. An average is a sum over a geometric series ([`decay`]) divided by
//! the sum of a constant contribution. This module has the averages, and [`util_est`] the estimated
//! utilisation of tasks. [`crate::track::pelt`] stores and updates the averages.

pub mod decay;
#[cfg(test)]
mod golden_sum_tests;
pub mod util_est;

use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT, cap_scale};
use decay::{MIN_DIVIDER, accumulate_segments, decay_load};
use util_est::UtilEst;

/// Averages of an entity or a runqueue (`struct sched_avg`).
///
/// The sums are in units of 1024 ns, weighted by the series; `runnable_sum` and `util_sum` also by 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedAvg {
    /// Time of the last update on the PELT clock, in ns, rounded down to a multiple of 1024 ns.
    pub last_update_time: u64,
    /// Sum of load; that of an entity excludes its weight.
    pub load_sum: u64,
    /// Sum of the number of runnable tasks.
    pub runnable_sum: u64,
    /// Sum of running time.
    pub util_sum: u32,
    /// Part of the current period that the sums include, in units of 1024 ns (0 to 1023).
    pub period_contrib: u32,
    /// Average load: weight times the runnable fraction of time.
    pub load_avg: u64,
    /// Average number of runnable tasks, times 1024.
    pub runnable_avg: u64,
    /// Average running fraction of time (always running: 1024).
    pub util_avg: u64,
    /// Utilisation before the last sleep.
    pub util_est: UtilEst,
}

/// Rates at which the sums grow while time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contribution {
    /// Load: 1 for a runnable entity, the weight of a cfs_rq. With 0, the other rates count as 0 too.
    pub load: u64,
    /// Number of runnable tasks.
    pub runnable: u64,
    /// Whether the entity runs.
    pub running: bool,
}

impl Contribution {
    /// No contribution: the averages only decay.
    pub const NONE: Self = Self { load: 0, runnable: 0, running: false };
}

/// Scale of each contribution before 5.1 ([`crate::types::tunables::PeltScaling::Contribution`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContributionScale {
    /// Frequency of the CPU as a fraction of the highest one (1024).
    pub frequency: Capacity,
    /// Capacity of the CPU, which scales only running time.
    pub capacity: Capacity,
}

impl SchedAvg {
    /// Returns the divider of the sums (`get_pelt_divider()`).
    #[inline]
    pub fn divider(&self) -> u32 {
        MIN_DIVIDER + self.period_contrib
    }

    /// Whether less than 1024 ns have passed since the last update, so that no update is due.
    #[inline]
    pub(crate) fn is_current(&self, now: u64) -> bool {
        now.wrapping_sub(self.last_update_time) < 1024
    }

    /// Advances the sums to `now`. Returns whether a period ended, and so whether the averages must be
    /// recomputed.
    ///
    /// Models `___update_load_sum()` (6.1). Rules:
    /// 1. If time goes backwards, only the time of the last update is set.
    /// 2. Less than 1024 ns is left for a later update.
    /// 3. Without load there is neither runnable nor running time.
    #[inline(always)]
    pub fn update_sum(&mut self, now: u64, mut what: Contribution, scale: Option<ContributionScale>) -> bool {
        let delta = now.wrapping_sub(self.last_update_time);
        if (delta as i64) < 0 {
            self.last_update_time = now;
            return false;
        }
        let units = delta >> 10;
        if units == 0 {
            return false;
        }
        self.last_update_time = self.last_update_time.wrapping_add(units << 10);
        if what.load == 0 {
            what = Contribution::NONE;
        }
        let Contribution { load, runnable, running } = what;
        match scale {
            None => self.accumulate(units, load, runnable, running),
            Some(scale) => self.accumulate_scaled(units, what, scale),
        }
    }

    /// Decays the sums by the periods that end within the next `units` of 1024 ns, and adds the contribution.
    ///
    /// Models `accumulate_sum()` (6.1), which truncates the number of periods to 32 bits: a jump by a
    /// multiple of 2^32 periods decays everything but reports no period.
    fn accumulate(&mut self, units: u64, load: u64, runnable: u64, running: bool) -> bool {
        let (periods, contrib) = self.decay(units, load != 0);
        self.contribute(Contribution { load, runnable, running }, contrib, SCHED_CAPACITY_SCALE as u32);
        periods as u32 != 0
    }

    /// Does the work of `accumulate()` with scaled contributions, as before 5.1.
    #[cold]
    fn accumulate_scaled(&mut self, units: u64, what: Contribution, scale: ContributionScale) -> bool {
        let (periods, contrib) = self.decay(units, what.load != 0);
        self.contribute(what, cap_scale(u64::from(contrib), scale.frequency) as u32, scale.capacity as u32);
        periods as u32 != 0
    }

    /// Decays the sums. Returns the number of periods that end, and the contribution of a constant rate of 1.
    #[inline(always)]
    fn decay(&mut self, units: u64, contributes: bool) -> (u64, u32) {
        let filled = units + u64::from(self.period_contrib);
        let periods = filled / 1024;
        let mut contrib = units as u32;
        if periods > 0 {
            self.load_sum = decay_load(self.load_sum, periods);
            self.runnable_sum = decay_load(self.runnable_sum, periods);
            self.util_sum = decay_load(u64::from(self.util_sum), periods) as u32;
            if contributes {
                contrib = accumulate_segments(periods, 1024 - self.period_contrib, (filled % 1024) as u32);
            }
        }
        self.period_contrib = (filled % 1024) as u32;
        (periods, contrib)
    }

    #[inline(always)]
    fn contribute(&mut self, what: Contribution, contrib: u32, running_units: u32) {
        if what.load != 0 {
            self.load_sum = self.load_sum.wrapping_add(what.load.wrapping_mul(u64::from(contrib)));
        }
        if what.runnable != 0 {
            let added = what.runnable.wrapping_mul(u64::from(contrib)) << SCHED_CAPACITY_SHIFT;
            self.runnable_sum = self.runnable_sum.wrapping_add(added);
        }
        if what.running {
            self.util_sum = self.util_sum.wrapping_add(contrib.wrapping_mul(running_units));
        }
    }

    /// Computes the averages from the sums. `weight` is the weight of an entity without the extra resolution,
    /// or 1.
    ///
    /// Models `___update_load_avg()` (6.1).
    #[inline]
    pub fn refresh(&mut self, weight: u64) {
        let divider = self.divider();
        self.load_avg = weight.wrapping_mul(self.load_sum) / u64::from(divider);
        self.runnable_avg = self.runnable_sum / u64::from(divider);
        self.util_avg = u64::from(self.util_sum / divider);
    }

    /// Advances the sums and recomputes the averages if a period ended. Returns whether it did.
    #[inline]
    pub fn update(&mut self, now: u64, what: Contribution, weight: u64, scale: Option<ContributionScale>) -> bool {
        let refreshed = self.update_sum(now, what, scale);
        if refreshed {
            self.refresh(weight);
        }
        refreshed
    }

    /// Whether all sums are 0 (`load_avg_is_decayed()`).
    #[inline]
    pub fn is_decayed(&self) -> bool {
        self.load_sum == 0 && self.util_sum == 0 && self.runnable_sum == 0
    }

    /// Returns `sum`, raised to the minimum that `avg` requires. Rounding in attach and detach can let a sum
    /// fall below it.
    ///
    /// The kernel compares 32-bit numbers here, so a larger sum loses its upper half.
    pub(crate) fn floor_sum(sum: u64, avg: u64) -> u64 {
        u64::from((sum as u32).max(avg.wrapping_mul(u64::from(MIN_DIVIDER)) as u32))
    }
}
