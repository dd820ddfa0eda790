// SPDX-License-Identifier: GPL-2.0-or-later
//! The pool of runtime that the CPUs of a group share: the kernel's `struct cfs_bandwidth`.
//!
//! Models `__refill_cfs_bandwidth_runtime()`, `runtime_refresh_within()`, the doubling of too short periods in
//! `sched_cfs_period_timer()` (6.1). Arithmetic only: nothing here touches a runqueue.

use crate::state::group::bandwidth::{Bandwidth, LONGEST_PERIOD};
use crate::state::rq::ROOM;
use crate::state::timers::forward;
use crate::types::ids::{CfsRqId, CpuId};
use crate::types::units::Nanos;
use alloc::collections::VecDeque;

/// What has become of a group's quota: `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandwidthStats {
    /// Periods that have passed while the period timer ran.
    pub nr_periods: u64,
    /// How many of them ended with a CPU throttled.
    pub nr_throttled: u64,
    /// For how long CPUs were throttled, in ns, summed over CPUs.
    pub throttled_time: u64,
    /// In how many periods more than the quota was used.
    pub nr_burst: u64,
    /// How much more, in ns.
    pub burst_time: u64,
}

/// Quota of a group and what is left of it.
#[derive(Clone, Debug)]
pub struct CfsBandwidth {
    /// Limits, as they were set or as too short periods were doubled.
    pub limits: Bandwidth,
    /// What is left in the pool, in ns.
    pub runtime: u64,
    /// What was in the pool after the last refill.
    pub runtime_snap: u64,
    /// Nobody has drawn from the pool in this period: if that stays so until its end the timer stops.
    pub idle: bool,
    /// The period timer is armed, or its handler runs and will arm it again.
    pub period_active: bool,
    /// When the period timer expires, or expired last, in ns.
    pub period_expires: u64,
    /// The handler of the period timer runs.
    pub period_running: bool,
    /// The slack timer is armed.
    pub slack_started: bool,
    /// Where the period timer was started last.
    pub(crate) period_timer_cpu: CpuId,
    /// Where the slack timer was started last.
    pub(crate) slack_timer_cpu: CpuId,
    /// Throttled cfs_rqs, the one first that was throttled first.
    pub throttled: VecDeque<CfsRqId>,
    /// Counters.
    pub stats: BandwidthStats,
}

impl CfsBandwidth {
    /// No limit.
    pub(crate) fn new() -> Self {
        Self {
            limits: Bandwidth::UNLIMITED,
            runtime: 0,
            runtime_snap: 0,
            idle: false,
            period_active: false,
            period_expires: 0,
            period_running: false,
            slack_started: false,
            period_timer_cpu: CpuId(0),
            slack_timer_cpu: CpuId(0),
            throttled: VecDeque::with_capacity(ROOM),
            stats: BandwidthStats::default(),
        }
    }

    /// New limits; the pool gets a quota.
    pub(crate) fn set(&mut self, limits: Bandwidth) {
        self.limits = limits;
        self.refill();
    }

    /// Adds one quota to the pool, up to quota and burst: `__refill_cfs_bandwidth_runtime()`.
    ///
    /// What was used beyond the quota since the last refill counts as a burst.
    pub(crate) fn refill(&mut self) {
        let Some(quota) = self.limits.quota else { return };
        self.runtime += quota.0;
        if let Some(beyond) = self.runtime_snap.checked_sub(self.runtime).filter(|&beyond| beyond > 0) {
            self.stats.burst_time += beyond;
            self.stats.nr_burst += 1;
        }
        self.runtime = self.runtime.min(quota.0 + self.limits.burst.0);
        self.runtime_snap = self.runtime;
    }

    /// Takes up to `wanted` ns out of the pool, without a limit all of it. Returns how much.
    pub(crate) fn take(&mut self, wanted: u64) -> u64 {
        if self.limits.quota.is_none() {
            return wanted;
        }
        let taken = wanted.min(self.runtime);
        self.runtime -= taken;
        taken
    }

    /// Moves the end of the period past `now`. Returns how many periods have ended; one is no shorter than what timers resolve.
    pub(crate) fn forward_period(&mut self, now: u64, resolution_ns: u64) -> u64 {
        forward(&mut self.period_expires, now, self.limits.period.0.max(resolution_ns))
    }

    /// Whether the pool is refilled within `span` ns, or just now: `runtime_refresh_within()`.
    pub(crate) fn is_refilled_within(&self, now: u64, span: u64) -> bool {
        self.period_running || self.period_expires < now + span
    }

    /// The handler of the period timer takes longer than a period: limits are doubled, unless the period would reach the
    /// longest one.
    pub(crate) fn scale_up(&mut self) {
        let double = |time: Nanos| Nanos(time.0 * 2);
        if double(self.limits.period) < LONGEST_PERIOD {
            self.limits = Bandwidth {
                quota: self.limits.quota.map(double),
                period: double(self.limits.period),
                burst: double(self.limits.burst),
            };
        }
    }
}
