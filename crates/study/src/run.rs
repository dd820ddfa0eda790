// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of a study: one workload on one machine under one arm.

use crate::definition::ArmDefinition;
use crate::error::StudyError;
use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_run::drive::drive_through;
use fairlab_sched::topology::{CpuPlace, MachineTopology, TopologyLevel};
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::workload::Workload;

/// Returns a machine with one CPU of the given capacity and a 1000 Hz tick; its kernel code takes no time.
pub(crate) fn single_cpu(capacity: Capacity) -> Hardware {
    let place = CpuPlace { core: 0, cluster: 0, llc: 0, package: 0, node: 0 };
    let topology = MachineTopology {
        cpus: vec![place],
        capacity: vec![capacity],
        levels: vec![TopologyLevel::Mc],
        distances: vec![vec![10]],
    };
    Hardware {
        tick: Nanos::from_millis(1),
        ..Hardware::from_topology(&format!("one CPU of capacity {capacity}"), topology)
    }
}

/// Returns a preset machine with its cost model.
///
/// # Panics
/// If no preset has that name: the built-in studies name only existing presets.
pub(crate) fn machine(name: &str) -> Hardware {
    let description = preset(name).unwrap_or_else(|| panic!("studies use presets, and {name} is none"));
    Hardware::from_description(&description)
}

/// Returns a pseudo-random number that depends only on the two arguments (finaliser of splitmix64).
pub(crate) fn draw(seed: u64, place: u64) -> u64 {
    let mut x = (seed << 32 | place).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns the setup of a workload on a machine under an arm, for the given simulated time.
///
/// # Errors
/// If a setting of the arm does not fit the machine.
pub(crate) fn setup(
    arm: &ArmDefinition,
    hardware: Hardware,
    workload: Workload,
    duration: Nanos,
) -> Result<Setup, StudyError> {
    arm.applied_to(Setup::new(arm.kernel().series(), hardware, workload, duration))
}

/// Everything that a run needs except the arm.
pub(crate) struct FixedRun {
    pub(crate) hardware: Hardware,
    pub(crate) workload: Workload,
    pub(crate) duration: Nanos,
    pub(crate) snapshot_every: Option<Nanos>,
}

/// Runs a workload under an arm to its end, and returns the machine in its final state.
pub(crate) fn run(arm: &ArmDefinition, run: FixedRun, observer: &mut dyn Observer) -> Result<Machine, StudyError> {
    let setup = setup(arm, run.hardware, run.workload, run.duration)?;
    let mut machine = Machine::new(Setup { snapshot_every: run.snapshot_every, ..setup })?;
    drive_through(&mut machine, observer)?;
    Ok(machine)
}
