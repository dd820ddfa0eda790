// SPDX-License-Identifier: GPL-2.0-or-later
//! Utilisation clamps of a runqueue, counted in buckets, and the default clamps of tasks and groups.
//!
//! Models `struct uclamp_rq` with `uclamp_rq_inc_id()`, `uclamp_rq_dec_id()` and `uclamp_rq_max_value()`
//! (6.1).

use crate::state::task::{SchedClass, Uclamp};
use crate::types::units::SCHED_CAPACITY_SCALE;

/// Number of buckets: `CONFIG_UCLAMP_BUCKETS_COUNT`.
pub(crate) const NR_BUCKETS: usize = 5;

/// Width of a bucket, rounded to the nearest integer.
pub(crate) const BUCKET_WIDTH: u32 = (SCHED_CAPACITY_SCALE as u32 + NR_BUCKETS as u32 / 2) / NR_BUCKETS as u32;

/// Lower clamp of real-time tasks that have none of their own: `sched_util_clamp_min_rt_default`.
pub(crate) const RT_DEFAULT_MIN: u32 = SCHED_CAPACITY_SCALE as u32;

impl Uclamp {
    /// Limits `util` to the clamps. The lower clamp prevails if they cross.
    pub(crate) fn apply(self, util: u64) -> u64 {
        let (min, max) = (u64::from(self.min), u64::from(self.max));
        if min >= max { min } else { util.clamp(min, max) }
    }

    /// Returns the higher of both values for each clamp.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { min: self.min.max(other.min), max: self.max.max(other.max) }
    }
}

/// Clamps of tasks and task groups for which none were set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultClamps {
    /// Clamps that a new task inherits.
    pub tasks: Uclamp,
    /// Limits of the members' clamps in a new group; none if unlimited.
    pub groups: Option<Uclamp>,
}

/// Count of runnable tasks whose clamps are close to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UclampBucket {
    nr_tasks: u32,
    /// Highest clamp of a task since the bucket was empty.
    value: u32,
}

/// One of the two clamps of a runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RqClamp {
    value: u32,
    buckets: [UclampBucket; NR_BUCKETS],
}

/// Clamps of a runqueue: `rq->uclamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RqUclamp {
    min: RqClamp,
    max: RqClamp,
    /// Whether no task counts; the upper clamp is then that of the last task.
    is_idle: bool,
}

impl Default for RqUclamp {
    fn default() -> Self {
        Self { min: RqClamp::new(0), max: RqClamp::new(SCHED_CAPACITY_SCALE as u32), is_idle: true }
    }
}

impl RqClamp {
    const fn new(value: u32) -> Self {
        Self { value, buckets: [UclampBucket { nr_tasks: 0, value: 0 }; NR_BUCKETS] }
    }

    fn bucket(&mut self, clamp: u32) -> &mut UclampBucket {
        &mut self.buckets[((clamp / BUCKET_WIDTH) as usize).min(NR_BUCKETS - 1)]
    }

    /// Counts a task in. The first one on an idle runqueue sets the runqueue's clamp.
    fn inc(&mut self, clamp: u32, was_idle: bool) {
        let bucket = self.bucket(clamp);
        bucket.nr_tasks += 1;
        if bucket.nr_tasks == 1 || clamp > bucket.value {
            bucket.value = clamp;
        }
        self.value = if was_idle { clamp } else { self.value.max(clamp) };
    }

    /// Counts a task out. With the last task of the highest bucket the clamp falls to that of the next
    /// bucket, or to `when_idle` if there is none. Returns whether there is none.
    fn dec(&mut self, clamp: u32, when_idle: u32) -> bool {
        let bucket = self.bucket(clamp);
        debug_assert!(bucket.nr_tasks > 0, "no task with clamp {clamp} was counted in");
        bucket.nr_tasks -= 1;
        let bucket = *bucket;
        if bucket.nr_tasks > 0 || bucket.value < self.value {
            return false;
        }
        let next = self.buckets.iter().rev().find(|bucket| bucket.nr_tasks > 0);
        self.value = next.map_or(when_idle, |bucket| bucket.value);
        next.is_none()
    }
}

impl RqUclamp {
    /// Clamps that the runnable tasks result in.
    #[inline]
    pub fn clamps(&self) -> Uclamp {
        Uclamp { min: self.min.value, max: self.max.value }
    }

    /// Whether no task counts: `uclamp_rq_is_idle()`.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    pub(crate) fn inc(&mut self, clamps: Uclamp) {
        self.min.inc(clamps.min, self.is_idle);
        self.max.inc(clamps.max, self.is_idle);
        self.is_idle = false;
    }

    /// Counts a task out. The upper clamp of the last task stays until the next task comes, so that remaining
    /// utilisation does not raise the frequency.
    pub(crate) fn dec(&mut self, clamps: Uclamp) {
        self.min.dec(clamps.min, 0);
        self.is_idle |= self.max.dec(clamps.max, clamps.max);
    }
}

impl DefaultClamps {
    /// Clamps that a new task requests: its own if it was given any, else the inherited ones. Real-time tasks
    /// without their own request the highest frequency.
    pub(crate) fn of_new_task(&self, given: Option<Uclamp>, class: SchedClass) -> Uclamp {
        let inherited = self.tasks;
        match class {
            SchedClass::RealTime => given.unwrap_or(Uclamp { min: RT_DEFAULT_MIN, ..inherited }),
            _ => given.unwrap_or(inherited),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clamps(min: u32, max: u32) -> Uclamp {
        Uclamp { min, max }
    }

    #[test]
    fn a_runqueue_has_the_highest_clamps_of_its_tasks() {
        let mut rq = RqUclamp::default();
        rq.inc(clamps(100, 300));
        assert_eq!((rq.clamps(), rq.is_idle()), (clamps(100, 300), false));
        rq.inc(clamps(50, 1024));
        assert_eq!(rq.clamps(), clamps(100, 1024));
        rq.dec(clamps(50, 1024));
        assert_eq!(rq.clamps(), clamps(100, 300));
    }

    #[test]
    fn a_bucket_keeps_its_highest_clamp_until_it_is_empty() {
        let mut rq = RqUclamp::default();
        rq.inc(clamps(10, 1024));
        rq.inc(clamps(204, 1024));
        rq.dec(clamps(204, 1024));
        assert_eq!(rq.clamps().min, 204);
        rq.inc(clamps(205, 1024));
        rq.dec(clamps(205, 1024));
        assert_eq!(rq.clamps().min, 204);
        rq.dec(clamps(10, 1024));
        assert_eq!(rq.clamps().min, 0);
    }

    #[test]
    fn the_upper_clamp_of_the_last_task_stays_until_another_one_comes() {
        let mut rq = RqUclamp::default();
        rq.inc(clamps(100, 300));
        rq.dec(clamps(100, 300));
        assert_eq!((rq.clamps(), rq.is_idle()), (clamps(0, 300), true));
        rq.inc(clamps(0, 200));
        assert_eq!((rq.clamps(), rq.is_idle()), (clamps(0, 200), false));
    }

    #[test]
    fn the_lower_clamp_prevails_if_they_cross() {
        assert_eq!(clamps(300, 200).apply(250), 300);
        assert_eq!(clamps(100, 200).apply(250), 200);
        assert_eq!(clamps(100, 200).apply(50), 100);
    }
}
