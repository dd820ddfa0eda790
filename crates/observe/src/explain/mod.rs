// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a task is where it is and why it waited, why a CPU idles, why load balancing pulled or did not: sentences about one
//! moment of a run, for people.
//!
//! A [`History`] listens from the start of the run until that moment; [`explain`] then looks at it and at the machine. All
//! that is said comes from records of decisions, from switches, wake-ups and migrations, or from the state of runqueues
//! after the events of that very moment. What nobody has recorded is not said: which step of a program woke somebody, why
//! a task of another class than the fair one got its CPU, why a newly-idle pass was left out.

mod cpu;
mod history;
mod phrases;
mod task;

pub use history::History;

use fairlab_machine::sim::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_workload::suggest;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// What is asked about a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Why a task, given by name or pid, is where it is, and why it waited. A family's name is an answer about each of its tasks,
    /// and at length about the one that waits longest.
    Task(String),
    /// Why a CPU idles, or what it runs and why.
    Cpu(u32),
    /// Why the last balance passes of a CPU pulled tasks or did not.
    Balance(u32),
}

/// An answer.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Explanation {
    /// The moment, from the start of the run.
    pub at_ns: u64,
    /// Sentences, most important first.
    pub sentences: Vec<String>,
    /// The figures in them.
    pub facts: Value,
}

/// A question about what does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExplainError {
    /// No task of the workload has that name or pid.
    UnknownTask {
        /// As it was given.
        given: String,
        /// What may have been meant.
        nearest: Option<String>,
        /// Some names that exist.
        some: Vec<String>,
    },
    /// The machine has no such CPU.
    UnknownCpu {
        /// As it was given.
        cpu: u32,
        /// How many CPUs there are.
        nr_cpus: usize,
    },
}

impl fmt::Display for ExplainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTask { given, nearest: Some(near), .. } => {
                write!(f, "by then there is no task `{given}`\nhelp: did you mean {near}?")
            }
            Self::UnknownTask { given, some, .. } => {
                write!(
                    f,
                    "by then there is no task `{given}`\nhelp: tasks are given by name or pid: {}",
                    some.join(", ")
                )
            }
            Self::UnknownCpu { cpu, nr_cpus } => {
                write!(f, "there is no CPU {cpu}\nhelp: the machine has the CPUs 0 to {}", nr_cpus - 1)
            }
        }
    }
}

impl std::error::Error for ExplainError {}

/// Answers a question about the moment at which the machine stands: `now`, on its own clock, up to which all events have
/// been handled with the history listening.
///
/// # Errors
/// If the question is about a task or CPU that does not exist.
pub fn explain(
    machine: &Machine,
    history: &History,
    question: &Question,
    now: Nanos,
) -> Result<Explanation, ExplainError> {
    let view = ExplainContext { machine, history, now };
    let (sentences, facts) = match question {
        Question::Task(name) => match &find_tasks(machine, name)?[..] {
            [only] => task::explain(view, *only),
            family => task::explain_family(view, name, family),
        },
        Question::Cpu(cpu) => cpu::explain(view, known_cpu(machine, *cpu)?),
        Question::Balance(cpu) => cpu::explain_balance(view, known_cpu(machine, *cpu)?),
    };
    Ok(Explanation { at_ns: phrases::moment(now).0, sentences, facts })
}

/// What there is to look at.
#[derive(Clone, Copy)]
struct ExplainContext<'a> {
    machine: &'a Machine,
    history: &'a History,
    /// The moment, on the machine's clock.
    now: Nanos,
}

/// The places of a task, or of a family's, among the machine's; at least one.
///
/// Rules, in order: the name of a task that was forked; that of a family, as pages show it, with those of its tasks that were
/// forked if any were; a pid.
pub(crate) fn find_tasks(machine: &Machine, given: &str) -> Result<Vec<usize>, ExplainError> {
    let pid: Option<i32> = given.parse().ok();
    let tasks = machine.tasks();
    let only = tasks.iter().position(|task| task.name == given && task.id.is_some());
    let specs = &machine.workload().tasks;
    let family = tasks.iter().enumerate().filter(|(_, task)| specs[task.spec].family == given);
    let (forked, others): (Vec<_>, Vec<_>) = family.partition(|(_, task)| task.id.is_some());
    let family = if forked.is_empty() { others } else { forked };
    let family: Vec<usize> = family.into_iter().map(|(place, _)| place).collect();
    if let Some(only) = only.filter(|only| family.len() < 2 || !family.contains(only)) {
        return Ok(vec![only]);
    }
    if !family.is_empty() {
        return Ok(family);
    }
    let by_pid = tasks.iter().position(|task| Some(task.pid) == pid);
    by_pid.or_else(|| tasks.iter().position(|task| task.name == given)).map(|place| vec![place]).ok_or_else(|| {
        const SHOWN: usize = 8;
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        let mut some: Vec<String> = names.iter().take(SHOWN).map(|&name| name.to_owned()).collect();
        if names.len() > SHOWN {
            some.push(format!("and {} more", names.len() - SHOWN));
        }
        let nearest = suggest::nearest(given, &names).map(str::to_owned);
        ExplainError::UnknownTask { given: given.to_owned(), nearest, some }
    })
}

fn known_cpu(machine: &Machine, cpu: u32) -> Result<CpuId, ExplainError> {
    let nr_cpus = machine.sched().nr_cpus();
    if (cpu as usize) < nr_cpus { Ok(CpuId(cpu)) } else { Err(ExplainError::UnknownCpu { cpu, nr_cpus }) }
}
