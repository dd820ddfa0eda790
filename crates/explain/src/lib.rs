// SPDX-License-Identifier: GPL-2.0-or-later
//! Explanations of one moment of a run: why a task is on its CPU or waited, why a CPU idles, why a
//! load-balance pass moved tasks or did not.
//!
//! A [`History`] observes the run from its start to that moment; [`explain`] then reads it and the state of
//! the machine. `explain` reports only recorded decisions, switches, wake-ups and migrations, and the
//! runqueues after the events of that moment. It does not report unrecorded causes: the program step that
//! woke a task, the reason why a task outside the fair class got its CPU, picks of kernels without EEVDF, the
//! reason for a missing newly-idle pass.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests advance machines by hand"))]

pub mod claims;
mod cpu;
mod eevdf;
mod history;
mod records;
pub mod responses;
mod task;

pub use history::History;

use claims::Statement;
use fairlab_machine::sim::Machine;
use fairlab_measure::task_names::find_tasks;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};

/// Subject of an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// A task, or a family of tasks, by name or pid: where it is and why it waited.
    Task(String),
    /// A CPU: why it idles, or which task it runs and why.
    Cpu(u32),
    /// The last load-balance passes of a CPU: why they moved tasks or did not.
    Balance(u32),
}

/// Explanation of a moment, for readers and as data.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Explanation {
    /// Explained moment in ns from the start of the run.
    pub at_ns: u64,
    /// Claims with their sentences, the most important first.
    pub claims: Vec<Statement>,
}

impl Explanation {
    /// Returns the sentences of all claims.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().flat_map(|statement| statement.text.iter().map(String::as_str))
    }
}

/// Explains a moment. The machine must have processed all events up to `now`, on its own clock, with the
/// history as an observer.
///
/// # Errors
/// If the question names a task or CPU that does not exist.
pub fn explain(machine: &Machine, history: &History, question: &Question, now: Nanos) -> Result<Explanation, Message> {
    let view = ExplainContext { machine, history, now };
    let claims = match question {
        Question::Task(name) => match &find_tasks(machine, name)?[..] {
            [only] => task::explain(view, *only),
            family => task::explain_family(view, name, family),
        },
        Question::Cpu(cpu) => cpu::explain(view, known_cpu(machine, *cpu)?),
        Question::Balance(cpu) => cpu::explain_balance(view, known_cpu(machine, *cpu)?),
    };
    Ok(Explanation { at_ns: records::moment(now), claims })
}

#[derive(Clone, Copy)]
struct ExplainContext<'a> {
    machine: &'a Machine,
    history: &'a History,
    /// Explained moment, on the machine's clock.
    now: Nanos,
}

fn known_cpu(machine: &Machine, cpu: u32) -> Result<CpuId, Message> {
    let nr_cpus = machine.sched().nr_cpus();
    if (cpu as usize) < nr_cpus {
        return Ok(CpuId(cpu));
    }
    let help = format!("the machine has the CPUs 0 to {}", nr_cpus - 1);
    Err(Message::new(format!("there is no CPU {cpu}")).with_help(help))
}
