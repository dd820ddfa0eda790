// SPDX-License-Identifier: GPL-2.0-or-later
//! CFS bandwidth: how much CPU time a group may use in each period (`cpu.max`, `cpu.max.burst`).
//!
//! Models `struct cfs_bandwidth`, `tg_set_cfs_bandwidth()` and `sync_throttle()` (6.1); [`super::pool`] has the group's pool of
//! runtime, [`crate::classes::fair::bandwidth`] how CPUs draw from it, give back and are throttled, [`crate::paths::bandwidth`] how the
//! pool is filled and handed out. The model in short: the pool gets the quota at the start of each
//! period; a CPU draws slices from it while tasks of the group run there; when the pool is empty the group's cfs_rq leaves
//! its CPU's runqueue with everything below it, until the next period or until another CPU gives back what it has left.
//!
//! CPUs that go offline and come back are the affair of [`crate::paths::hotplug`]: in between, groups are not limited on them. Groups are
//! those of cgroup v2, where `__cfs_schedulable()` refuses nothing: a child may have more than its parent, which then limits
//! it. Without `CONFIG_JUMP_LABEL` the kernel's `cfs_bandwidth_used()` is
//! always true; with it, it is false only while no group has a quota, and then nothing is accounted or throttled anyway.

pub use crate::state::group::pool::{BandwidthStats, CfsBandwidth};
use crate::types::units::Nanos;
use core::fmt;

/// The shortest quota and period.
const SHORTEST: Nanos = Nanos(1_000_000);

/// The longest period: `max_cfs_quota_period`.
pub(crate) const LONGEST_PERIOD: Nanos = Nanos(1_000_000_000);

/// The most that quota and burst may be together: 2^44 - 1 microseconds.
const MOST_RUNTIME: Nanos = Nanos(((1 << 44) - 1) * 1000);

/// Quota, period and burst that the kernel accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    pub(crate) quota: Option<Nanos>,
    pub(crate) period: Nanos,
    pub(crate) burst: Nanos,
}

/// Why bandwidth was refused. The kernel says EINVAL to all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandwidthError {
    /// The root group has no quota.
    RootGroup,
    /// The quota is too short.
    QuotaTooShort(Nanos),
    /// The quota, or the quota with the burst, is too long.
    RuntimeTooLong(Nanos),
    /// The period is too short.
    PeriodTooShort(Nanos),
    /// The period is too long.
    PeriodTooLong(Nanos),
    /// The burst is longer than the quota.
    BurstTooLong {
        /// The burst.
        burst: Nanos,
        /// The quota.
        quota: Nanos,
    },
}

impl fmt::Display for BandwidthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootGroup => f.write_str("the root group cannot have a quota"),
            Self::QuotaTooShort(quota) => write!(f, "a quota of {quota} is too short; it must be at least {SHORTEST}"),
            Self::RuntimeTooLong(runtime) => {
                write!(f, "quota and burst of together {runtime} are too long; they may be {MOST_RUNTIME} at the most")
            }
            Self::PeriodTooShort(period) => {
                write!(f, "a period of {period} is too short; it must be at least {SHORTEST}")
            }
            Self::PeriodTooLong(period) => {
                write!(f, "a period of {period} is too long; it may be {LONGEST_PERIOD} at the most")
            }
            Self::BurstTooLong { burst, quota } => {
                write!(f, "a burst of {burst} is too long; it may be as long as the quota of {quota}")
            }
        }
    }
}

impl core::error::Error for BandwidthError {}

impl Bandwidth {
    /// Quota, if there is one, period and burst.
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
        if let Some(quota) = quota.filter(|&quota| quota < SHORTEST) {
            return Err(BandwidthError::QuotaTooShort(quota));
        }
        if period < SHORTEST {
            return Err(BandwidthError::PeriodTooShort(period));
        }
        if period > LONGEST_PERIOD {
            return Err(BandwidthError::PeriodTooLong(period));
        }
        if let Some(quota) = quota {
            if quota > MOST_RUNTIME {
                return Err(BandwidthError::RuntimeTooLong(quota));
            }
            if burst > quota {
                return Err(BandwidthError::BurstTooLong { burst, quota });
            }
            let both = Nanos(quota.0 + burst.0);
            if both > MOST_RUNTIME {
                return Err(BandwidthError::RuntimeTooLong(both));
            }
        }
        Ok(Self { quota, period, burst })
    }

    /// Runtime in each period, of all CPUs together; `None`: no limit.
    pub const fn quota(&self) -> Option<Nanos> {
        self.quota
    }

    /// Length of a period.
    pub const fn period(&self) -> Nanos {
        self.period
    }

    /// Runtime that may be saved up beyond the quota.
    pub const fn burst(&self) -> Nanos {
        self.burst
    }
}
