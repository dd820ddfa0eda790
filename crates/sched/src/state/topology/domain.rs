// SPDX-License-Identifier: GPL-2.0-or-later
//! A sched domain, and what the CPUs of a last-level cache share (`include/linux/sched/topology.h`, 6.1).

use crate::state::topology::arena::{DomainId, SchedGroupId, SharedId};
use crate::state::topology::flags::SdFlags;
use crate::state::topology::stats::DomainStats;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;

/// A set of CPUs among which load is balanced, as one CPU of it sees it: `struct sched_domain`.
///
/// Every CPU has its own chain of domains, from its base domain upward through `parent`; spans grow on the way.
/// The first part is fixed when domains are built, the rest is the state of balancing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedDomain {
    /// The CPU to whose chain the domain belongs.
    pub cpu: CpuId,
    /// The place in the topology table, from 0, counted before levels that add nothing are dropped.
    pub level: u32,
    /// The level's name: `SMT`, `CLS`, `MC`, `PKG` (`DIE` up to 6.5), `ALL`, `NODE`, `NUMA`.
    pub name: &'static str,
    /// The next wider domain of the same CPU.
    pub parent: Option<DomainId>,
    /// The next narrower domain of the same CPU.
    pub child: Option<DomainId>,
    /// The group of the domain that the CPU is in; the others follow in a ring through `SchedGroup::next`.
    pub groups: SchedGroupId,
    /// The CPUs.
    pub span: CpuMask,
    /// How many there are.
    pub span_weight: u32,
    /// What the domain is for.
    pub flags: SdFlags,
    /// How much busier than the local group a group must be to count as imbalanced, in percent.
    pub imbalance_pct: u32,
    /// By how much the interval grows while the CPU is busy.
    pub busy_factor: u32,
    /// The shortest interval between balancing passes, in ms.
    pub min_interval_ms: u32,
    /// The longest interval between balancing passes, in ms.
    pub max_interval_ms: u32,
    /// How many failed passes before cache-hot tasks are moved.
    pub cache_nice_tries: u32,
    /// How many running tasks may stay together before a NUMA imbalance counts. 0 up to the last-level cache.
    pub imb_numa_nr: u32,
    /// For domains with `SHARE_PKG_RESOURCES`: what their CPUs share.
    pub shared: Option<SharedId>,

    /// `nohz_idle`: in the domain at the last-level cache, whether the CPU is counted as idle in `nr_busy_cpus`.
    pub nohz_idle: bool,
    /// When the last balancing pass was, in jiffies.
    pub last_balance: u64,
    /// The current interval between passes, in ms.
    pub balance_interval: u32,
    /// Passes in a row that found an imbalance and moved nothing.
    pub nr_balance_failed: u32,
    /// Newly-idle passes since the ratio was last computed. Starts at 512.
    pub newidle_call: u32,
    /// How many of them pulled something. Starts at 256.
    pub newidle_success: u32,
    /// Successes in 1024 newly-idle passes. Starts at 512.
    pub newidle_ratio: u32,
    /// The highest price of a newly-idle pass, decaying, in ns.
    pub max_newidle_lb_cost: u64,
    /// When `max_newidle_lb_cost` last decayed, in jiffies.
    pub last_decay_max_lb_cost: u64,
    /// The average price of looking at one CPU in `select_idle_cpu()` (SIS_PROP), in ns.
    pub avg_scan_cost: u64,
    /// Counters.
    pub stats: DomainStats,
}

/// What all domains over one last-level cache share: `struct sched_domain_shared`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedDomainShared {
    /// CPUs that are not tickless and idle.
    pub nr_busy_cpus: i32,
    /// Whether a fully idle core may exist.
    pub has_idle_cores: bool,
    /// How many CPUs `select_idle_cpu()` may look at (SIS_UTIL).
    pub nr_idle_scan: i32,
}
