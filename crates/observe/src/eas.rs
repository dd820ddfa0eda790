// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether tasks are placed for the sake of energy, and if not, why not.

use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::{FrequencyDomain, Governor, Hardware};
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::sched::Sched;
use serde::{Deserialize, Serialize};

/// Placement by energy (`sched_energy_enabled()`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EasStatus {
    /// Whether tasks are placed for the sake of energy, as long as no CPU is over-utilised.
    pub by_energy: bool,
    /// What it follows from.
    pub why: String,
}

impl EasStatus {
    /// What a machine shows.
    pub fn from_machine(machine: &Machine<impl Engine>) -> Self {
        let Some(sched) = machine.sched().as_sched() else {
            return Self { by_energy: false, why: "a kernel engine has no frequency domains yet".to_owned() };
        };
        let by_energy = sched.sched_energy_enabled();
        let why = if by_energy {
            "capacities differ, schedutil drives all CPUs, and all have powers".to_owned()
        } else {
            disabled_reason(sched, machine.hardware())
        };
        Self { by_energy, why }
    }
}

/// The first of the kernel's conditions that does not hold.
fn disabled_reason(sched: &Sched, hardware: &Hardware) -> String {
    let capacities = &hardware.topology.capacity;
    let domain_of = |cpu: usize| {
        let cpu = CpuId::from_index(cpu);
        hardware.frequency_domains.iter().find(|domain| domain.contains(cpu))
    };
    let first =
        |is_so: &dyn Fn(Option<&FrequencyDomain>) -> bool| (0..hardware.nr_cpus()).find(|&cpu| is_so(domain_of(cpu)));
    if capacities.iter().all(|capacity| *capacity == capacities[0]) {
        "all CPUs have the same capacity".to_owned()
    } else if !sched.tunables().energy_aware {
        "the tunable energy_aware is 0".to_owned()
    } else if sched.domains().smt_present {
        "cores have several threads".to_owned()
    } else if let Some(cpu) = first(&|domain| domain.is_none()) {
        format!("CPU {cpu} is in no frequency domain")
    } else if let Some(cpu) = first(&|domain| domain.is_some_and(|domain| domain.power_uw().is_empty())) {
        format!("the powers of CPU {cpu} are not known")
    } else if let Some(cpu) =
        first(&|domain| domain.is_some_and(|domain| matches!(domain.governor(), Governor::Fixed { .. })))
    {
        format!("schedutil does not drive CPU {cpu}")
    } else {
        "no sched domain spans all capacities, or the energy model is too complex".to_owned()
    }
}
