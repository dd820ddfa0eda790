// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab check`: whether a workload file is one, fits its machine, and runs with all invariants of the scheduler kept.

use super::run::{RunObservers, simulate};
use crate::args::CheckArgs;
use crate::engine;
use crate::error::{CliError, command_line, for_shell};
use crate::output::{Output, plain};
use crate::plan::{Choices, Plan};
use fairlab_machine::engine::Engine;
use fairlab_observe::cpus::SoftirqCounts;
use fairlab_observe::stall::Stall;
use serde::Serialize;

/// The form of what is written as JSON.
pub(crate) const SCHEMA: &str = "check/1";

/// What is written as JSON.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct CheckVerdict<'a> {
    /// The form of this.
    schema: &'static str,
    /// The workload's file, as it was given.
    file: &'a str,
    /// What kind of file: `scenario` or `rt-app`.
    kind: &'a str,
    /// The machine's name.
    machine: &'a str,
    /// Its CPUs.
    cpus: usize,
    /// Tasks of the file: those that it names and those that they have forked; threads of the kernel are none.
    tasks: usize,
    /// Packets, and threads ksoftirqd.
    softirqs: SoftirqCounts,
    /// How much was simulated.
    simulated_ns: u64,
    /// Events of the machine.
    events: u64,
    /// The hash over all that the scheduler did.
    digest: String,
    /// Whether the scheduler's invariants were checked after every event. Of a kernel engine only its books are looked at, each tick.
    invariants_checked: bool,
    /// Whether so many events came that not all of them were looked at.
    is_cut: bool,
    /// What did not get on.
    standstill: Stall,
    /// What could not be honoured.
    warnings: Vec<String>,
}

/// So many events are checked on a small machine with few tasks; each check of more takes longer.
const MOST_EVENTS: u64 = 2_000_000;

/// Runs the command.
pub(crate) fn check(output: &mut Output, args: &CheckArgs) -> Result<(), CliError> {
    let choices = Choices { is_check: true, keep_duplicate_keys: args.keep_duplicate_keys, ..Choices::default() };
    if let Some(engine) = args.variant.kernel_engine() {
        return engine::check(output, args, choices, engine);
    }
    check_on(output, Plan::new(&args.file, &args.variant, choices)?)
}

/// The same on a machine of any engine. What an engine's own books say its kernel's side looks at, each tick; a run in which they are wrong ends.
pub(crate) fn check_on<E: Engine>(output: &mut Output, mut plan: Plan<E>) -> Result<(), CliError> {
    plan.machine.check_every_event(for_shell(&command_line()));
    let (nr_cpus, nr_tasks) = (plan.machine.hardware().nr_cpus(), plan.machine.tasks().len());
    plan.machine.limit_events(MOST_EVENTS / nr_cpus.div_ceil(8).max(nr_tasks.div_ceil(64)) as u64);
    let whole = plan.machine.duration();
    let mut listeners = RunObservers::recording(&plan.machine);
    let name = plan.about.input.name.clone();
    simulate(&mut plan.machine, &mut listeners).map_err(|error| CliError::run(format!("{name}: {error}")))?;
    let machine = &plan.machine;
    let mut standstill = Stall::from_machine(machine);
    if plan.about.is_shortened {
        // They may come later.
        standstill.never_ran.clear();
        standstill.never_started.clear();
    }
    let said = standstill.sentences();
    let is_deadlock = standstill.is_deadlock();
    let refused = listeners.recorder.as_ref().and_then(|recorder| recorder.rejected.sentences(machine));
    let specs = &machine.workload().tasks;
    let verdict = CheckVerdict {
        schema: SCHEMA,
        file: &name,
        kind: &plan.about.subject.kind,
        machine: &plan.about.subject.machine,
        cpus: machine.hardware().nr_cpus(),
        tasks: machine.tasks().iter().filter(|task| !specs[task.spec].is_kthread).count(),
        softirqs: SoftirqCounts::of_machine(machine),
        simulated_ns: machine.duration().0,
        events: machine.counters().events,
        digest: machine.digest().to_string(),
        invariants_checked: machine.built_in().is_some(),
        is_cut: machine.duration() < whole,
        standstill,
        warnings: refused.into_iter().chain(machine.workload().warnings.iter().cloned()).collect(),
    };
    output.warn_all(&verdict.warnings)?;
    if output.is_json() {
        output.json(&verdict)?;
        return end(&name, is_deadlock, &said);
    }
    if !is_deadlock {
        output.warn_all(&said)?;
    }
    if verdict.is_cut {
        let events = verdict.events;
        output.warn(&format!(
            "only the first {} of {whole} were checked: there are {events} events in them, as many as a check looks at; \
             `fairlab run` goes on to the end",
            machine.duration()
        ))?;
    }
    let on = if plan.about.machine_text.is_some() { format!(" on {}", verdict.machine) } else { String::new() };
    if is_deadlock {
        return end(&name, is_deadlock, &said);
    }
    output.text(&format!(
        "{}: OK: {}{on}, {} CPUs, {} tasks; {} simulated, {} {} events; digest {}\n",
        plain(verdict.file),
        verdict.kind,
        verdict.cpus,
        verdict.tasks,
        machine.duration(),
        if verdict.invariants_checked {
            "invariants checked after"
        } else {
            "the engine's books were looked at each tick;"
        },
        verdict.events,
        verdict.digest
    ))
}

/// A workload whose tasks wait for each other for ever is one that does not run.
fn end(name: &str, is_deadlock: bool, said: &[String]) -> Result<(), CliError> {
    if is_deadlock { Err(CliError::Run(format!("{name}: {}", said.join("\n")))) } else { Ok(()) }
}
