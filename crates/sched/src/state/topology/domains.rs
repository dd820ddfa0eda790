// SPDX-License-Identifier: GPL-2.0-or-later
//! All sched domains of a machine, and the domains that each CPU caches.

use crate::state::topology::domain::{SchedDomain, SchedDomainShared};
use crate::state::topology::flags::SdFlags;
use crate::state::topology::group::{SchedGroup, SchedGroupCapacity};
use crate::state::topology::units::CpuUnits;
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CapacityId, CpuId, DomainId, SchedGroupId, SharedId};
use crate::types::units::Capacity;

/// Sched domains of all CPUs.
///
/// The domains of one CPU are adjacent in the arena, from its base domain upward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedDomains {
    /// Domains, by CPU and then from the base domain upward.
    pub domains: Arena<DomainId, SchedDomain>,
    /// Groups of the domains, ring by ring.
    pub groups: Arena<SchedGroupId, SchedGroup>,
    /// Capacities of groups, each shared by groups with the same CPUs.
    pub capacities: Arena<CapacityId, SchedGroupCapacity>,
    /// State that the CPUs of a last-level cache share.
    pub shared: Arena<SharedId, SchedDomainShared>,
    /// By CPU: its base domain and cached domains.
    pub cpus: Arena<CpuId, CpuDomains>,
    /// The only root domain.
    pub root: RootDomain,
    /// Whether any domain was built of CPUs with different capacities: the static key
    /// `sched_asym_cpucapacity`.
    pub asym_cpucapacity: bool,
    /// Whether any core has more than one CPU: the static key `sched_smt_present`.
    pub smt_present: bool,
    /// Whether any CPU has a domain with `CLUSTER`: the static key `sched_cluster_active` (6.12).
    pub cluster_active: bool,
    /// Cores. Their masks are the kernel's `cpu_smt_mask()`.
    pub cores: CpuUnits,
    /// NUMA nodes that have CPUs. Their masks are the kernel's `cpumask_of_node()`.
    pub nodes: CpuUnits,
    /// Kind of connection between the NUMA nodes.
    pub numa_topology: NumaTopologyType,
}

/// Domains that a CPU caches: `rq->sd` and the per-CPU variables that `update_top_cache_domain()` sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuDomains {
    /// Base domain, the narrowest one: `rq->sd`.
    pub base: Option<DomainId>,
    /// Widest domain of CPUs that share a cache.
    pub sd_llc: Option<DomainId>,
    /// Number of CPUs in `sd_llc`; 1 without one.
    pub sd_llc_size: u32,
    /// First CPU of `sd_llc`; the CPU itself without one. CPUs share a cache if this is equal
    /// (`cpus_share_cache()`).
    pub sd_llc_id: CpuId,
    /// First CPU of the cluster; without one `sd_llc_id`. CPUs share resources if this is equal (6.12).
    pub sd_share_id: CpuId,
    /// State that the CPUs of `sd_llc` share.
    pub sd_llc_shared: Option<SharedId>,
    /// Narrowest domain that spans nodes.
    pub sd_numa: Option<DomainId>,
    /// Widest domain such that it and all domains below have `ASYM_PACKING`.
    pub sd_asym_packing: Option<DomainId>,
    /// Narrowest domain with CPUs of every capacity.
    pub sd_asym_cpucapacity: Option<DomainId>,
}

/// State that all CPUs of the machine share: `struct root_domain`, as far as the fair class uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDomain {
    /// CPUs that have domains.
    pub span: CpuMask,
    /// CPUs of `span` that are online.
    pub online: CpuMask,
    /// Whether some CPU has more than one task, or a misfit task.
    pub overload: bool,
    /// Whether some CPU is overutilized: `rd->overutilized`.
    pub overutilized: bool,
    /// Highest capacity of a CPU.
    pub max_cpu_capacity: Capacity,
}

/// Kind of connection between the NUMA nodes: the kernel's `sched_numa_topology_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumaTopologyType {
    /// Every node is directly connected to every other.
    Direct,
    /// The farthest nodes are connected through a node that is nearer to both.
    GluelessMesh,
    /// The farthest nodes are connected through a backplane, which is not a node.
    Backplane,
}

impl SchedDomains {
    /// Domains of a CPU, from its base domain upward: the kernel's `for_each_domain()`.
    pub fn chain(&self, cpu: CpuId) -> impl Iterator<Item = DomainId> + Clone {
        core::iter::successors(self.cpus[cpu].base, |&sd| self.domains[sd].parent)
    }

    /// Groups of a domain, beginning with the one that contains its CPU.
    pub fn ring(&self, sd: DomainId) -> impl Iterator<Item = SchedGroupId> + Clone {
        let first = self.domains[sd].groups;
        core::iter::successors(Some(first), move |&group| {
            let next = self.groups[group].next;
            (next != first).then_some(next)
        })
    }

    /// Whether two CPUs share their last-level cache: the kernel's `cpus_share_cache()`.
    #[inline(always)]
    pub fn cpus_share_cache(&self, a: CpuId, b: CpuId) -> bool {
        a == b || self.cpus[a].sd_llc_id == self.cpus[b].sd_llc_id
    }

    /// Whether two CPUs share their cluster, or without clusters their last-level cache: the kernel's
    /// `cpus_share_resources()` (6.12).
    pub fn cpus_share_resources(&self, a: CpuId, b: CpuId) -> bool {
        a == b || self.cpus[a].sd_share_id == self.cpus[b].sd_share_id
    }

    /// Widest domain of a CPU such that it and all below have one of the flags: the kernel's
    /// `highest_flag_domain()`.
    pub fn highest_flag_domain(&self, cpu: CpuId, flag: SdFlags) -> Option<DomainId> {
        self.chain(cpu).take_while(|&sd| self.domains[sd].flags.intersects(flag)).last()
    }

    /// Narrowest domain of a CPU with one of the flags: the kernel's `lowest_flag_domain()`.
    pub fn lowest_flag_domain(&self, cpu: CpuId, flag: SdFlags) -> Option<DomainId> {
        self.chain(cpu).find(|&sd| self.domains[sd].flags.intersects(flag))
    }
}
