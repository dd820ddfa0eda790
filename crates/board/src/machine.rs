// SPDX-License-Identifier: GPL-2.0-or-later
//! The description of a machine: the content of its file, checked.

use super::cpu_types::CpuType;
use super::cpus::Shape;
use super::frequency::FrequencyDomainDescription;
use super::idle::IdleStateDescription;
use super::interrupts::InterruptLoadDescription;
use super::keys::PlainKeys;
use super::limits::TimedFrequencyLimit;
use super::processor::Processor;
use super::smt::Smt;
use super::turbo::Turbo;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::MachineTopology;
use fairlab_sched::units::Capacity;

/// Kernel profiles, oldest first: all releases from 4.19 to 6.1, which are named sets of features and tunables, and
/// 6.12, which has rules of its own.
pub const KERNEL_PROFILES: [&str; 25] = [
    "4.19", "4.20", "5.0", "5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10", "5.11", "5.12",
    "5.13", "5.14", "5.15", "5.16", "5.17", "5.18", "5.19", "6.0", "6.1", "6.12",
];

/// Kernel profile of machines and runs that name none: the only default of a kernel.
pub const DEFAULT_KERNEL_PROFILE: &str = "6.12";

/// Name and origin of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) source: String,
    pub(super) kernel: String,
}

/// A machine: the validated content of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineDescription {
    pub(super) identity: Identity,
    pub(super) keys: PlainKeys,
    pub(super) shape: Shape,
    pub(super) cpu_types: Vec<CpuType>,
    pub(super) smt: Option<Smt>,
    pub(super) turbo: Option<Turbo>,
    pub(super) frequency_domains: Vec<FrequencyDomainDescription>,
    pub(super) idle_states: Vec<IdleStateDescription>,
    pub(super) interrupt_loads: Vec<InterruptLoadDescription>,
    pub(super) steals: Vec<InterruptLoadDescription>,
    pub(super) frequency_limits: Vec<TimedFrequencyLimit>,
    pub(super) processor: Option<Processor>,
}

impl MachineDescription {
    /// Name of the machine: letters, digits and `-_.+`.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// Short description of the machine; may be empty.
    pub fn description(&self) -> &str {
        &self.identity.description
    }

    /// Source of the numbers; may be empty.
    pub fn source(&self) -> &str {
        &self.identity.source
    }

    /// Default kernel profile of the machine: one of [`KERNEL_PROFILES`].
    pub fn kernel(&self) -> &str {
        &self.identity.kernel
    }

    /// Number of CPUs: 1 to [`MAX_CPUS`].
    pub fn nr_cpus(&self) -> usize {
        self.shape.places.len()
    }

    /// Returns the topology as the scheduler uses it.
    pub fn topology(&self) -> MachineTopology {
        MachineTopology {
            cpus: self.shape.places.clone(),
            capacity: (0..self.shape.nr_cpus()).map(|cpu| self.capacity(CpuId(cpu))).collect(),
            levels: self.shape.levels.clone(),
            distances: self.shape.distances.clone(),
        }
    }

    /// CPU types, in the order of the file. Each CPU has one type; the biggest has capacity 1024.
    pub fn cpu_types(&self) -> &[CpuType] {
        &self.cpu_types
    }

    /// Returns the type of a CPU.
    ///
    /// # Panics
    /// If the machine does not have the CPU.
    pub fn cpu_type(&self, cpu: CpuId) -> &CpuType {
        let of_cpu = self.cpu_types.iter().find(|one| one.cpus.contains(cpu));
        of_cpu.unwrap_or_else(|| panic!("machine {}: cpu {} of {}", self.name(), cpu.0, self.nr_cpus()))
    }

    /// Capacity of a CPU at its highest frequency: 1 to 1024.
    ///
    /// # Panics
    /// If the machine does not have the CPU.
    pub fn capacity(&self, cpu: CpuId) -> Capacity {
        self.cpu_type(cpu).capacity
    }

    /// Frequency domains, in the order of the file; they do not overlap.
    pub fn frequency_domains(&self) -> &[FrequencyDomainDescription] {
        &self.frequency_domains
    }

    /// Returns the frequency domain of a CPU. A CPU without one always runs at full speed.
    pub fn frequency_domain(&self, cpu: CpuId) -> Option<&FrequencyDomainDescription> {
        self.frequency_domains.iter().find(|domain| domain.cpus.contains(cpu))
    }

    /// Combined throughput of the threads of a core; `None` if threads do not affect each other.
    pub const fn smt(&self) -> Option<&Smt> {
        self.smt.as_ref()
    }

    /// Turbo frequencies; `None` if the hardware does not choose frequencies.
    pub const fn turbo(&self) -> Option<&Turbo> {
        self.turbo.as_ref()
    }

    /// Idle states of all CPUs, in the order of the file.
    pub fn idle_states(&self) -> &[IdleStateDescription] {
        &self.idle_states
    }

    /// Returns the idle states of a CPU, from the shallowest to the deepest.
    pub fn cpu_idle_states(&self, cpu: CpuId) -> impl Iterator<Item = &IdleStateDescription> {
        self.idle_states.iter().filter(move |state| state.cpus.contains(cpu))
    }

    /// Periodic interrupts that take time from CPUs.
    pub fn interrupt_loads(&self) -> &[InterruptLoadDescription] {
        &self.interrupt_loads
    }

    /// Frequency limits, with the times at which they begin.
    pub fn frequency_limits(&self) -> &[TimedFrequencyLimit] {
        &self.frequency_limits
    }

    /// Steal time: periods that a hypervisor takes from the CPUs, which are virtual then.
    pub fn steals(&self) -> &[InterruptLoadDescription] {
        &self.steals
    }

    /// Facts of the processor that costs follow from; `None` if kernel code has zero cost.
    pub const fn processor(&self) -> Option<&Processor> {
        self.processor.as_ref()
    }
}
