// SPDX-License-Identifier: GPL-2.0-or-later
//! The shape of a machine as the scheduler sees it.
//!
//! [`MachineTopology`] says what the hardware is; [`build_sched_domains`] turns it into [`SchedDomains`], which hold what
//! `kernel/sched/topology.c` (6.1) builds: each CPU's chain of domains, their groups, the groups' capacities, and what each CPU
//! keeps at hand. Everything stands in arenas and refers to each other by index.

pub(crate) mod arena;
pub(crate) mod build;
pub(crate) mod domain;
pub(crate) mod domains;
pub(crate) mod error;
pub(crate) mod flags;
pub(crate) mod group;
pub(crate) mod level;
pub(crate) mod margins;
pub(crate) mod print;
pub(crate) mod stats;
pub(crate) mod units;

pub use crate::types::idle_type::CpuIdleType;
pub use arena::{Arena, ArenaId, CapacityId, DomainId, SchedGroupId, SharedId};
pub use build::{BuildParams, build_sched_domains};
pub use domain::{SchedDomain, SchedDomainShared};
pub use domains::{CpuDomains, NumaTopologyType, RootDomain, SchedDomains};
pub use error::BuildError;
pub use flags::SdFlags;
pub use group::{SchedGroup, SchedGroupCapacity};
pub use print::PrintCpu;
pub use stats::{DomainStats, LbStats, LbStatsByIdle};
pub use units::CpuUnits;

use crate::types::units::Capacity;
use alloc::vec::Vec;

/// Which units a CPU belongs to. CPUs with the same number are in the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// Physical core: its CPUs are SMT siblings.
    pub core: u32,
    /// Cluster: cores that share a mid-level cache or the like (`CONFIG_SCHED_CLUSTER`).
    pub cluster: u32,
    /// Last-level cache.
    pub llc: u32,
    /// Package (socket or die).
    pub package: u32,
    /// NUMA node.
    pub node: u32,
}

/// A level of the topology table, from which sched domains are built, lowest first. NUMA levels follow by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopologyLevel {
    /// CPUs of a core.
    Smt,
    /// CPUs of a cluster.
    Cluster,
    /// CPUs of a last-level cache (`MC`).
    Mc,
    /// CPUs of a package (`DIE` up to 6.5, `PKG` since).
    Package,
    /// All CPUs.
    All,
}

/// What the hardware is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineTopology {
    /// One place for each CPU.
    pub cpus: Vec<CpuPlace>,
    /// Capacity of each CPU, 1 to 1024.
    pub capacity: Vec<Capacity>,
    /// The topology table, lowest level first.
    pub levels: Vec<TopologyLevel>,
    /// Distance of each node to each, in the units of ACPI's SLIT (10 is local). Square.
    pub distances: Vec<Vec<u32>>,
}
