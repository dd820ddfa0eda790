// SPDX-License-Identifier: GPL-2.0-or-later
//! Construction of sched domains from a machine topology.
//!
//! Models `build_sched_domains()` of `kernel/sched/topology.c` (6.1), in its order:
//! 1. [`spans`]: CPUs that the domain of each CPU spans at each level (`build_sched_domain()`).
//! 2. [`draft`]: flags and numbers of the domains (`sd_init()`), and the allowed NUMA imbalance
//!    (`imb_numa_nr`).
//! 3. [`groups`]: groups of domains that do not overlap (`build_sched_groups()`), [`overlap`]: groups of
//!    domains that do.
//! 4. [`capacity`]: capacities of groups (`init_sched_groups_capacity()`).
//! 5. [`attach`]: domains that add nothing are dropped, the others move into the arenas
//!    (`cpu_attach_domain()`, `update_top_cache_domain()`).
//!
//! The kernel builds each CPU's domains separately. Here CPUs share equal spans and rings of groups, so that
//! a machine of thousands of CPUs is built in milliseconds; the result does not differ.
//!
//! Leaves out partitions of cpusets and isolated CPUs (there is one root domain), `relax_domain_level`, and
//! perf domains.

pub(crate) mod attach;
pub(crate) mod capacity;
pub(crate) mod draft;
pub(crate) mod groups;
pub(crate) mod overlap;
pub(crate) mod spans;

use crate::state::topology::error::check;
use crate::state::topology::level::{counted_levels, level_table};
use crate::state::topology::{BuildError, MachineTopology, SchedDomains};
use crate::types::cpumask::CpuMask;
use crate::types::kernel_rules::KernelRules;
use alloc::vec::Vec;
use groups::Rings;
use spans::Spans;

/// Parameters of domain construction, beside the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildParams {
    /// Present time, in jiffies.
    pub jiffies: u64,
    /// Jiffies per second (`CONFIG_HZ`).
    pub hz: u32,
    /// Distance beyond which fork, exec and wake-up do not place tasks in another node. 30; the kernel sets
    /// 32 on AMD's Zen.
    pub node_reclaim_distance: u32,
    /// CPUs in use; all if `None`. Other CPUs get no domains, and no domain spans them.
    pub online: Option<CpuMask>,
    /// CPUs that count in the weights of levels; those in use if `None`. A CPU that is about to go offline still
    /// counts there.
    pub working: Option<CpuMask>,
    /// Priorities of the CPUs (`arch_asym_cpu_priority()`, for example of Intel's ITMT), higher ones first.
    ///
    /// With priorities, the levels SMT, CLS and MC get `ASYM_PACKING`.
    pub asym_priority: Option<Vec<i32>>,
    /// Whether no domain spans several nodes, which models a kernel bug.
    pub numa_domains_lost: bool,
    /// Rules of the kernel that builds the domains.
    pub rules: KernelRules,
}

impl BuildParams {
    /// Returns the parameters of a kernel: 250 jiffies per second, time 0, all CPUs in use, no priorities.
    pub const fn new(rules: KernelRules) -> Self {
        Self {
            jiffies: 0,
            hz: 250,
            node_reclaim_distance: 30,
            online: None,
            working: None,
            asym_priority: None,
            numa_domains_lost: false,
            rules,
        }
    }
}

/// Builds the sched domains of all CPUs.
///
/// # Errors
/// If the machine's description is incomplete, a number is out of range, or its units cross each
///   other.
pub fn build_sched_domains(machine: &MachineTopology, params: &BuildParams) -> Result<SchedDomains, BuildError> {
    let online = check(machine, params)?;
    let table = level_table(machine, &online, params);
    let spans = Spans::new(&table.levels, &online)?;
    let whole = params.working.as_ref().filter(|&working| *working != online);
    let whole = whole.map(|working| counted_levels(machine, working, &online, params));
    let counted = whole.as_deref().unwrap_or(&table.levels);
    let mut drafts = draft::draft_domains(machine, &table.levels, counted, &spans, &online);
    let mut rings = Rings::new(&spans, params, online.nr_cpus());
    groups::build_sched_groups(&mut drafts, &mut rings, &table.levels);
    overlap::build_overlap_sched_groups(&mut drafts, &mut rings, &table.levels)?;
    draft::set_imb_numa_nr(&mut drafts, &spans);
    capacity::init_sched_groups_capacity(
        &drafts,
        &mut rings,
        machine,
        params,
        params.working.as_ref().unwrap_or(&online).weight(),
    );
    attach::drop_degenerate(&mut drafts, &mut rings, params.rules);
    Ok(attach::attach(machine, online, table, &drafts, &rings, params.jiffies))
}
