// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab check`: reads a workload file, places it on its machine, and runs it with all scheduler
//! invariants checked.

use super::run::{RunObservers, simulate};
use crate::args::CheckArgs;
use crate::engine;
use crate::error::{CliError, command_line, quote_for_shell};
use crate::output::figures::counted;
use crate::output::{Output, sanitize};
use crate::plan::{Choices, Plan};
use fairlab_machine::engine::Engine;
use fairlab_observe::cpus::SoftirqCounts;
use fairlab_observe::stall::Stall;
use serde::Serialize;

/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "check/1";

/// Result of a check.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct CheckOutput<'a> {
    /// Name and version of this format.
    schema: &'static str,
    /// Workload file, as given.
    file: &'a str,
    /// Kind of the file: `scenario` or `rt-app`.
    kind: &'a str,
    /// Name of the machine.
    machine: &'a str,
    /// Number of CPUs of the machine.
    cpus: usize,
    /// Number of tasks of the file: those that it names and those that they have forked, without kernel
    /// threads.
    tasks: usize,
    /// Counts of packets and of `ksoftirqd` threads.
    softirqs: SoftirqCounts,
    /// Simulated time, in nanoseconds.
    simulated_ns: u64,
    /// Number of events of the machine.
    events: u64,
    /// Hash over all actions of the scheduler.
    digest: String,
    /// Whether the scheduler's invariants were checked after every event. Of a compiled-kernel engine only
    /// the accounting is checked, at each tick.
    invariants_checked: bool,
    /// Whether the check ended early because the run has more events than a check examines.
    is_cut: bool,
    /// Tasks that made no progress.
    standstill: Stall,
    /// Parts of the workload that the simulation could not honour.
    warnings: Vec<String>,
}

/// Largest number of checked events on a small machine with few tasks. A larger machine or workload gets
/// fewer, since each check takes longer.
const MAX_CHECKED_EVENTS: u64 = 2_000_000;

pub(crate) fn check(output: &mut Output, args: &CheckArgs) -> Result<(), CliError> {
    let choices = Choices { is_check: true, keep_duplicate_keys: args.keep_duplicate_keys, ..Choices::default() };
    if let Some(engine) = args.variant.kernel_engine() {
        return engine::check(output, args, choices, engine);
    }
    check_plan(output, Plan::new(&args.file, &args.variant, choices)?)
}

/// Checks a plan on a machine of any engine. The kernel side of an engine checks its own accounting at each
/// tick, and an error there ends the run.
pub(crate) fn check_plan<E: Engine>(output: &mut Output, mut plan: Plan<E>) -> Result<(), CliError> {
    plan.machine.check_every_event(quote_for_shell(&command_line()));
    let (nr_cpus, nr_tasks) = (plan.machine.hardware().nr_cpus(), plan.machine.tasks().len());
    plan.machine.limit_events(MAX_CHECKED_EVENTS / nr_cpus.div_ceil(8).max(nr_tasks.div_ceil(64)) as u64);
    let whole = plan.machine.duration();
    let mut listeners = RunObservers::for_summary(&plan.machine);
    let name = plan.about.input.name.clone();
    simulate(&mut plan.machine, &mut listeners).map_err(|error| CliError::run(format!("{name}: {error}")))?;
    let machine = &plan.machine;
    let mut standstill = Stall::from_machine(machine);
    if plan.about.is_shortened {
        // Such tasks may start later.
        standstill.never_ran.clear();
        standstill.never_started.clear();
    }
    let said = standstill.sentences();
    let is_deadlock = standstill.is_deadlock();
    let refused = listeners.recorder.as_ref().and_then(|recorder| recorder.rejected.sentences(machine));
    let specs = &machine.workload().tasks;
    let verdict = CheckOutput {
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
        invariants_checked: machine.as_built_in().is_some(),
        is_cut: machine.duration() < whole,
        standstill,
        warnings: refused.into_iter().chain(machine.workload().warnings.iter().cloned()).collect(),
    };
    output.warn_all(&verdict.warnings)?;
    if output.is_json() {
        output.json(&verdict)?;
        return fail_on_deadlock(&name, is_deadlock, &said);
    }
    if !is_deadlock {
        output.warn_all(&said)?;
    }
    if verdict.is_cut {
        let events = verdict.events;
        output.warn(&format!(
            "only the first {} of {whole} were checked: they have {events} events, the largest number that a check examines; \
             `fairlab run` continues to the end",
            machine.duration()
        ))?;
    }
    let on = if plan.about.machine_text.is_some() { format!(" on {}", verdict.machine) } else { String::new() };
    if is_deadlock {
        return fail_on_deadlock(&name, is_deadlock, &said);
    }
    output.text(&format!(
        "{}: OK: {}{on}, {}, {}; {} simulated, {} {}; digest {}\n",
        sanitize(verdict.file),
        verdict.kind,
        counted(verdict.cpus, "CPU"),
        counted(verdict.tasks, "task"),
        machine.duration(),
        if verdict.invariants_checked {
            "invariants checked after"
        } else {
            "the engine's accounting checked at each tick;"
        },
        counted(verdict.events, "event"),
        verdict.digest
    ))
}

/// Reports a deadlock as a failed run: its tasks wait for each other for ever.
fn fail_on_deadlock(name: &str, is_deadlock: bool, said: &[String]) -> Result<(), CliError> {
    if is_deadlock { Err(CliError::Run(format!("{name}: {}", said.join("\n")))) } else { Ok(()) }
}
