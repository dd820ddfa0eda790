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

use self::path::{PathRecorder, PathSegment, PathSums, TracedResponse};
use self::timeline::Timelines;
use crate::Explanation;
use crate::claims::{PathSegmentRecord, ResponsePathClaim, ResponseState};
use crate::records::moment;
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::Machine;
use fairlab_measure::responses::tracker::Tracker;
use fairlab_measure::responses::{LongestResponse, ResponseSummary, WaitedBehindFamily};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use fairlab_workload::workload::ResponseSpec;
use std::collections::BTreeSet;

/// Number of switches between two removals of states that no response needs.
const FORGET_EVERY: u32 = 4096;

/// Definition with its contexts and the sums of its paths.
#[derive(Clone, Debug)]
struct TracedDefinition {
    name: String,
    deadline: Option<Nanos>,
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
        let definition = |spec: &ResponseSpec| TracedDefinition {
            name: spec.name.clone(),
            deadline: spec.deadline,
            tracker: Tracker::new(spec, workload),
            recorder: PathRecorder::default(),
        };
        let definitions: Vec<_> = workload.responses.iter().map(definition).collect();
        let has_some = !definitions.is_empty();
        has_some.then(|| Box::new(Self { definitions, timelines: Timelines::new(machine), nr_switches: 0 }))
    }

    /// Discards the sums, and responses that began before `at`, the end of the warm-up.
    pub fn reset(&mut self, at: Nanos) {
        for definition in &mut self.definitions {
            definition.tracker.reset(at);
            definition.recorder.reset();
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
            response.longest = definition.recorder.longest.map(|longest| LongestResponse {
                number: longest.number,
                start_ns: moment(longest.start),
                ns: longest.length.0,
            });
        }
    }

    /// Follows one response in detail: the activation with this number, from 1, of a definition.
    ///
    /// # Errors
    /// If no definition has the name.
    pub fn trace(&mut self, name: &str, number: u64) -> Result<(), Message> {
        let is_meant = |definition: &&mut TracedDefinition| definition.name == name;
        if let Some(definition) = self.definitions.iter_mut().find(is_meant) {
            definition.recorder.traced = Some(TracedResponse::new(number));
            return Ok(());
        }
        let names: Vec<&str> = self.definitions.iter().map(|definition| definition.name.as_str()).collect();
        Err(Message::new(format!("the workload defines no response `{name}`")).with_help(suggest::help(
            name,
            "responses",
            &names,
        )))
    }

    /// Returns the explanation of the response that was followed, at the end of the run.
    ///
    /// # Errors
    /// If there was no activation with its number.
    ///
    /// # Panics
    /// If no response was followed.
    pub fn explanation(&self, machine: &Machine<impl Engine>) -> Result<Explanation, Message> {
        let traced =
            self.definitions.iter().find_map(|definition| Some((definition, definition.recorder.traced.as_ref()?)));
        let (definition, traced) = traced.expect("a response is followed");
        let Some(start) = traced.start else {
            let (name, count) = (&definition.name, definition.recorder.nr_begun());
            let message = format!("there is no number {} of the response `{name}`", traced.number);
            return Err(Message::new(message).with_help(format!("its numbers are 1 to {count}")));
        };
        let name_of = |task: usize| machine.tasks()[task].name.clone();
        let record = |segment: &PathSegment| PathSegmentRecord {
            task: name_of(segment.task),
            from_ns: moment(segment.from),
            to_ns: moment(segment.to),
            cpu: segment.cpu.map(|cpu| cpu.0),
            behind: segment.behind.map(|user| user.map_or_else(String::new, name_of)),
            parts: segment.parts,
        };
        let state = match (traced.end, traced.is_gone) {
            (Some(_), _) => ResponseState::Ended,
            (None, false) => ResponseState::NotEnded,
            (None, true) => ResponseState::Gone,
        };
        let claim = ResponsePathClaim {
            response: definition.name.clone(),
            number: traced.number,
            start_ns: moment(start),
            state,
            length_ns: traced.end.map(|end| end.saturating_since(start).0),
            deadline_ns: definition.deadline.map(|deadline| deadline.0),
            segments: traced.segments.iter().map(record).collect(),
        };
        Ok(Explanation { at_ns: moment(traced.end.unwrap_or(start)), claims: vec![claim.into()] })
    }

    /// Removes states that no context needs: all up to now if there is none.
    fn forget(&mut self, now: Nanos) {
        self.nr_switches = 0;
        let oldest = self.definitions.iter().filter_map(|definition| definition.recorder.oldest()).min();
        self.timelines.forget_before(oldest.unwrap_or(now));
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
        for TracedDefinition { tracker, recorder, .. } in &mut self.definitions {
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
            self.forget(now);
        }
    }
}

impl<E: Engine> Observer<E> for ResponsePaths {
    fn wants(&self) -> Interest {
        Interest { details: true, activities: true, ..Interest::EVENTS }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        self.timelines.machine_event(now, event);
        for TracedDefinition { tracker, recorder, .. } in &mut self.definitions {
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
