// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel whose rules the scheduler follows.

use core::fmt;

/// Series of Linux with rules of their own. A run has one, and what differs between them branches on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelSeries {
    /// Linux 6.1: CFS.
    #[default]
    V6_1,
    /// Linux 6.12: EEVDF.
    V6_12,
}

impl fmt::Display for KernelSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        })
    }
}

impl KernelSeries {
    /// All series, oldest first.
    pub const ALL: [Self; 2] = [Self::V6_1, Self::V6_12];

    /// Whether the fair class is EEVDF, with lags and virtual deadlines.
    #[inline]
    pub const fn is_eevdf(self) -> bool {
        matches!(self, Self::V6_12)
    }

    /// Whether runqueues limit the runtime of real-time tasks. Kernels since 6.12 do so only with
    /// `CONFIG_RT_GROUP_SCHED`, which is not modelled.
    #[inline]
    pub const fn limits_real_time(self) -> bool {
        matches!(self, Self::V6_1)
    }

    /// Whether a runqueue that leaves its root domain loses its share of the loads of groups, and a CPU that is not
    /// active contributes to none (`clear_tg_offline_cfs_rqs()`, since 6.8).
    #[inline]
    pub const fn clears_offline_group_load(self) -> bool {
        matches!(self, Self::V6_12)
    }

    /// Whether sched domains are rebuilt before a CPU is offline (`cpuset_update_active_cpus()`, 6.12), so that they count it,
    /// not by a worker afterwards (6.1).
    #[inline]
    pub const fn rebuilds_before_offline(self) -> bool {
        matches!(self, Self::V6_12)
    }

    /// Whether a CPU that deadline tasks keep from going offline rejoins its root domain at once
    /// (`sched_cpu_deactivate()`, 6.12), not when sched domains are next rebuilt.
    #[inline]
    pub const fn rejoins_root_domain(self) -> bool {
        matches!(self, Self::V6_12)
    }

    /// Whether a runqueue's clock is updated when it leaves its root domain (`set_rq_offline()`, since 6.6), not only
    /// when its CPU goes offline.
    #[inline]
    pub const fn clocks_detached_rqs(self) -> bool {
        matches!(self, Self::V6_12)
    }
}
