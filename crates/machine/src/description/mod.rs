// SPDX-License-Identifier: GPL-2.0-or-later
//! Machine descriptions: the parts of a simulated machine, read from TOML.
//!
//! A [`MachineDescription`] is always valid: [`parse`], [`load`] and [`preset`] are the only constructors,
//! and they check everything that the rest of the program relies on. The book's chapter on machine files
//! documents the keys with units, ranges and defaults. Not described: memory, sizes and costs of caches, and
//! idle states that several CPUs enter together.

mod base;
mod costs;
mod cpu_list;
mod cpu_types;
mod cpus;
mod describe;
mod draw;
mod error;
mod frequency;
mod idle;
mod interrupts;
mod keys;
mod limits;
mod lines;
mod presets;
mod raw;
mod read;
mod smt;
mod suggest;
mod turbo;
mod write;

pub use costs::{CostList, OPERATIONS, OpCost};
pub use cpu_list::{CpuList, format_cpu_list};
pub use cpu_types::CpuType;
pub use cpus::MAX_CPUS;
pub use describe::describe;
pub use error::{DescriptionError, LoadError};
pub use frequency::{FrequencyDomainDescription, FrequencyGovernor};
pub use idle::{IdleGovernorKind, IdleStateDescription};
pub use interrupts::InterruptLoadDescription;
pub use keys::{KeyInfo, plain_keys};
pub use limits::TimedFrequencyLimit;
pub use lines::ChannelLines;
pub use presets::{MachineText, load, load_text, preset, preset_names, preset_text, presets};
pub use smt::Smt;
pub use turbo::Turbo;

use cpus::Shape;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::MachineTopology;
use fairlab_sched::units::{Capacity, Nanos};
use keys::PlainKeys;

/// Kernel profiles, which are named sets of features and tunables: all releases from 4.19 to 6.1, oldest
/// first. The last one is the default.
pub const KERNEL_PROFILES: [&str; 24] = [
    "4.19", "4.20", "5.0", "5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10", "5.11", "5.12",
    "5.13", "5.14", "5.15", "5.16", "5.17", "5.18", "5.19", "6.0", "6.1",
];

/// Parses the text of a machine file; `file` is its name in messages. A base must be a preset.
///
/// # Errors
/// The first error, with its line and a hint.
pub fn parse(file: &str, text: &str) -> Result<MachineDescription, DescriptionError> {
    read::read(file, text, &base::resolve_preset).map(|(machine, _)| machine)
}

/// Ticks per second (`CONFIG_HZ`): 100, 250, 300 or 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hz(u64);

impl Hz {
    /// Default of a kernel configuration.
    pub const DEFAULT: Self = Self(250);

    /// Returns the tick rate if a kernel can be configured for it.
    pub const fn new(hz: u64) -> Option<Self> {
        match hz {
            100 | 250 | 300 | 1000 => Some(Self(hz)),
            _ => None,
        }
    }

    /// Returns the number of ticks per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Length of a tick, rounded to the nearest nanosecond (`TICK_NSEC`).
    pub const fn tick(self) -> Nanos {
        Nanos((1_000_000_000 + self.0 / 2) / self.0)
    }
}

/// Name and origin of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    name: String,
    description: String,
    source: String,
    kernel: String,
}

/// A machine: the validated content of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineDescription {
    identity: Identity,
    keys: PlainKeys,
    shape: Shape,
    cpu_types: Vec<CpuType>,
    smt: Option<Smt>,
    turbo: Option<Turbo>,
    frequency_domains: Vec<FrequencyDomainDescription>,
    idle_states: Vec<IdleStateDescription>,
    interrupt_loads: Vec<InterruptLoadDescription>,
    steals: Vec<InterruptLoadDescription>,
    frequency_limits: Vec<TimedFrequencyLimit>,
    costs: CostList,
    channel_lines: ChannelLines,
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
        let of_cpu = self.cpu_types.iter().find(|one| one.cpus().contains(cpu));
        of_cpu.unwrap_or_else(|| panic!("machine {}: cpu {} of {}", self.name(), cpu.0, self.nr_cpus()))
    }

    /// Capacity of a CPU at its highest frequency: 1 to 1024.
    ///
    /// # Panics
    /// If the machine does not have the CPU.
    pub fn capacity(&self, cpu: CpuId) -> Capacity {
        self.cpu_type(cpu).capacity()
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

    /// Costs of kernel operations.
    pub const fn costs(&self) -> &CostList {
        &self.costs
    }

    /// Numbers of cache lines that channels transfer with a message.
    pub const fn channel_lines(&self) -> &ChannelLines {
        &self.channel_lines
    }

    /// Returns a machine file that describes this machine. Comments of the original file are lost
    /// ([`preset_text`] has those of the presets).
    pub fn to_toml(&self) -> String {
        write::write(self)
    }
}
