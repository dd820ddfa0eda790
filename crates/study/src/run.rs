// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of a study: a machine, an arm, a workload.

use crate::StudyError;
use crate::definition::ArmDefinition;
use fairlab_machine::description::preset;
use fairlab_machine::engine::{Machine, Setup};
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::Observer;
use fairlab_sched::topology::{CpuPlace, MachineTopology, TopologyLevel};
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::workload::Workload;

/// A machine of one CPU of a capacity, ticking 1000 times a second; kernel code is free.
pub(crate) fn single_cpu(capacity: Capacity) -> Hardware {
    let place = CpuPlace { core: 0, cluster: 0, llc: 0, package: 0, node: 0 };
    let topology = MachineTopology {
        cpus: vec![place],
        capacity: vec![capacity],
        levels: vec![TopologyLevel::Mc],
        distances: vec![vec![10]],
    };
    Hardware { tick: Nanos::from_millis(1), ..Hardware::plain(&format!("one CPU of capacity {capacity}"), topology) }
}

/// A preset machine with all its prices.
///
/// # Panics
/// If there is none of that name: studies name presets of their own.
pub(crate) fn machine(name: &str) -> Hardware {
    let description = preset(name).unwrap_or_else(|| panic!("studies use presets, and {name} is none"));
    Hardware::from_description(&description)
}

/// A number that depends on nothing but these two: splitmix64's finisher.
pub(crate) fn draw(seed: u64, place: u64) -> u64 {
    let mut x = (seed << 32 | place).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A machine under an arm, with a workload for some time.
pub(crate) fn setup(arm: &ArmDefinition, hardware: Hardware, workload: Workload, duration: Nanos) -> Setup {
    Setup {
        hardware,
        workload,
        features: arm.switched_features(),
        tunables: Vec::new(),
        named_tunables: arm.set_tunables(),
        duration,
        snapshot_every: None,
        perturb: None,
        policy: None,
    }
}

/// What a run needs beside the arm.
pub(crate) struct Run {
    pub(crate) hardware: Hardware,
    pub(crate) workload: Workload,
    pub(crate) duration: Nanos,
    pub(crate) snapshot_every: Option<Nanos>,
}

/// Runs a workload under an arm to its end, and gives the machine as it then is.
pub(crate) fn run(arm: &ArmDefinition, run: Run, observer: &mut dyn Observer) -> Result<Machine, StudyError> {
    let setup = setup(arm, run.hardware, run.workload, run.duration);
    let mut machine = Machine::new(Setup { snapshot_every: run.snapshot_every, ..setup })?;
    machine.run(observer)?;
    Ok(machine)
}
