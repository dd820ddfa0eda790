// SPDX-License-Identifier: GPL-2.0-or-later
//! First difference of two runs: the first moment from which on a CPU runs different tasks of the workload.
//!
//! Both machines advance slice by slice. After each slice, the changes of what the CPUs run are compared; those of equal
//! slices are dropped. Kernel threads count as idle time: kernels with different rules already boot differently. The moment
//! is therefore the first at which two timelines of the workload's tasks differ.

use crate::drive::{drive_on, drive_to};
use crate::error::RequestError;
use crate::explain::explain_moment;
use crate::prepare::{ReadyRun, prepare};
use crate::spec::RunSpec;
use fairlab_explain::Question;
use fairlab_explain::claims::{Claim, Statement};
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// Simulated time after which the changes of both runs are compared.
const SLICE: Nanos = Nanos::from_millis(1);

/// First difference of two runs.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FirstDifference {
    /// Time in ns from the start of the run.
    pub at_ns: u64,
    /// Task that one run started or stopped at that time.
    pub task: String,
    /// The task in each of the two runs.
    pub runs: [TaskInRun; 2],
}

/// Task of a workload at the first difference, in one of the two runs.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct TaskInRun {
    /// CPU that runs the task from then on; absent if none does.
    pub cpu: Option<u32>,
    /// Task of the workload that runs from then on on the CPU of the difference; absent if none does.
    pub instead: Option<String>,
    /// Explanation of the task at that time, the most important claims first.
    pub claims: Vec<Statement>,
}

impl FirstDifference {
    /// Returns for each run the claims about the task that tell why the runs part: its state; the selection of its CPU, if the
    /// runs have it on different CPUs; otherwise its wait and the last pick of its CPU.
    pub fn decisions(&self) -> [Vec<&Statement>; 2] {
        let cpu_of = |run: &TaskInRun| {
            run.claims.iter().find_map(|statement| match &statement.claim {
                Claim::TaskState(state) => Some(state.cpu),
                _ => None,
            })
        };
        let is_placement = cpu_of(&self.runs[0]) != cpu_of(&self.runs[1]);
        let decides = |statement: &&Statement| match statement.claim {
            Claim::TaskState(_) => true,
            Claim::Selection(_) | Claim::Unplaced(_) | Claim::Migrations(_) => is_placement,
            Claim::Wait(_) | Claim::Throttling(_) | Claim::Pick(_) => !is_placement,
            _ => false,
        };
        self.runs.each_ref().map(|run| run.claims.iter().filter(decides).collect())
    }
}

impl TaskInRun {
    /// Returns what the run does with the task, as a clause.
    pub fn clause(&self) -> String {
        match (self.cpu, &self.instead) {
            (Some(cpu), _) => format!("runs it on CPU {cpu}"),
            (None, Some(instead)) => format!("runs {instead} instead"),
            (None, None) => "does not run it".to_owned(),
        }
    }
}

/// First difference of two runs, with the claims that tell why they part.
#[derive(Clone, Debug, Serialize)]
pub struct Parting {
    /// The difference.
    #[serde(flatten)]
    pub difference: FirstDifference,
    /// For each run, sentences of the claims about the task that decide; see [`FirstDifference::decisions`].
    pub decisions: [Vec<String>; 2],
}

impl From<FirstDifference> for Parting {
    fn from(difference: FirstDifference) -> Self {
        let decisions = difference
            .decisions()
            .map(|claims| claims.iter().flat_map(|statement| statement.text.iter().cloned()).collect());
        Self { difference, decisions }
    }
}

/// Change of what a CPU runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OccupantChange {
    at: Nanos,
    cpu: CpuId,
    /// Index of the machine's task; `None` for the idle task and for kernel threads.
    task: Option<usize>,
}

/// Observer of what CPUs run.
#[derive(Debug)]
struct Occupants {
    /// Whether the tasks of a specification are kernel threads.
    is_kthread: Vec<bool>,
    tasks: BTreeMap<TaskId, usize>,
    /// Changes since the last comparison.
    changes: Vec<OccupantChange>,
    /// Tasks that ran at the last comparison.
    running: Vec<Option<usize>>,
}

impl Occupants {
    fn new(machine: &Machine) -> Self {
        Self {
            is_kthread: machine.workload().tasks.iter().map(|task| task.is_kthread).collect(),
            tasks: BTreeMap::new(),
            changes: Vec::new(),
            running: vec![None; machine.hardware().nr_cpus()],
        }
    }

    /// Takes the changes up to now, by time and CPU: those that last longer than the moment, and change something.
    fn take(&mut self) -> Vec<OccupantChange> {
        let mut changes = std::mem::take(&mut self.changes);
        changes.sort_by_key(|change| (change.at, change.cpu));
        changes.dedup_by(|next, kept| {
            let is_same_moment = (next.at, next.cpu) == (kept.at, kept.cpu);
            if is_same_moment {
                kept.task = next.task;
            }
            is_same_moment
        });
        let running = &mut self.running;
        changes.retain(|change| std::mem::replace(&mut running[change.cpu.index()], change.task) != change.task);
        changes
    }
}

impl SchedObserver for Occupants {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Event::Switch { cpu, next, .. } = *event {
            self.changes.push(OccupantChange { at: now, cpu, task: self.tasks.get(&next).copied() });
        }
    }
}

