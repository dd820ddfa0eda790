// SPDX-License-Identifier: GPL-2.0-or-later
//! State of energy-aware scheduling on a machine, with the reason if it is inactive.

use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::{FrequencyDomain, Governor, Hardware};
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::sched::Sched;
use serde::{Deserialize, Serialize};

/// Whether energy-aware scheduling (EAS) is active (`sched_energy_enabled()`), and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EasStatus {
    /// Whether EAS places waking tasks while no CPU is over-utilised.
    pub by_energy: bool,
    /// Reason for this state.
    pub why: String,
}

impl EasStatus {
    /// Returns the state on a machine.
    pub fn from_machine(machine: &Machine<impl Engine>) -> Self {
        let Some(sched) = machine.sched().as_sched() else {
            return Self {
                by_energy: false,
                why: "compiled-kernel engines do not support frequency domains yet".to_owned(),
            };
        };
        let by_energy = sched.sched_energy_enabled();
        let why = if by_energy {
            "capacities differ, schedutil drives all CPUs, and all of them have power values".to_owned()
        } else {
            disabled_reason(sched, machine.hardware())
        };
        Self { by_energy, why }
    }
}

/// Returns the first of the kernel's conditions for EAS that does not hold.
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
        "cores have several hardware threads".to_owned()
    } else if let Some(cpu) = first(&|domain| domain.is_none()) {
        format!("CPU {cpu} is in no frequency domain")
    } else if let Some(cpu) = first(&|domain| domain.is_some_and(|domain| domain.power_uw().is_empty())) {
        format!("the power values of CPU {cpu} are unknown")
    } else if let Some(cpu) =
        first(&|domain| domain.is_some_and(|domain| matches!(domain.governor(), Governor::Fixed { .. })))
    {
        format!("schedutil does not drive CPU {cpu}")
    } else {
        "no sched domain spans all capacities, or the energy model is too complex".to_owned()
    }
}
