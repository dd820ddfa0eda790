// SPDX-License-Identifier: GPL-2.0-or-later
//! Machine descriptions: what a simulated machine consists of, read from TOML.
//!
//! A [`MachineDescription`] cannot be wrong: the only ways to get one are [`parse`], [`load`] and [`preset`], and they
//! check everything that the rest of the program relies on. What the keys mean, their units, ranges and defaults is in
//! the book's chapter on machine files. Not described: memory, caches' sizes and cost, states that CPUs enter together.

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
pub use cpu_list::{CpuList, cpu_list};
pub use cpu_types::CpuType;
pub use cpus::MAX_CPUS;
pub use describe::describe;
pub use error::{DescriptionError, LoadError};
pub use frequency::{FrequencyDomain, Governor};
pub use idle::{IdleGovernorKind, IdleStateKeys};
pub use interrupts::InterruptLoadKeys;
pub use keys::{KeyInfo, plain_keys};
pub use limits::FrequencyLimitAt;
pub use lines::ChannelLines;
pub use presets::{MachineText, load, load_text, preset, preset_names, preset_text, presets};
pub use smt::Smt;
pub use turbo::Turbo;

use cpus::Shape;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::MachineTopology;
use fairlab_sched::units::{Capacity, Nanos};
use keys::Keys;

/// Named kernels (sets of features and tunables): all releases from 4.19 to 6.1, oldest first; the last is the default.
pub const KERNEL_PROFILES: [&str; 24] = [
    "4.19", "4.20", "5.0", "5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10", "5.11", "5.12",
    "5.13", "5.14", "5.15", "5.16", "5.17", "5.18", "5.19", "6.0", "6.1",
];

/// Reads the text of a machine file; `file` is its name in messages. A base must be a machine that comes with the program.
///
/// # Errors
/// The first thing that is wrong, with its line and the way out.
pub fn parse(file: &str, text: &str) -> Result<MachineDescription, DescriptionError> {
    read::read(file, text, &base::only_presets).map(|(machine, _)| machine)
}

/// Ticks per second (`CONFIG_HZ`): 100, 250, 300 or 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hz(u64);

impl Hz {
    /// What a kernel has unless configured otherwise.
    pub const DEFAULT: Self = Self(250);

    /// One of the rates that a kernel can be configured for.
    pub const fn new(hz: u64) -> Option<Self> {
        match hz {
            100 | 250 | 300 | 1000 => Some(Self(hz)),
            _ => None,
        }
    }

    /// Ticks per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// From tick to tick, rounded to the nearest nanosecond: the kernel's `TICK_NSEC`.
    pub const fn tick(self) -> Nanos {
        Nanos((1_000_000_000 + self.0 / 2) / self.0)
    }
}

/// Who the machine is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    name: String,
    description: String,
    source: String,
    kernel: String,
}

/// A machine: everything that its file says, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineDescription {
    identity: Identity,
    keys: Keys,
    shape: Shape,
    cpu_types: Vec<CpuType>,
    smt: Option<Smt>,
    turbo: Option<Turbo>,
    frequency_domains: Vec<FrequencyDomain>,
    idle_states: Vec<IdleStateKeys>,
    interrupt_loads: Vec<InterruptLoadKeys>,
    steals: Vec<InterruptLoadKeys>,
    frequency_limits: Vec<FrequencyLimitAt>,
    prices: CostList,
    channel_lines: ChannelLines,
}

impl MachineDescription {
    /// The name: letters, digits and `-_.+`.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// What the machine is, in words; may be empty.
    pub fn description(&self) -> &str {
        &self.identity.description
    }

    /// Where the figures come from; may be empty.
    pub fn source(&self) -> &str {
        &self.identity.source
    }

    /// The kernel that the machine runs unless told otherwise: one of [`KERNEL_PROFILES`].
    pub fn kernel(&self) -> &str {
        &self.identity.kernel
    }

    /// How many CPUs there are: 1 to [`MAX_CPUS`].
    pub fn nr_cpus(&self) -> usize {
        self.shape.places.len()
    }

    /// The machine as the scheduler sees it.
    pub fn topology(&self) -> MachineTopology {
        MachineTopology {
            cpus: self.shape.places.clone(),
            capacity: (0..self.shape.nr_cpus()).map(|cpu| self.capacity(CpuId(cpu))).collect(),
            levels: self.shape.levels.clone(),
            distances: self.shape.distances.clone(),
        }
    }

    /// The kinds of CPUs, as the file lists them. Each CPU is of one type; the biggest has capacity 1024.
    pub fn cpu_types(&self) -> &[CpuType] {
        &self.cpu_types
    }

    /// The type of a CPU.
    ///
    /// # Panics
    /// If the machine does not have the CPU.
    pub fn cpu_type(&self, cpu: CpuId) -> &CpuType {
        let of_cpu = self.cpu_types.iter().find(|one| one.cpus().contains(cpu));
        of_cpu.unwrap_or_else(|| panic!("machine {}: cpu {} of {}", self.name(), cpu.0, self.nr_cpus()))
    }

    /// What a CPU can do at its highest frequency: 1 to 1024.
    ///
    /// # Panics
    /// If the machine does not have the CPU.
    pub fn capacity(&self, cpu: CpuId) -> Capacity {
        self.cpu_type(cpu).capacity()
    }

    /// The frequency domains, as the file lists them; they do not overlap.
    pub fn frequency_domains(&self) -> &[FrequencyDomain] {
        &self.frequency_domains
    }

    /// The frequency domain of a CPU; a CPU without one always runs at full speed.
    pub fn frequency_domain(&self, cpu: CpuId) -> Option<&FrequencyDomain> {
        self.frequency_domains.iter().find(|domain| domain.cpus.contains(cpu))
    }

    /// What threads of a core get done together; none if they do not disturb each other.
    pub const fn smt(&self) -> Option<&Smt> {
        self.smt.as_ref()
    }

    /// The frequencies that the hardware chooses, if it does.
    pub const fn turbo(&self) -> Option<&Turbo> {
        self.turbo.as_ref()
    }

    /// All idle states, as the file lists them.
    pub fn idle_states(&self) -> &[IdleStateKeys] {
        &self.idle_states
    }

    /// The idle states of a CPU, from the shallowest to the deepest.
    pub fn idle_states_of(&self, cpu: CpuId) -> impl Iterator<Item = &IdleStateKeys> {
        self.idle_states.iter().filter(move |state| state.cpus.contains(cpu))
    }

    /// Interrupts that take time from CPUs at a steady rate.
    pub fn interrupt_loads(&self) -> &[InterruptLoadKeys] {
        &self.interrupt_loads
    }

    /// Limits of frequencies, with their times.
    pub fn frequency_limits(&self) -> &[FrequencyLimitAt] {
        &self.frequency_limits
    }

    /// Time that a host takes from the CPUs, which are virtual then.
    pub fn steals(&self) -> &[InterruptLoadKeys] {
        &self.steals
    }

    /// What the kernel's operations cost.
    pub const fn prices(&self) -> &CostList {
        &self.prices
    }

    /// How many cache lines of a channel move with it.
    pub const fn channel_lines(&self) -> &ChannelLines {
        &self.channel_lines
    }

    /// A machine file that gives this description again. It is written anew: comments of the file that was read are
    /// not in it ([`preset_text`] has those of the presets).
    pub fn to_toml(&self) -> String {
        write::write(self)
    }
}
