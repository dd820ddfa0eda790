// SPDX-License-Identifier: GPL-2.0-or-later
//! Topology of a machine and the sched domains that follow from it.
//!
//! [`MachineTopology`] describes the hardware. [`build_sched_domains`] turns it into [`SchedDomains`], which
//! contain the result of `kernel/sched/topology.c` (6.1): each CPU's chain of domains, their groups, the
//! groups' capacities, and the domains that each CPU caches. All are stored in arenas and refer to each other
//! by index.

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
pub use crate::types::ids::{CapacityId, DomainId, SchedGroupId, SharedId};
pub use build::{BuildParams, build_sched_domains};
pub use domain::{SchedDomain, SchedDomainShared};
pub use domains::{CpuDomains, NumaTopologyType, RootDomain, SchedDomains};
pub use error::BuildError;
pub use flags::SdFlags;
pub use group::{SchedGroup, SchedGroupCapacity};
pub use print::CpuDomainsDisplay;
pub use stats::{DomainStats, LbStats, LbStatsByIdle};
pub use units::CpuUnits;

use crate::types::units::Capacity;
use alloc::vec::Vec;

/// Hardware units that contain a CPU. CPUs with the same number are in the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// Physical core, whose CPUs are SMT siblings.
    pub core: u32,
    /// Cluster of cores that share a mid-level cache or the like (`CONFIG_SCHED_CLUSTER`).
    pub cluster: u32,
    /// Last-level cache that the CPU uses.
    pub llc: u32,
    /// Package (socket or die).
    pub package: u32,
    /// NUMA node, an index into the table of distances.
    pub node: u32,
}

/// Level of the topology table from which sched domains are built, lowest first. NUMA levels are appended
/// automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopologyLevel {
    /// CPUs of a core (`SMT`).
    Smt,
    /// CPUs of a cluster (`CLS`).
    Cluster,
    /// CPUs of a last-level cache (`MC`).
    Mc,
    /// CPUs of a package (`DIE` up to 6.5, `PKG` since).
    Package,
    /// All CPUs of the machine.
    All,
}

/// Hardware of a machine, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineTopology {
    /// Hardware units of each CPU.
    pub cpus: Vec<CpuPlace>,
    /// Capacity of each CPU, 1 to 1024.
    pub capacity: Vec<Capacity>,
    /// Topology table, lowest level first.
    pub levels: Vec<TopologyLevel>,
    /// Distances between all nodes, in the units of ACPI's SLIT (10 is local). Square.
    pub distances: Vec<Vec<u32>>,
}
