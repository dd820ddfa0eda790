// SPDX-License-Identifier: GPL-2.0-or-later
//! Table of topology levels from which sched domains are built.
//!
//! Models 6.1's `default_topology[]` with its masks and flags, and `sched_init_numa()`, which appends a level
//! NODE and one level for each further distance between nodes. Leaves out memory-only nodes, which a machine
//! here does not have.

use crate::state::topology::flags::SdFlags;
use crate::state::topology::units::CpuUnits;
use crate::state::topology::{BuildParams, CpuPlace, MachineTopology, NumaTopologyType, TopologyLevel};
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Row of the table: the kernel's `struct sched_domain_topology_level`.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) name: &'static str,
    /// Flags that the level adds to its domains.
    pub(crate) flags: SdFlags,
    /// Whether domains of different nodes overlap at this level (`SDTL_OVERLAP`).
    pub(crate) overlap: bool,
    /// Whether the nodes of a domain are farther apart than `node_reclaim_distance`.
    pub(crate) beyond_reclaim_distance: bool,
    /// CPUs that the domain of each CPU spans.
    pub(crate) units: CpuUnits,
}

/// Topology table of a machine.
#[derive(Clone, Debug)]
pub(crate) struct LevelTable {
    pub(crate) levels: Vec<Level>,
    pub(crate) nodes: CpuUnits,
    pub(crate) numa_topology: NumaTopologyType,
}

impl TopologyLevel {
    /// Name of the level's domains in kernels since 6.6.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smt => "SMT",
            Self::Cluster => "CLS",
            Self::Mc => "MC",
            Self::Package => "PKG",
            Self::All => "ALL",
        }
    }

    /// Flags of the level: `cpu_smt_flags()`, `cpu_cluster_flags()`, `cpu_core_flags()`; wider levels have
    /// none.
    const fn flags(self) -> SdFlags {
        match self {
            Self::Smt => SdFlags::SHARE_CPUCAPACITY.with(SdFlags::SHARE_PKG_RESOURCES),
            Self::Cluster | Self::Mc => SdFlags::SHARE_PKG_RESOURCES,
            Self::Package | Self::All => SdFlags::EMPTY,
        }
    }

    /// Number that CPUs of one unit of the level have in common.
    const fn unit(self, place: &CpuPlace) -> u32 {
        match self {
            Self::Smt => place.core,
            Self::Cluster => place.cluster,
            Self::Mc => place.llc,
            Self::Package => place.package,
            Self::All => 0,
        }
    }
}

/// Builds the table of a machine whose CPUs in `online` are in use.
pub(crate) fn level_table(machine: &MachineTopology, online: &CpuMask, params: &BuildParams) -> LevelTable {
    let mut levels: Vec<_> =
        machine.levels.iter().map(|&level| hardware_level(machine, online, params, level)).collect();
    let nodes = CpuUnits::by_number(online, |cpu| machine.cpus[cpu.index()].node);
    let distances = NodeDistances::new(machine, &nodes);
    let nr_levels = if params.numa_domains_lost { 1 } else { usize::MAX };
    levels.extend(distances.levels(&nodes, params.node_reclaim_distance).into_iter().take(nr_levels));
    LevelTable { levels, nodes, numa_topology: distances.topology_type() }
}

/// Returns levels whose units have the CPUs that domains count: all that still work. Levels between nodes do not have a
/// node of which no CPU is left in `online` (`sched_update_numa()`).
pub(crate) fn counted_levels(
    machine: &MachineTopology,
    working: &CpuMask,
    online: &CpuMask,
    params: &BuildParams,
) -> Vec<Level> {
    let node_of = |cpu: CpuId| machine.cpus[cpu.index()].node;
    let mut in_nodes = CpuMask::new(working.nr_cpus());
    for cpu in working.iter().filter(|&cpu| online.iter().any(|other| node_of(other) == node_of(cpu))) {
        in_nodes.set(cpu);
    }
    let mut levels = level_table(machine, working, params).levels;
    levels.truncate(machine.levels.len());
    levels.extend(level_table(machine, &in_nodes, params).levels.into_iter().skip(machine.levels.len()));
    levels
}

