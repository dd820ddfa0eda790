// SPDX-License-Identifier: GPL-2.0-or-later
//! Pool of runtime that the CPUs of a group share: the kernel's `struct cfs_bandwidth`.
//!
//! Models `__refill_cfs_bandwidth_runtime()`, `runtime_refresh_within()`, and the doubling of too short
//! periods in `sched_cfs_period_timer()` (6.1). Arithmetic only: nothing here touches a runqueue.

use crate::state::group::bandwidth::{Bandwidth, MAX_CFS_QUOTA_PERIOD};
use crate::state::rq::QUEUE_CAPACITY;
use crate::state::timers::forward;
use crate::types::ids::{CfsRqId, CpuId};
use crate::types::units::Nanos;
use alloc::collections::VecDeque;

/// Statistics of a group's quota, as in `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandwidthStats {
    /// Periods that have passed while the period timer ran.
    pub nr_periods: u64,
    /// Periods that ended with a CPU throttled.
    pub nr_throttled: u64,
    /// Time for which CPUs were throttled, in ns, summed over CPUs.
    pub throttled_time: u64,
    /// Periods in which more than the quota was used.
    pub nr_burst: u64,
    /// Time used beyond the quota, in ns.
    pub burst_time: u64,
}

/// Quota of a group, and the runtime that is left of it.
#[derive(Clone, Debug)]
pub struct CfsBandwidth {
    /// Limits, as they were set, or doubled because the periods were too short.
    pub limits: Bandwidth,
    /// Runtime that is left in the pool, in ns.
    pub runtime: u64,
    /// Runtime in the pool after the last refill, in ns.
    pub runtime_snap: u64,
    /// Whether no CPU has drawn from the pool in this period. If that is still so at its end, the timer
    /// stops.
    pub idle: bool,
    /// Whether the period timer is armed, or its handler runs and will arm it again.
    pub period_active: bool,
    /// Time at which the period timer expires, or expired last, in ns.
    pub period_expires: u64,
    /// Whether the handler of the period timer runs.
    pub period_running: bool,
    /// Whether the slack timer is armed.
    pub slack_started: bool,
    /// CPU that started the period timer last.
    pub(crate) period_timer_cpu: CpuId,
    /// CPU that started the slack timer last.
    pub(crate) slack_timer_cpu: CpuId,
    /// Throttled cfs_rqs, in the order in which they were throttled.
    pub throttled: VecDeque<CfsRqId>,
    /// Statistics, as in `cpu.stat`.
    pub stats: BandwidthStats,
}

impl CfsBandwidth {
    /// Creates a pool without a limit.
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
            throttled: VecDeque::with_capacity(QUEUE_CAPACITY),
            stats: BandwidthStats::default(),
        }
    }

    /// Sets new limits and adds one quota to the pool.
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

    /// Takes up to `wanted` ns out of the pool, all of it without a limit. Returns the time taken, in ns.
    pub(crate) fn take(&mut self, wanted: u64) -> u64 {
        if self.limits.quota.is_none() {
            return wanted;
        }
        let taken = wanted.min(self.runtime);
        self.runtime -= taken;
        taken
    }

    /// Moves the end of the period past `now`. Returns the number of periods that have ended. A period is at
    /// least as long as the resolution of timers.
    pub(crate) fn forward_period(&mut self, now: u64, resolution_ns: u64) -> u64 {
        forward(&mut self.period_expires, now, self.limits.period.0.max(resolution_ns))
    }

    /// Whether the pool is refilled within `span` ns, or at this moment: `runtime_refresh_within()`.
    pub(crate) fn is_refilled_within(&self, now: u64, span: u64) -> bool {
        self.period_running || self.period_expires < now + span
    }

    /// Doubles the limits, because the period timer's handler takes longer than a period. Does nothing if the
    /// period would reach the longest one.
    pub(crate) fn scale_up(&mut self) {
        let double = |time: Nanos| Nanos(time.0 * 2);
        if double(self.limits.period) < MAX_CFS_QUOTA_PERIOD {
            self.limits = Bandwidth {
                quota: self.limits.quota.map(double),
                period: double(self.limits.period),
                burst: double(self.limits.burst),
            };
        }
    }
}
