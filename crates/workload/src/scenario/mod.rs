// SPDX-License-Identifier: GPL-2.0-or-later
//! Scenario files: a machine and the programs of its tasks, one statement per line.
//!
//! The grammar is that of the reference, the program that runs the kernel's own scheduler, so that both
//! accept the same files. It is fixed: what the reference rejects is rejected here, and names of features,
//! tunables and arms are checked as well. Times in a scenario count from its start.
//!
//! Left out: tracing itself, and the machine. This module only reads what the file asks for.

mod changes;
mod machine;
mod parse;
pub(crate) mod policy;
mod program;
mod responses;
mod statements;
mod tasks;
pub(crate) mod tokens;

#[cfg(test)]
mod tests;

pub(crate) use parse::parse_changes;
pub use parse::{KernelLookup, ParseContext, SwitchNames, parse, parse_with_context};
pub use program::FIRST_PID;
pub use statements::{STATEMENTS, Statement, StatementTopic};
pub use tasks::operation_keywords;

pub use crate::workload::IrqLoad;

use crate::tunable_name::TunableName;
use crate::workload::Workload;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::topology::MachineTopology;
use fairlab_sched::units::{Capacity, Nanos};
use std::ops::RangeInclusive;

/// Content of a scenario file.
#[derive(Debug)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Scenario {
    /// Machine of the file. If a given or named machine replaces it, this one has CPUs of equal capacity.
    pub machine: ScenarioMachine,
    /// Name or path of the machine on which the file runs, if it names one (`machine`).
    pub named_machine: Option<String>,
    /// Whether a machine was given in place of the file's own.
    pub is_replaced: bool,
    /// Kernel of the run, if the file names one (`kernel`); `--kernel` overrides it.
    pub kernel: Option<String>,
    /// Rules of the run's kernel, which the reader of the file resolved.
    pub series: KernelSeries,
    /// End of the run; events at this time still happen.
    pub end: Nanos,
    /// Level of the trace, 0 to 3, if the file sets one.
    pub trace: Option<u8>,
    /// Whether every update of a load average is traced.
    pub trace_pelt: bool,
    /// Whether virtual times are traced, on kernels that have lags.
    pub trace_lag: bool,
    /// Time between two snapshots; `None` if only the last one is taken.
    pub stats: Option<Nanos>,
    /// Sched features and whether they are on, in the order of the file; a later one overrides an earlier
    /// one.
    pub features: Vec<(String, bool)>,
    /// Tunables and their values, in the order of the file; a later one overrides an earlier one.
    pub tunables: Vec<(TunableName, i64)>,
    /// Arms and their values, in the order of the file; a later one overrides an earlier one.
    pub arms: Vec<(TunableName, i64)>,
    pub workload: Workload,
}

/// Machine of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioMachine {
    /// Number of CPUs, 1 to 4096.
    pub nr_cpus: u32,
    /// Topology of the CPUs, their capacities, sched domain levels and distances.
    pub topology: MachineTopology,
    /// Time from the sending of an inter-processor interrupt to its handling.
    pub ipi_latency: Nanos,
    /// Offset of the ticks: CPU i ticks i times this much later than CPU 0.
    pub tick_skew: Nanos,
    /// Time by which the scheduler's clock is advanced for each newly-idle `load_balance()` (`lbcost`).
    pub newidle_cost: Nanos,
    /// Whether a run operation is work, which takes longer on a slower CPU, rather than time.
    pub scale_work: bool,
    /// Frequency domains, driven by schedutil.
    pub freq_domains: Vec<FreqDomainSpec>,
    /// Changes of frequency: time, CPU, and share of its highest frequency, of 1024.
    pub freq_steps: Vec<(Nanos, u32, Capacity)>,
    /// Interrupts, in the order of the file and of the CPUs in it.
    pub irqs: Vec<IrqLoad>,
}

/// CPUs that change their frequency together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct FreqDomainSpec {
    pub cpus: RangeInclusive<u32>,
    /// Frequencies in kHz, ascending, each with its power in microwatts. All of them have a power, or none.
    pub opps: Vec<(u64, Option<u64>)>,
}
