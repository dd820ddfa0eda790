// SPDX-License-Identifier: GPL-2.0-or-later
//! Sched domains, and the state that the CPUs of a last-level cache share (`include/linux/sched/topology.h`,
//! 6.1).

use crate::state::topology::flags::SdFlags;
use crate::state::topology::stats::DomainStats;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::ids::{DomainId, SchedGroupId, SharedId};

/// Set of CPUs among which load is balanced, as seen by one CPU: `struct sched_domain`.
///
/// Every CPU has its own chain of domains, from its base domain upward through `parent`; spans grow upward.
/// The first part is fixed when domains are built, the rest is the state of load balancing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedDomain {
    /// CPU to whose chain the domain belongs.
    pub cpu: CpuId,
    /// Index in the topology table, from 0, counted before levels that add nothing are dropped.
    pub level: u32,
    /// Name of the level: `SMT`, `CLS`, `MC`, `PKG` (`DIE` up to 6.5), `ALL`, `NODE`, `NUMA`.
    pub name: &'static str,
    /// Next wider domain of the same CPU.
    pub parent: Option<DomainId>,
    /// Next narrower domain of the same CPU.
    pub child: Option<DomainId>,
    /// Group of the domain that contains the CPU. The others follow in a ring through `SchedGroup::next`.
    pub groups: SchedGroupId,
    /// CPUs among which the domain balances.
    pub span: CpuMask,
    /// Number of CPUs in `span`.
    pub span_weight: u32,
    /// Balancing behaviour and shared resources: `SD_*`.
    pub flags: SdFlags,
    /// Load ratio to the local group at which a group counts as imbalanced, in percent: 117 means 17 % more.
    pub imbalance_pct: u32,
    /// Factor by which the interval grows while the CPU is busy.
    pub busy_factor: u32,
    /// Shortest interval between load-balance passes, in ms.
    pub min_interval_ms: u32,
    /// Longest interval between load-balance passes, in ms.
    pub max_interval_ms: u32,
    /// Number of failed passes after which cache-hot tasks are moved.
    pub cache_nice_tries: u32,
    /// Number of running tasks that may stay together before a NUMA imbalance counts. 0 up to the last-level
    /// cache.
    pub imb_numa_nr: u32,
    /// State that the CPUs share, in domains with `SHARE_PKG_RESOURCES`.
    pub shared: Option<SharedId>,

    /// In the domain of the last-level cache: whether the CPU is counted as idle in `nr_busy_cpus`.
    pub nohz_idle: bool,
    /// Time of the last load-balance pass, in jiffies.
    pub last_balance: u64,
    /// Present interval between load-balance passes, in ms.
    pub balance_interval: u32,
    /// Number of consecutive passes that found an imbalance and moved nothing.
    pub nr_balance_failed: u32,
    /// Number of newly-idle passes since the ratio was last computed. Starts at 512.
    pub newidle_call: u32,
    /// Number of those newly-idle passes that pulled a task. Starts at 256.
    pub newidle_success: u32,
    /// Successes in 1024 newly-idle passes. Starts at 512.
    pub newidle_ratio: u32,
    /// Highest cost of a newly-idle pass, in ns; decays.
    pub max_newidle_lb_cost: u64,
    /// Time at which `max_newidle_lb_cost` last decayed, in jiffies.
    pub last_decay_max_lb_cost: u64,
    /// Average cost of scanning one CPU in `select_idle_cpu()` (SIS_PROP), in ns.
    pub avg_scan_cost: u64,
    /// Counters under the names of schedstat.
    pub stats: DomainStats,
}

/// State that all domains over one last-level cache share: `struct sched_domain_shared`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedDomainShared {
    /// Number of CPUs that are not tickless and idle.
    pub nr_busy_cpus: i32,
    /// Whether a fully idle core may exist.
    pub has_idle_cores: bool,
    /// Number of CPUs that `select_idle_cpu()` may scan (SIS_UTIL).
    pub nr_idle_scan: i32,
}
