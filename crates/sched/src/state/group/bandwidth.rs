// SPDX-License-Identifier: GPL-2.0-or-later
//! CFS bandwidth: the CPU time that a group may use in each period (`cpu.max`, `cpu.max.burst`).
//!
//! Models `struct cfs_bandwidth`, `tg_set_cfs_bandwidth()` and `sync_throttle()` (6.1). The pool gets the
//! quota at the start of each period. A CPU draws slices from it while tasks of the group run there. When the
//! pool is empty, the group's cfs_rq leaves its CPU's runqueue with everything below it, until the next
//! period or until another CPU returns unused runtime.
//!
//! - [`super::pool`]: the group's pool of runtime.
//! - [`crate::classes::fair::bandwidth`]: CPUs draw from the pool, return runtime, and are throttled.
//! - [`crate::paths::bandwidth`]: the pool is filled and distributed.
//! - [`crate::paths::hotplug`]: groups are not limited on CPUs that are offline.
//!
//! Groups are those of cgroup v2, where `__cfs_schedulable()` rejects nothing: a child may have more than its
//! parent, which then limits it. Without `CONFIG_JUMP_LABEL` the kernel's `cfs_bandwidth_used()` is always
//! true. With it, it is false only while no group has a quota, and then nothing is accounted or throttled
//! anyway.

pub use crate::state::group::pool::{BandwidthStats, CfsBandwidth};
use crate::types::units::Nanos;
use core::fmt;

/// Shortest quota and shortest period.
const MIN_CFS_QUOTA_PERIOD: Nanos = Nanos(1_000_000);

/// Longest period, 1 s: the kernel's `max_cfs_quota_period`.
pub(crate) const MAX_CFS_QUOTA_PERIOD: Nanos = Nanos(1_000_000_000);

/// Longest sum of quota and burst: 2^44 - 1 microseconds.
const MAX_CFS_RUNTIME: Nanos = Nanos(((1 << 44) - 1) * 1000);

/// Quota, period and burst that the kernel accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    pub(crate) quota: Option<Nanos>,
    pub(crate) period: Nanos,
    pub(crate) burst: Nanos,
}

/// Reason why bandwidth was rejected. The kernel returns EINVAL for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum BandwidthError {
    /// The root group cannot have a quota.
    RootGroup,
    /// The quota is shorter than 1 ms.
    QuotaTooShort(Nanos),
    /// The quota, or the quota with the burst, is longer than 2^44 - 1 microseconds.
    RuntimeTooLong(Nanos),
    /// The period is shorter than 1 ms.
    PeriodTooShort(Nanos),
    /// The period is longer than 1 s.
    PeriodTooLong(Nanos),
    /// The burst is longer than the quota.
    BurstTooLong { burst: Nanos, quota: Nanos },
}

impl fmt::Display for BandwidthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootGroup => f.write_str("the root group cannot have a quota"),
            Self::QuotaTooShort(quota) => {
                write!(f, "a quota of {quota} is too short; it must be at least {MIN_CFS_QUOTA_PERIOD}")
            }
            Self::RuntimeTooLong(runtime) => {
                write!(
                    f,
                    "quota and burst together are {runtime}, which is too long; they must be at most {MAX_CFS_RUNTIME}"
                )
            }
            Self::PeriodTooShort(period) => {
                write!(f, "a period of {period} is too short; it must be at least {MIN_CFS_QUOTA_PERIOD}")
            }
            Self::PeriodTooLong(period) => {
                write!(f, "a period of {period} is too long; it must be at most {MAX_CFS_QUOTA_PERIOD}")
            }
            Self::BurstTooLong { burst, quota } => {
                write!(f, "a burst of {burst} is too long; it must be at most the quota of {quota}")
            }
        }
    }
}

impl core::error::Error for BandwidthError {}

impl Bandwidth {
    /// Quota if there is one, period, and burst.
    pub const fn parts(self) -> (Option<Nanos>, Nanos, Nanos) {
        (self.quota, self.period, self.burst)
    }

    /// No limit, with the default period of 100 ms.
    pub const UNLIMITED: Self = Self { quota: None, period: Nanos(100_000_000), burst: Nanos(0) };

    /// Checks quota (`None`: no limit), period and burst.
    ///
    /// # Errors
    /// If quota or period is shorter than 1 ms, the period is longer than 1 s, the burst is longer than the quota, or both
    /// together are longer than the kernel can count.
    pub fn new(quota: Option<Nanos>, period: Nanos, burst: Nanos) -> Result<Self, BandwidthError> {
        if let Some(quota) = quota.filter(|&quota| quota < MIN_CFS_QUOTA_PERIOD) {
            return Err(BandwidthError::QuotaTooShort(quota));
        }
        if period < MIN_CFS_QUOTA_PERIOD {
            return Err(BandwidthError::PeriodTooShort(period));
        }
        if period > MAX_CFS_QUOTA_PERIOD {
            return Err(BandwidthError::PeriodTooLong(period));
        }
        if let Some(quota) = quota {
            if quota > MAX_CFS_RUNTIME {
                return Err(BandwidthError::RuntimeTooLong(quota));
            }
            if burst > quota {
                return Err(BandwidthError::BurstTooLong { burst, quota });
            }
            let both = Nanos(quota.0 + burst.0);
            if both > MAX_CFS_RUNTIME {
                return Err(BandwidthError::RuntimeTooLong(both));
            }
        }
        Ok(Self { quota, period, burst })
    }

    /// Runtime of all CPUs together in each period; `None` if there is no limit.
    pub const fn quota(&self) -> Option<Nanos> {
        self.quota
    }

    /// Length of a period, from 1 ms to 1 s.
    pub const fn period(&self) -> Nanos {
        self.period
    }

    /// Runtime that may be saved up beyond the quota.
    pub const fn burst(&self) -> Nanos {
        self.burst
    }
}
