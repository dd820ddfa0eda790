// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab check`: reads a workload file, places it on its machine, and runs it with all scheduler
//! invariants checked.

use crate::args::CheckArgs;
use crate::execution::check::{CheckedRun, check_run};
use crate::execution::worker;
use crate::output::figures::counted;
use crate::output::{Output, sanitize, wrap};
use crate::values::error::CliError;
use fairlab_measure::cpus::SoftirqCounts;
use fairlab_measure::stall::Stall;
use fairlab_run::input::InputFile;
use fairlab_run::job::Job;
use fairlab_run::prepare::PreparedRun;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
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
    /// Sentences about what differs between the repetitions of a comparison.
    seed_draws: Vec<String>,
    /// Assumptions about facts that the file leaves open.
    assumptions: Vec<String>,
    /// Parts of the workload that the simulation could not honour.
    warnings: Vec<String>,
}

pub(crate) fn check(output: &mut Output, args: &CheckArgs) -> Result<(), CliError> {
    let workload = WorkloadSpec::File(InputFile::new(&args.file).read_workload()?);
    let spec = RunSpec { workload, settings: args.settings.settings() };
    let name = spec.workload.name().to_owned();
    let checked = match spec.settings.kernel_engine().map(str::to_owned) {
        Some(engine) => {
            let spec = worker::portable(&spec)?;
            worker::run_shown(output, &engine, &Job::Check { spec })?
        }
        None => check_run(&spec, PreparedRun::boot)?,
    };
    print_result(output, &name, checked)
}

fn print_result(output: &mut Output, name: &str, checked: CheckedRun) -> Result<(), CliError> {
    let CheckedRun { simulated_ns, whole_ns, .. } = checked;
    let texts = checked.standstill.sentences();
    let has_failed = checked.standstill.is_failure();
    let verdict = CheckOutput {
        schema: SCHEMA,
        file: name,
        kind: &checked.kind,
        machine: &checked.machine,
        cpus: checked.cpus,
        tasks: checked.tasks,
        softirqs: checked.softirqs,
        simulated_ns,
        events: checked.events,
        digest: checked.digest,
        invariants_checked: checked.invariants_checked,
        is_cut: simulated_ns < whole_ns,
        standstill: checked.standstill,
        seed_draws: checked.seed_draws,
        assumptions: checked.assumptions,
        warnings: checked.warnings,
    };
    output.warn_all(&verdict.warnings)?;
    if output.is_json() {
        output.json(&verdict)?;
        return fail_on_stall(name, has_failed, &texts);
    }
    if !has_failed {
        output.warn_all(&texts)?;
    }
    if verdict.is_cut {
        let events = verdict.events;
        output.warn(&format!(
            "only the first {} of {} were checked: they have {events} events, the largest number that a check examines; \
             `fairlab run` continues to the end",
            Nanos(simulated_ns),
            Nanos(whole_ns)
        ))?;
    }
    let on = if checked.has_machine_file { format!(" on {}", verdict.machine) } else { String::new() };
    if has_failed {
        return fail_on_stall(name, has_failed, &texts);
    }
    output.text(&format!(
        "{}: OK: {}{on}, {}, {}; {} simulated, {} {}; digest {}\n",
        sanitize(verdict.file),
        verdict.kind,
        counted(verdict.cpus, "CPU"),
        counted(verdict.tasks, "task"),
        Nanos(simulated_ns),
        if verdict.invariants_checked {
            "invariants checked after"
        } else {
            "the engine's accounting checked at each tick;"
        },
        counted(verdict.events, "event"),
        verdict.digest
    ))?;
    let sentences = verdict.assumptions.iter().chain(&verdict.seed_draws);
    sentences.into_iter().try_for_each(|sentence| output.text(&wrap(sentence, 2)))
}

/// Reports tasks that can never run again as a failed run.
fn fail_on_stall(name: &str, has_failed: bool, texts: &[String]) -> Result<(), CliError> {
    if has_failed { Err(CliError::Run(Message::new(format!("{name}: {}", texts.join("\n"))))) } else { Ok(()) }
}
