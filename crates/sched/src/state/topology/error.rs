// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors in the description of a machine, and the checks that find them.

use crate::state::topology::{BuildParams, MachineTopology};
use crate::types::cpumask::{CpuMask, MAX_CPUS};
use crate::types::ids::CpuId;
use crate::types::units::SCHED_CAPACITY_SCALE;
use core::fmt;

/// Distance from a node to itself, as in ACPI's SLIT.
const LOCAL_DISTANCE: u32 = 10;

/// Reason why no sched domains can be built for a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub enum BuildError {
    /// The machine has no CPU, or more than the maximum.
    NrCpus(usize),
    /// The number of capacities differs from the number of CPUs.
    NrCapacities { cpus: usize, capacities: usize },
    /// A capacity is not in 1 to 1024.
    Capacity { cpu: CpuId, capacity: u64 },
    /// The number of priorities differs from the number of CPUs.
    NrPriorities { cpus: usize, priorities: usize },
    /// The table of topology levels is empty.
    NoLevels,
    /// The mask of CPUs in use is empty, or belongs to a machine of another size.
    Online,
    /// The table of distances has no row for a CPU's node.
    NodeWithoutDistances { cpu: CpuId, node: u32 },
    /// A row of the table of distances does not have one entry for each row.
    DistancesNotSquare {
        /// Index of the row, from 0.
        row: usize,
    },
    /// The distance from a node to itself is not 10.
    OwnDistance { node: usize, distance: u32 },
    /// A distance is not in 10 to 255.
    Distance { from: usize, to: usize, distance: u32 },
    /// Domains of a level share CPUs and yet differ.
    ///
    /// Either units of the machine cross each other, or some nodes, but not all, are as near to each other as
    /// to themselves.
    UnitsCross {
        level: &'static str,
        /// CPU of such a domain.
        cpu: CpuId,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NrCpus(nr) => write!(f, "a machine has 1 to {MAX_CPUS} cpus, not {nr}"),
            Self::NrCapacities { cpus, capacities } => {
                write!(f, "{capacities} capacities for {cpus} cpus: give one for each cpu")
            }
            Self::Capacity { cpu, capacity } => {
                write!(f, "cpu {}: capacity {capacity} is not in 1 to {SCHED_CAPACITY_SCALE}", cpu.0)
            }
            Self::NrPriorities { cpus, priorities } => {
                write!(f, "{priorities} priorities for {cpus} cpus: give one for each cpu, or none")
            }
            Self::NoLevels => f.write_str("no topology levels: name at least one, such as mc"),
            Self::Online => f.write_str("the mask of cpus in use must have a cpu and be as large as the machine"),
            Self::NodeWithoutDistances { cpu, node } => {
                write!(f, "cpu {}: node {node} has no row in the table of distances: add it", cpu.0)
            }
            Self::DistancesNotSquare { row } => {
                write!(f, "distances: row {row} has not one entry for each node")
            }
            Self::OwnDistance { node, distance } => {
                write!(f, "distances: {distance} from node {node} to itself, which must be {LOCAL_DISTANCE}")
            }
            Self::Distance { from, to, distance } => {
                write!(f, "distances: {distance} from node {from} to {to} is not in 10 to 255")
            }
            Self::UnitsCross { level, cpu } => write!(
                f,
                "level {level}: the domain of cpu {} shares cpus with another one and yet differs from it: \
                 let units of each level lie within one unit of the next, and keep nodes apart by more than 10",
                cpu.0
            ),
        }
    }
}

impl core::error::Error for BuildError {}

/// Checks that the description is complete and all numbers are in range; returns the CPUs in use. Crossing
/// units are found only when spans are built.
pub(crate) fn check(machine: &MachineTopology, params: &BuildParams) -> Result<CpuMask, BuildError> {
    let cpus = machine.cpus.len();
    if !(1..=MAX_CPUS).contains(&cpus) {
        return Err(BuildError::NrCpus(cpus));
    }
    if machine.capacity.len() != cpus {
        return Err(BuildError::NrCapacities { cpus, capacities: machine.capacity.len() });
    }
    if let Some((cpu, &capacity)) =
        machine.capacity.iter().enumerate().find(|(_, c)| !(1..=SCHED_CAPACITY_SCALE).contains(*c))
    {
        return Err(BuildError::Capacity { cpu: CpuId::from_index(cpu), capacity });
    }
    if let Some(priority) = params.asym_priority.as_ref().filter(|priority| priority.len() != cpus) {
        return Err(BuildError::NrPriorities { cpus, priorities: priority.len() });
    }
    if machine.levels.is_empty() {
        return Err(BuildError::NoLevels);
    }
    check_distances(machine)?;
    match &params.online {
        None => Ok(CpuMask::full(cpus)),
        Some(online) if online.nr_cpus() == cpus && !online.is_empty() => Ok(online.clone()),
        Some(_) => Err(BuildError::Online),
    }
}

fn check_distances(machine: &MachineTopology) -> Result<(), BuildError> {
    let nr_nodes = machine.distances.len();
    let far = machine.cpus.iter().enumerate().find(|(_, place)| place.node as usize >= nr_nodes);
    if let Some((cpu, place)) = far {
        return Err(BuildError::NodeWithoutDistances { cpu: CpuId::from_index(cpu), node: place.node });
    }
    for (from, row) in machine.distances.iter().enumerate() {
        if row.len() != nr_nodes {
            return Err(BuildError::DistancesNotSquare { row: from });
        }
        if row[from] != LOCAL_DISTANCE {
            return Err(BuildError::OwnDistance { node: from, distance: row[from] });
        }
        if let Some((to, &distance)) =
            row.iter().enumerate().find(|(_, distance)| !(LOCAL_DISTANCE..256).contains(*distance))
        {
            return Err(BuildError::Distance { from, to, distance });
        }
    }
    Ok(())
}