fn hardware_level(machine: &MachineTopology, online: &CpuMask, params: &BuildParams, level: TopologyLevel) -> Level {
    let mut flags = level.flags();
    if level == TopologyLevel::Cluster && params.rules.has_cluster_flag {
        flags.insert(SdFlags::CLUSTER);
    }
    if params.asym_priority.is_some() && flags.contains(SdFlags::SHARE_PKG_RESOURCES) {
        flags.insert(SdFlags::ASYM_PACKING);
    }
    Level {
        name: level.name(),
        flags,
        overlap: false,
        beyond_reclaim_distance: false,
        units: CpuUnits::by_number(online, |cpu| level.unit(&machine.cpus[cpu.index()])),
    }
}

/// Distances between the nodes that have CPUs, in the order of the nodes in their [`CpuUnits`].
struct NodeDistances {
    rows: Vec<Vec<u32>>,
    /// All distances that occur, ascending.
    values: Vec<u32>,
}

impl NodeDistances {
    fn new(machine: &MachineTopology, nodes: &CpuUnits) -> Self {
        let numbers: Vec<usize> =
            nodes.masks().iter().map(|cpus| machine.cpus[first(cpus).index()].node as usize).collect();
        let row = |&a: &usize| numbers.iter().map(|&b| machine.distances[a][b]).collect();
        let rows: Vec<Vec<u32>> = numbers.iter().map(row).collect();
        let values = rows.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
        Self { rows, values }
    }

    /// Returns the levels that `sched_init_numa()` appends. At each, a CPU's domain spans the nodes up to a
    /// distance from its own.
    ///
    /// The first level is NODE: the CPUs of a node, and of nodes as near to it as it is to itself.
    fn levels(&self, nodes: &CpuUnits, node_reclaim_distance: u32) -> Vec<Level> {
        let by_distance: Vec<BTreeMap<u32, CpuMask>> = self.rows.iter().map(|row| rings_around(row, nodes)).collect();
        let mut reach: Vec<CpuMask> = nodes.masks().iter().map(|cpus| CpuMask::new(cpus.nr_cpus())).collect();
        let mut levels = Vec::new();
        for (number, distance) in self.values.iter().enumerate() {
            for (mask, rings) in reach.iter_mut().zip(&by_distance) {
                if let Some(ring) = rings.get(distance) {
                    mask.or_with(ring);
                }
            }
            levels.push(Level {
                name: if number == 0 { "NODE" } else { "NUMA" },
                flags: if number == 0 { SdFlags::EMPTY } else { SdFlags::NUMA },
                overlap: number > 0,
                beyond_reclaim_distance: *distance > node_reclaim_distance,
                units: nodes.with_masks(reach.clone()),
            });
        }
        levels
    }

    /// Models `init_numa_topology_type()`, which examines only the first pair of nodes that are farthest
    /// apart.
    fn topology_type(&self) -> NumaTopologyType {
        let Some(&farthest) = self.values.get(2..).and_then(<[u32]>::last) else {
            return NumaTopologyType::Direct;
        };
        let distance = |a: usize, b: usize| self.rows[a][b];
        let nodes = 0..self.rows.len();
        let mut pairs = nodes.clone().flat_map(|a| nodes.clone().map(move |b| (a, b)));
        let Some((a, b)) = pairs.find(|&(a, b)| distance(a, b) >= farthest) else {
            return NumaTopologyType::Direct;
        };
        if nodes.clone().any(|c| distance(a, c) < farthest && distance(b, c) < farthest) {
            NumaTopologyType::GluelessMesh
        } else {
            NumaTopologyType::Backplane
        }
    }
}

/// Returns the CPUs at each distance from a node.
fn rings_around(row: &[u32], nodes: &CpuUnits) -> BTreeMap<u32, CpuMask> {
    let mut rings: BTreeMap<u32, CpuMask> = BTreeMap::new();
    for (&distance, cpus) in row.iter().zip(nodes.masks()) {
        rings.entry(distance).or_insert_with(|| CpuMask::new(cpus.nr_cpus())).or_with(cpus);
    }
    rings
}

fn first(cpus: &CpuMask) -> CpuId {
    cpus.first().expect("a unit has a cpu")
}
