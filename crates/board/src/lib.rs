// SPDX-License-Identifier: GPL-2.0-or-later
//! Machine descriptions: the parts of a simulated machine, read from TOML.
//!
//! A [`MachineDescription`] is always valid: [`parse`], [`load`] and [`preset`] are the only constructors,
//! and they check everything that the rest of the program relies on. The book's chapter on machine files
//! documents the keys with units, ranges and defaults. Not described: memory, sizes and costs of caches, and
//! idle states that several CPUs enter together.

mod base;
pub mod capture;
mod counted;
mod cpu_list;
mod cpu_types;
mod cpus;
mod describe;
mod distance;
mod draw;
mod error;
mod frequency;
mod hz;
mod idle;
mod interrupts;
mod keys;
mod limits;
mod machine;
mod preemption;
mod presets;
mod processor;
mod raw;
mod read;
mod smt;
mod turbo;
mod values;
mod write;

pub use counted::{
    BytesCosts, CallCost, CallCosts, ChannelCosts, CountedCost, CountedCosts, OPERATIONS, SHEETS, TcpCosts,
    counted_costs, counted_instructions,
};
pub use cpu_list::{CpuList, format_cpu_list};
pub use cpu_types::CpuType;
pub use cpus::MAX_CPUS;
pub use describe::describe;
pub use distance::{ByDistance, Distance};
pub use frequency::{FrequencyDomainDescription, FrequencyGovernor};
pub use hz::Hz;
pub use idle::{IdleGovernorKind, IdleStateDescription};
pub use interrupts::InterruptLoadDescription;
pub use keys::{KeyInfo, plain_keys};
pub use limits::TimedFrequencyLimit;
pub use machine::{DEFAULT_KERNEL_PROFILE, KERNEL_PROFILES, MachineDescription};
pub use preemption::Preemption;
pub use presets::{MachineText, load, load_text, parse, preset, preset_names, preset_text, presets};
pub use processor::{Fact, FactKey, Processor};
pub use smt::Smt;
pub use turbo::Turbo;
