// SPDX-License-Identifier: GPL-2.0-or-later
//! All sched domains of a machine, and what each CPU keeps at hand of them.

use crate::state::topology::arena::{Arena, CapacityId, DomainId, SchedGroupId, SharedId};
use crate::state::topology::domain::{SchedDomain, SchedDomainShared};
use crate::state::topology::flags::SdFlags;
use crate::state::topology::group::{SchedGroup, SchedGroupCapacity};
use crate::state::topology::units::CpuUnits;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::units::Capacity;
use alloc::vec::Vec;

/// The domains of all CPUs.
///
/// The domains of one CPU stand side by side in the arena, from its base domain upward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedDomains {
    /// Domains, by CPU and then from the base domain upward.
    pub domains: Arena<DomainId, SchedDomain>,
    /// Groups of domains.
    pub groups: Arena<SchedGroupId, SchedGroup>,
    /// Capacities of groups.
    pub capacities: Arena<CapacityId, SchedGroupCapacity>,
    /// What CPUs of a cache share.
    pub shared: Arena<SharedId, SchedDomainShared>,
    /// Each CPU's place among the domains.
    pub cpus: Vec<CpuDomains>,
    /// The root domain. There is one.
    pub root: RootDomain,
    /// Whether any domain was built of CPUs with different capacities: the static key `sched_asym_cpucapacity`.
    pub asym_cpucapacity: bool,
    /// Whether any core has more than one CPU: the static key `sched_smt_present`.
    pub smt_present: bool,
    /// Cores: their masks are the kernel's `cpu_smt_mask()`.
    pub cores: CpuUnits,
    /// NUMA nodes that have CPUs: their masks are the kernel's `cpumask_of_node()`.
    pub nodes: CpuUnits,
    /// How the NUMA nodes are connected.
    pub numa_topology: NumaTopologyType,
}

/// What a CPU keeps at hand (`rq->sd` and the per-CPU variables that `update_top_cache_domain()` sets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuDomains {
    /// `rq->sd`: the base domain.
    pub base: Option<DomainId>,
    /// The widest domain of CPUs that share a cache.
    pub sd_llc: Option<DomainId>,
    /// How many CPUs it has; 1 without one.
    pub sd_llc_size: u32,
    /// Its first CPU; the CPU itself without one. CPUs share a cache when this is equal (`cpus_share_cache()`).
    pub sd_llc_id: CpuId,
    /// What its CPUs share.
    pub sd_llc_shared: Option<SharedId>,
    /// The narrowest domain that spans nodes.
    pub sd_numa: Option<DomainId>,
    /// The widest domain with `ASYM_PACKING` all the way up to it.
    pub sd_asym_packing: Option<DomainId>,
    /// The narrowest domain with CPUs of every capacity.
    pub sd_asym_cpucapacity: Option<DomainId>,
}

/// What all CPUs of the machine share: `struct root_domain`, as far as the fair class uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDomain {
    /// The CPUs that have domains.
    pub span: CpuMask,
    /// Those that are online.
    pub online: CpuMask,
    /// Whether some CPU has more than one task, or a misfit one.
    pub overload: bool,
    /// Whether some CPU is over-utilized.
    pub overutilized: bool,
    /// The highest capacity of a CPU.
    pub max_cpu_capacity: Capacity,
}

/// How NUMA nodes are connected: the kernel's `sched_numa_topology_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumaTopologyType {
    /// Every node is next to every other.
    Direct,
    /// The farthest nodes meet in a node that is nearer to both.
    GluelessMesh,
    /// The farthest nodes are connected through something that is no node.
    Backplane,
}

impl SchedDomains {
    /// The domains of a CPU, from its base domain upward: the kernel's `for_each_domain()`.
    pub fn chain(&self, cpu: CpuId) -> impl Iterator<Item = DomainId> + Clone {
        core::iter::successors(self.cpus[cpu.index()].base, |&sd| self.domains[sd].parent)
    }

    /// The groups of a domain, from the one its CPU is in.
    pub fn ring(&self, sd: DomainId) -> impl Iterator<Item = SchedGroupId> + Clone {
        let first = self.domains[sd].groups;
        core::iter::successors(Some(first), move |&group| {
            let next = self.groups[group].next;
            (next != first).then_some(next)
        })
    }

    /// Whether two CPUs share their last-level cache: the kernel's `cpus_share_cache()`.
    pub fn cpus_share_cache(&self, a: CpuId, b: CpuId) -> bool {
        a == b || self.cpus[a.index()].sd_llc_id == self.cpus[b.index()].sd_llc_id
    }

    /// The widest domain of a CPU such that it and all below it have one of the flags: the kernel's `highest_flag_domain()`.
    pub fn highest_flag_domain(&self, cpu: CpuId, flag: SdFlags) -> Option<DomainId> {
        self.chain(cpu).take_while(|&sd| self.domains[sd].flags.intersects(flag)).last()
    }

    /// The narrowest domain of a CPU with one of the flags: the kernel's `lowest_flag_domain()`.
    pub fn lowest_flag_domain(&self, cpu: CpuId, flag: SdFlags) -> Option<DomainId> {
        self.chain(cpu).find(|&sd| self.domains[sd].flags.intersects(flag))
    }
}
