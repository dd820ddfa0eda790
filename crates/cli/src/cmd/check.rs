// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab check`: reads a workload file, places it on its machine, and runs it with all scheduler
//! invariants checked.

use crate::args::CheckArgs;
use crate::error::{CliError, command_line, quote_for_shell};
use crate::execute::failed;
use crate::interrupt;
use crate::output::figures::counted;
use crate::output::progress::Progress;
use crate::output::{Output, sanitize};
use crate::worker;
use fairlab_machine::engine::Engine;
use fairlab_observe::cpus::SoftirqCounts;
use fairlab_observe::stall::Stall;
use fairlab_run::drive::drive;
use fairlab_run::error::RequestError;
use fairlab_run::input::InputFile;
use fairlab_run::job::Job;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::{PreparedRun, ReadyRun, prepare};
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

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

/// Check of a run, from this process or from a worker.
#[derive(Serialize, Deserialize)]
pub(crate) struct CheckedRun {
    kind: String,
    machine: String,
    /// Whether the machine is that of a file, not of a scenario.
    has_machine_file: bool,
    cpus: usize,
    tasks: usize,
    softirqs: SoftirqCounts,
    simulated_ns: u64,
    whole_ns: u64,
    events: u64,
    digest: String,
    invariants_checked: bool,
    standstill: Stall,
    warnings: Vec<String>,
}

pub(crate) fn check(output: &mut Output, args: &CheckArgs) -> Result<(), CliError> {
    let workload = WorkloadSpec::File(InputFile::new(&args.file).read_workload()?);
    let spec = RunSpec { workload, settings: args.settings.settings() };
    let name = spec.workload.name().to_owned();
    let checked = match spec.settings.kernel_engine().map(str::to_owned) {
        Some(engine) => {
            let spec = worker::portable(&spec, &prepare(&spec)?.about);
            worker::run_shown(output, &engine, &Job::Check { spec })?
        }
        None => check_run(&spec, PreparedRun::boot)?,
    };
    print_result(output, &name, checked)
}

/// Checks a run on a machine of any engine, which `boot` creates. The kernel side of an engine checks its own
/// accounting at each tick, and an error there ends the run.
pub(crate) fn check_run<E: Engine>(
    spec: &RunSpec,
    boot: impl FnOnce(PreparedRun) -> Result<ReadyRun<E>, RequestError>,
) -> Result<CheckedRun, CliError> {
    let mut prepared = prepare(spec)?;
    let limit = longest_check(prepared.setup.hardware.nr_cpus());
    let is_shortened = prepared.setup.duration > limit;
    prepared.setup.duration = prepared.setup.duration.min(limit);
    let ReadyRun { mut machine, about, .. } = boot(prepared)?;
    machine.check_every_event(quote_for_shell(&command_line()));
    let (nr_cpus, nr_tasks) = (machine.hardware().nr_cpus(), machine.tasks().len());
    machine.limit_events(MAX_CHECKED_EVENTS / nr_cpus.div_ceil(8).max(nr_tasks.div_ceil(64)) as u64);
    let whole = machine.duration();
    let mut observers = RunObservers::for_summary(&machine);
    let mut progress = Progress::new("simulating", whole);
    let run = drive(&mut machine, &mut observers, about.warmup, &mut |elapsed| {
        progress.show(elapsed);
        interrupt::requested().is_none()
    });
    progress.clear();
    run.map_err(|error| failed(&about, error))?;
    let mut standstill = Stall::from_machine(&machine);
    if is_shortened {
        // Such tasks may start later.
        standstill.never_ran.clear();
        standstill.never_started.clear();
    }
    let refused = observers.summary.as_ref().and_then(|observer| observer.rejected.sentences(&machine));
    let specs = &machine.workload().tasks;
    Ok(CheckedRun {
        kind: about.subject.kind,
        machine: about.subject.machine,
        has_machine_file: about.machine.is_some(),
        cpus: nr_cpus,
        tasks: machine.tasks().iter().filter(|task| !specs[task.spec].is_kthread).count(),
        softirqs: SoftirqCounts::of_machine(&machine),
        simulated_ns: machine.duration().0,
        whole_ns: whole.0,
        events: machine.counters().events,
        digest: machine.digest().to_string(),
        invariants_checked: machine.as_built_in().is_some(),
        standstill,
        warnings: refused.into_iter().chain(machine.workload().warnings.iter().cloned()).collect(),
    })
}

/// Returns the longest simulated time of a check: a second, and less on a large machine, where events are
/// more frequent and checks slower.
fn longest_check(nr_cpus: usize) -> Nanos {
    const SMALL: usize = 32;
    let factor = nr_cpus.max(SMALL) as u64;
    Nanos(1_000_000_000 * (SMALL * SMALL) as u64 / (factor * factor))
}

fn print_result(output: &mut Output, name: &str, checked: CheckedRun) -> Result<(), CliError> {
    let CheckedRun { simulated_ns, whole_ns, .. } = checked;
    let said = checked.standstill.sentences();
    let is_deadlock = checked.standstill.is_deadlock();
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
        warnings: checked.warnings,
    };
    output.warn_all(&verdict.warnings)?;
    if output.is_json() {
        output.json(&verdict)?;
        return fail_on_deadlock(name, is_deadlock, &said);
    }
    if !is_deadlock {
        output.warn_all(&said)?;
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
    if is_deadlock {
        return fail_on_deadlock(name, is_deadlock, &said);
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
    ))
}

/// Reports a deadlock as a failed run: its tasks wait for each other for ever.
fn fail_on_deadlock(name: &str, is_deadlock: bool, said: &[String]) -> Result<(), CliError> {
    if is_deadlock { Err(CliError::Run(format!("{name}: {}", said.join("\n")))) } else { Ok(()) }
}
