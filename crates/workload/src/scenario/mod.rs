// SPDX-License-Identifier: GPL-2.0-or-later
//! Scenario files: a machine and what its tasks do, one statement per line.
//!
//! The grammar is that of the oracle, the program that runs the kernel's own scheduler, so that one file can be given to
//! both. It is fixed: what that program refuses is refused here, and names of features, tunables and arms are checked as
//! well. Times in a scenario count from its start.
//!
//! Left out: tracing itself, and the machine; this module only says what the file asks for.

mod changes;
mod machine;
mod parse;
pub(crate) mod policy;
mod program;
mod statements;
mod tasks;
pub(crate) mod tokens;

#[cfg(test)]
mod tests;

pub(crate) use parse::add_to;
pub use parse::{ParseContext, parse, parse_on};
pub use program::FIRST_PID;
pub use statements::{About, STATEMENTS, Statement};

pub use crate::workload::IrqLoad;

use crate::workload::Workload;
use fairlab_sched::topology::MachineTopology;
use fairlab_sched::units::{Capacity, Nanos};
use std::ops::RangeInclusive;

/// Everything that a scenario file says.
#[derive(Debug)]
pub struct Scenario {
    /// The machine; all alike CPUs if another one takes its place.
    pub machine: ScenarioMachine,
    /// The machine on which the file wants to run, if it names one (`machine`).
    pub named_machine: Option<String>,
    /// Whether a machine was given in place of the file's own.
    pub is_replaced: bool,
    /// Events at this time still happen.
    pub end: Nanos,
    /// Level of the trace, 0 to 3, if the file says one.
    pub trace: Option<u8>,
    /// Whether every update of a load average is traced.
    pub trace_pelt: bool,
    /// Time between two snapshots, if there are any but the last.
    pub stats: Option<Nanos>,
    /// Sched features and whether they are on, in the order of the file; a later one overrides an earlier one.
    pub features: Vec<(String, bool)>,
    /// Tunables and their values, in the order of the file; a later one overrides an earlier one.
    pub tunables: Vec<(String, u64)>,
    /// Arms and their values, in the order of the file; a later one overrides an earlier one.
    pub arms: Vec<(String, i64)>,
    /// Groups, tasks and changes.
    pub workload: Workload,
}

/// The machine of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioMachine {
    /// Number of CPUs, 1 to 4096.
    pub nr_cpus: u32,
    /// Their places, capacities, levels of sched domains and distances.
    pub topology: MachineTopology,
    /// From the sending of an inter-processor interrupt to its handling.
    pub ipi_latency: Nanos,
    /// CPU i ticks i times as much later than CPU 0.
    pub tick_skew: Nanos,
    /// How far the clock runs ahead for each newly-idle `load_balance()` (`lbcost`).
    pub newidle_cost: Nanos,
    /// Whether a run operation is work, which takes longer on a slower CPU, rather than time.
    pub scale_work: bool,
    /// Frequency domains, driven by schedutil.
    pub freq_domains: Vec<FreqDomainSpec>,
    /// Changes of frequency: when, which CPU, and what part of 1024 of its highest frequency.
    pub freq_steps: Vec<(Nanos, u32, Capacity)>,
    /// Interrupts, in the order of the file and of the CPUs in it.
    pub irqs: Vec<IrqLoad>,
}

/// CPUs that change their frequency together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreqDomainSpec {
    /// The CPUs.
    pub cpus: RangeInclusive<u32>,
    /// Frequencies in kHz, ascending, each with its power in microwatts; all have one, or none.
    pub opps: Vec<(u64, Option<u64>)>,
}
