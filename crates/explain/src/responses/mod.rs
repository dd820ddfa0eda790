// SPDX-License-Identifier: GPL-2.0-or-later
//! Critical paths of responses, from the end back to the start, and the parts of their time.
//!
//! Contexts are those of [`fairlab_measure::responses`]; here each of them keeps the copies that tasks took. A path
//! goes backwards from the task that ended the response: through the time in which it held the context to the copy that
//! it took last, and, if it had waited for this copy, on to the task that released it. A copy that was there already
//! when a task came for it waited in its object, because the task was busy with other work.
//!
//! [`timeline`] has the states of tasks and CPUs, from which each part of a path gets its reason. The parts of a path
//! add up to the response time.

mod path;
#[cfg(test)]
mod tests;
mod timeline;

use self::path::{PathRecorder, PathSums};
use self::timeline::Timelines;
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::Machine;
use fairlab_measure::responses::tracker::Tracker;
use fairlab_measure::responses::{ResponseSummary, WaitedBehindFamily};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;
use std::collections::BTreeSet;

/// Number of switches between two removals of states that no response needs.
const FORGET_EVERY: u32 = 4096;

/// Definition with its contexts and the sums of its paths.
#[derive(Clone, Debug)]
struct TracedDefinition {
    tracker: Tracker,
    recorder: PathRecorder,
}

/// Observer that finds the critical paths of responses.
#[derive(Clone, Debug)]
pub struct ResponsePaths {
    definitions: Vec<TracedDefinition>,
    timelines: Timelines,
    nr_switches: u32,
}

impl ResponsePaths {
    /// Returns the observer of a machine that has not started; `None` if its workload defines no responses.
    pub fn new(machine: &Machine<impl Engine>) -> Option<Box<Self>> {
        let workload = machine.workload();
        let definition =
            |spec| TracedDefinition { tracker: Tracker::new(spec, workload), recorder: PathRecorder::default() };
        let definitions: Vec<_> = workload.responses.iter().map(definition).collect();
        let has_some = !definitions.is_empty();
        has_some.then(|| Box::new(Self { definitions, timelines: Timelines::new(machine), nr_switches: 0 }))
    }

    /// Discards the sums, and responses that began before `at`, the end of the warm-up.
    pub fn reset(&mut self, at: Nanos) {
        for definition in &mut self.definitions {
            definition.tracker.reset(at);
            definition.recorder.sums = [PathSums::default(), PathSums::default()];
        }
    }

    /// Adds the parts of the paths to the responses of a summary.
    pub fn add_to(&self, responses: &mut [ResponseSummary], machine: &Machine<impl Engine>) {
        let family_of = |task: usize| machine.workload().tasks[machine.tasks()[task].spec].family.as_str();
        for (response, definition) in responses.iter_mut().zip(&self.definitions) {
            let [all, late] = &definition.recorder.sums;
            response.parts = (all.count > 0).then_some(all.parts);
            response.late_parts = (late.count > 0).then_some(late.parts);
            let slow = if response.deadline_ns.is_some() { late } else { all };
            response.behind = behind(slow, family_of);
        }
    }

    fn forget(&mut self) {
        self.nr_switches = 0;
        let oldest = self.definitions.iter().filter_map(|definition| definition.recorder.oldest()).min();
        if let Some(oldest) = oldest {
            self.timelines.forget_before(oldest);
        }
    }
}

/// Returns the families behind which responses waited, the longest wait first.
fn behind<'f>(sums: &PathSums, family_of: impl Fn(usize) -> &'f str) -> Vec<WaitedBehindFamily> {
    let mut rows: Vec<WaitedBehindFamily> = Vec::new();
    for (&(task, cpu), &ns) in &sums.behind {
        let family = task.map_or("", &family_of);
        let index = rows.iter().position(|row| row.family == family).unwrap_or_else(|| {
            rows.push(WaitedBehindFamily { family: family.to_owned(), ..WaitedBehindFamily::default() });
            rows.len() - 1
        });
        rows[index].ns += ns.0;
        rows[index].cpus.push(cpu.0);
    }
    for row in &mut rows {
        row.cpus = row.cpus.iter().copied().collect::<BTreeSet<u32>>().into_iter().collect();
    }
    rows.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.family.cmp(&b.family)));
    rows
}

impl SchedObserver for ResponsePaths {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.timelines.event(now, event);
        let Event::Switch { prev, next, .. } = *event else { return };
        let (prev, next) = (self.timelines.task_of(prev), self.timelines.task_of(next));
        for TracedDefinition { tracker, recorder } in &mut self.definitions {
            let mut sink = recorder.with_timelines(&self.timelines);
            if let Some(task) = prev {
                tracker.switched_out(task);
            }
            if let Some(task) = next {
                tracker.switched_in(now, task, &mut sink);
            }
        }
        self.nr_switches += 1;
        if self.nr_switches >= FORGET_EVERY {
            self.forget();
        }
    }
}

impl<E: Engine> Observer<E> for ResponsePaths {
    fn wants(&self) -> Interest {
        Interest { details: true, activities: true, ..Interest::EVENTS }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.timelines.machine_event(now, event);
        for TracedDefinition { tracker, recorder } in &mut self.definitions {
            match *event {
                MachineEvent::Forked { task, spec, .. } => tracker.forked(task, spec),
                MachineEvent::Activity(activity) => {
                    tracker.on_activity(now, activity, &mut recorder.with_timelines(&self.timelines));
                }
                _ => {}
            }
        }
    }
}