impl Observer for Occupants {
    fn wants(&self) -> Interest {
        Interest::EVENTS
    }

    fn machine_event(&mut self, _now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Forked { task, id, spec, .. } = *event
            && !self.is_kthread[spec]
        {
            self.tasks.insert(id, task);
        }
    }
}

/// Run whose changes are compared.
struct ComparedRun {
    machine: Machine,
    occupants: Occupants,
    is_bench: bool,
    has_more: bool,
    /// Tasks that ran at the start of the slice.
    before: Vec<Option<usize>>,
    /// Changes in the slice, by time and CPU.
    changes: Vec<OccupantChange>,
}

impl ComparedRun {
    fn start(spec: &RunSpec) -> Result<Self, RequestError> {
        let ReadyRun { mut machine, bench, .. } = prepare(spec)?.boot()?;
        let mut occupants = Occupants::new(&machine);
        drive_to(&mut machine, &mut occupants, START).map_err(|error| RequestError::Run(error.into()))?;
        let is_bench = bench.is_some();
        Ok(Self { machine, occupants, is_bench, has_more: true, before: Vec::new(), changes: Vec::new() })
    }

    /// Runs the slice up to a time. A benchmark also ends once all tasks have exited.
    fn advance(&mut self, until: Nanos) -> Result<(), RequestError> {
        self.before.clone_from(&self.occupants.running);
        self.changes.clear();
        if self.has_more {
            let more = drive_on(&mut self.machine, &mut self.occupants, until);
            let more = more.map_err(|error| RequestError::Run(error.into()))?;
            self.has_more = more && !(self.is_bench && self.machine.is_done());
            self.changes = self.occupants.take();
        }
        Ok(())
    }

    fn name(&self, task: usize) -> &str {
        &self.machine.tasks()[task].name
    }

    /// Returns a change with the name of its task, which does not depend on the number of kernel threads.
    fn named(&self, change: OccupantChange) -> (Nanos, CpuId, Option<&str>) {
        (change.at, change.cpu, change.task.map(|task| self.name(task)))
    }

    /// Returns the names of the tasks that the CPUs run after the changes up to a moment of the slice.
    fn running_at(&self, at: Nanos) -> Vec<Option<&str>> {
        let mut running = self.before.clone();
        for change in self.changes.iter().take_while(|change| change.at <= at) {
            running[change.cpu.index()] = change.task;
        }
        running.into_iter().map(|task| task.map(|task| self.name(task))).collect()
    }
}

/// Returns the first difference in a slice, without claims.
fn difference_in_slice(runs: &[ComparedRun; 2]) -> Option<FirstDifference> {
    let [first, second] = runs;
    let pairs = first.changes.iter().zip(&second.changes);
    let nr_equal = pairs.take_while(|&(one, two)| first.named(*one) == second.named(*two)).count();
    let parted = runs.iter().filter_map(|run| run.changes.get(nr_equal).map(|change| (run, *change)));
    // The earlier change is the difference: the other run does not have it. Of two at one moment, one that starts a task.
    let (of, OccupantChange { at, cpu, task }) =
        parted.min_by_key(|(_, change)| (change.at, change.cpu, change.task.is_none()))?;
    // A CPU that begins to idle has stopped a task.
    let task = task.map(|task| of.name(task)).or_else(|| of.running_at(Nanos(at.0 - 1))[cpu.index()])?;
    let in_run = |run: &ComparedRun| {
        let running = run.running_at(at);
        let on = running.iter().position(|name| *name == Some(task));
        // The machines may differ.
        let instead = running.get(cpu.index()).copied().flatten().filter(|name| *name != task);
        TaskInRun { cpu: on.map(|cpu| cpu as u32), instead: instead.map(str::to_owned), claims: Vec::new() }
    };
    Some(FirstDifference { at_ns: (at - START).0, task: task.to_owned(), runs: runs.each_ref().map(in_run) })
}

/// Progress callback: called after each slice with the simulated time of the longer run and the part that is done. Returns
/// whether the search continues.
pub type SliceFn<'a> = &'a mut dyn FnMut(Nanos, Nanos) -> bool;

/// Returns the first difference of two runs with the built-in scheduler; `None` if every CPU runs the same tasks of the
/// workload at all times, or if `on_slice` has ended the search.
///
/// # Errors
/// If a run cannot be prepared, or a program makes no progress.
pub fn first_difference(specs: [&RunSpec; 2], on_slice: SliceFn<'_>) -> Result<Option<FirstDifference>, RequestError> {
    let mut runs = [ComparedRun::start(specs[0])?, ComparedRun::start(specs[1])?];
    let length = runs[0].machine.duration().max(runs[1].machine.duration());
    let mut until = START;
    while runs.iter().any(|run| run.has_more) {
        until += SLICE;
        runs.iter_mut().try_for_each(|run| run.advance(until))?;
        if let Some(mut found) = difference_in_slice(&runs) {
            for (run, spec) in found.runs.iter_mut().zip(specs) {
                let mut machine = prepare(spec)?.boot()?.machine;
                let question = Question::Task(found.task.clone());
                run.claims = explain_moment(&mut machine, &question, Nanos(found.at_ns))?.claims;
            }
            return Ok(Some(found));
        }
        if !on_slice(length, until - START) {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
