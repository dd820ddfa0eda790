// SPDX-License-Identifier: GPL-2.0-or-later
//! Run with all scheduler invariants checked after every event, from this process or from a worker.

use super::execute::{drive_shown, failed};
use crate::values::error::{CliError, command_line, quote_for_shell};
use fairlab_machine::engine::Engine;
use fairlab_machine::vary::MAX_START_DELAY;
use fairlab_measure::cpus::SoftirqCounts;
use fairlab_measure::stall::Stall;
use fairlab_measure::summary::RunSummary;
use fairlab_run::error::RequestError;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::{PreparedRun, ReadyRun, prepare};
use fairlab_run::spec::RunSpec;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use fairlab_workload::responses::ResponseTasks;
use fairlab_workload::step::TaskIndex;
use fairlab_workload::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Largest number of checked events on a small machine with few tasks. A larger machine or workload gets
/// fewer, since each check takes longer.
const MAX_CHECKED_EVENTS: u64 = 2_000_000;

/// Check of a run, from this process or from a worker.
#[derive(Serialize, Deserialize)]
pub(crate) struct CheckedRun {
    pub(crate) kind: String,
    pub(crate) machine: String,
    /// Whether the machine is that of a file, not of a scenario.
    pub(crate) has_machine_file: bool,
    pub(crate) cpus: usize,
    pub(crate) tasks: usize,
    pub(crate) softirqs: SoftirqCounts,
    pub(crate) simulated_ns: u64,
    pub(crate) whole_ns: u64,
    pub(crate) events: u64,
    pub(crate) digest: String,
    pub(crate) invariants_checked: bool,
    pub(crate) standstill: Stall,
    pub(crate) seed_draws: Vec<String>,
    pub(crate) assumptions: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// Checks a run on a machine of any engine, which `boot` creates. The kernel side of an engine checks its own
/// accounting at each tick, and an error there ends the run.
pub(crate) fn check_run<E: Engine>(
    spec: &RunSpec,
    boot: impl FnOnce(PreparedRun) -> Result<ReadyRun<E>, RequestError>,
) -> Result<CheckedRun, CliError> {
    let mut prepared = prepare(spec)?.with_whole_workload()?;
    let limit = longest_check(prepared.setup.hardware.nr_cpus());
    let is_shortened = prepared.setup.duration > limit;
    prepared.setup.duration = prepared.setup.duration.min(limit);
    let ReadyRun { mut machine, about, .. } = boot(prepared)?;
    machine.check_every_event(quote_for_shell(&command_line()));
    let (nr_cpus, nr_tasks) = (machine.hardware().nr_cpus(), machine.tasks().len());
    machine.limit_events(MAX_CHECKED_EVENTS / nr_cpus.div_ceil(8).max(nr_tasks.div_ceil(64)) as u64);
    let whole = machine.duration();
    let mut observers = RunObservers::for_summary(&machine);
    drive_shown(&mut machine, &mut observers, &about).map_err(|error| failed(&about, error))?;
    let mut standstill = Stall::from_machine(&machine);
    if is_shortened {
        // Such tasks may start later.
        standstill.never_ran.clear();
        standstill.never_started.clear();
    }
    let refused = observers.summary.as_ref().and_then(|observer| observer.rejected.sentences(&machine));
    let broken = observers
        .summary
        .as_ref()
        .map_or_else(Vec::new, |observer| RunSummary::new(about.subject.clone(), &machine, observer).broken_sums());
    if !broken.is_empty() {
        return Err(failed(&about, Message::new(format!("sums of the summary differ: {}", broken.join("; ")))));
    }
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
        seed_draws: seed_draws(machine.workload()),
        assumptions: machine.workload().assumptions.clone(),
        warnings: refused.into_iter().chain(machine.workload().warnings.iter().cloned()).collect(),
    })
}

/// Returns sentences about what differs between the repetitions of a comparison.
fn seed_draws(workload: &Workload) -> Vec<String> {
    let each = format!("repetitions (--runs): each seed delays the start of each task by up to {MAX_START_DELAY}");
    let of_group = |group: BTreeSet<TaskIndex>| {
        let mut families: Vec<&str> = group.iter().map(|&task| workload.tasks[task].family.as_str()).collect();
        families.dedup();
        format!("repetitions (--runs): these tasks start together, because of their responses: {}", families.join(", "))
    };
    let groups = ResponseTasks::new(workload).start_groups().into_iter().filter(|group| group.len() > 1);
    std::iter::once(each).chain(groups.map(of_group)).collect()
}

/// Returns the longest simulated time of a check: a second, and less on a large machine, where events are
/// more frequent and checks slower.
fn longest_check(nr_cpus: usize) -> Nanos {
    const SMALL: usize = 32;
    let factor = nr_cpus.max(SMALL) as u64;
    Nanos(1_000_000_000 * (SMALL * SMALL) as u64 / (factor * factor))
}
