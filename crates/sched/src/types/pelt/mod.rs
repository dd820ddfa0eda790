// SPDX-License-Identifier: GPL-2.0-or-later
//! Load tracking: per-entity geometric averages of load, runnable time and running time.
//!
//! Models `kernel/sched/pelt.c` of 6.1. An average is a sum over a geometric series ([`decay`]) divided by what the sum
//! would be for something that is always there. This is the average itself, and [`util_est`] the memory of a
//! task's utilisation; where averages are kept and when they advance is in [`crate::track::pelt`].

pub mod decay;
#[cfg(test)]
mod golden_sum_tests;
pub mod util_est;

use crate::types::units::{CAPACITY_SHIFT, Capacity, SCHED_CAPACITY_SCALE, cap_scale};
use decay::{MIN_DIVIDER, accumulate_segments, decay_load};
use util_est::UtilEst;

/// Averages of an entity or a runqueue: the kernel's `struct sched_avg`.
///
/// The sums are in units of 1024 ns, weighted by the series; `runnable_sum` and `util_sum` also by 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedAvg {
    /// Time of the last update, in ns of the clock of load tracking, cut to 1024 ns.
    pub last_update_time: u64,
    /// Sum of load; of an entity without its weight.
    pub load_sum: u64,
    /// Sum of the number of runnable tasks.
    pub runnable_sum: u64,
    /// Sum of running time.
    pub util_sum: u32,
    /// How much of the current period is in the sums, in units of 1024 ns (0 to 1023).
    pub period_contrib: u32,
    /// Average load: weight times the part of time in which it was runnable.
    pub load_avg: u64,
    /// Average number of runnable tasks, times 1024.
    pub runnable_avg: u64,
    /// Average part of time in which it ran, of 1024.
    pub util_avg: u64,
    /// What is remembered of the utilisation before a sleep.
    pub util_est: UtilEst,
}

/// What goes into the sums while time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contribution {
    /// Load: 1 for a runnable entity, the weight of a cfs_rq. With 0 nothing is contributed at all.
    pub load: u64,
    /// Number of runnable tasks.
    pub runnable: u64,
    /// Whether it runs.
    pub running: bool,
}

impl Contribution {
    /// Nothing runs, nothing waits: the averages only decay.
    pub const NONE: Self = Self { load: 0, runnable: 0, running: false };
}

/// By what each contribution is scaled before 5.1 ([`crate::words::tunables::PeltScaling::Contribution`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContributionScale {
    /// Frequency of the CPU, of 1024.
    pub frequency: Capacity,
    /// Capacity of the CPU; scales only running time.
    pub capacity: Capacity,
}

impl SchedAvg {
    /// What the sums are divided by to give averages: `get_pelt_divider()`.
    #[inline]
    pub fn divider(&self) -> u32 {
        MIN_DIVIDER + self.period_contrib
    }

    /// Whether less than 1024 ns have passed since the last update, so that nothing is to be done yet.
    #[inline]
    pub(crate) fn is_current(&self, now: u64) -> bool {
        now.wrapping_sub(self.last_update_time) < 1024
    }

    /// Advances the sums to `now`. Returns whether a period ended, i.e. whether the averages should be refreshed.
    ///
    /// Models `___update_load_sum()`. Rules:
    /// 1. Time that goes backwards only sets the time of the last update.
    /// 2. Less than 1024 ns is left for later.
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

    /// Decays the sums by the periods that end within the next `units` of 1024 ns, and adds what they contribute.
    ///
    /// Models `accumulate_sum()`, which returns the number of periods cut to 32 bits: a jump of a multiple of 2^32
    /// periods decays everything but counts as none.
    fn accumulate(&mut self, units: u64, load: u64, runnable: u64, running: bool) -> bool {
        let (periods, contrib) = self.decay(units, load != 0);
        self.contribute(Contribution { load, runnable, running }, contrib, SCHED_CAPACITY_SCALE as u32);
        periods as u32 != 0
    }

    /// The same with contributions that are scaled.
    #[cold]
    fn accumulate_scaled(&mut self, units: u64, what: Contribution, scale: ContributionScale) -> bool {
        let (periods, contrib) = self.decay(units, what.load != 0);
        self.contribute(what, cap_scale(u64::from(contrib), scale.frequency) as u32, scale.capacity as u32);
        periods as u32 != 0
    }

    /// Decays the sums. Returns the number of periods that end, and what something contributes that is always there.
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
            let added = what.runnable.wrapping_mul(u64::from(contrib)) << CAPACITY_SHIFT;
            self.runnable_sum = self.runnable_sum.wrapping_add(added);
        }
        if what.running {
            self.util_sum = self.util_sum.wrapping_add(contrib.wrapping_mul(running_units));
        }
    }

    /// Computes the averages from the sums; `weight` is that of an entity, without extra bits, or 1.
    ///
    /// Models `___update_load_avg()`.
    #[inline]
    pub fn refresh(&mut self, weight: u64) {
        let divider = self.divider();
        self.load_avg = weight.wrapping_mul(self.load_sum) / u64::from(divider);
        self.runnable_avg = self.runnable_sum / u64::from(divider);
        self.util_avg = u64::from(self.util_sum / divider);
    }

    /// Advances and refreshes in one. Returns whether the averages were refreshed.
    #[inline]
    pub fn update(&mut self, now: u64, what: Contribution, weight: u64, scale: Option<ContributionScale>) -> bool {
        let refreshed = self.update_sum(now, what, scale);
        if refreshed {
            self.refresh(weight);
        }
        refreshed
    }

    /// Whether nothing is left to decay: `load_avg_is_decayed()`.
    #[inline]
    pub fn is_decayed(&self) -> bool {
        self.load_sum == 0 && self.util_sum == 0 && self.runnable_sum == 0
    }

    /// Raises the sums to what the averages demand at the least; rounding of attach and detach lets them fall below it.
    ///
    /// The kernel compares 32-bit numbers here, so a sum of more than that loses its upper half.
    pub(crate) fn floor_sum(sum: u64, avg: u64) -> u64 {
        u64::from((sum as u32).max(avg.wrapping_mul(u64::from(MIN_DIVIDER)) as u32))
    }
}
