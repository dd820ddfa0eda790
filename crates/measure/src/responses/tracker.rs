// SPDX-License-Identifier: GPL-2.0-or-later
//! Contexts of one definition of a response: where they are, and what becomes of them.
//!
//! Rules are those of [the parent module](super). A context exists as a number of *copies*: one for each task that
//! holds it, for each unit in an object, and for each task to which it was handed and that has not run since. A
//! response without a named end ends when its last copy is gone, because nothing can be done for it any more.

use super::summary::{DroppedAt, ResponseSummary, ResponseTimes};
use crate::slot_mut;
use fairlab_machine::observer::{Activity, KeepingObject};
use fairlab_machine::sim::START;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::ObjectId;
use fairlab_workload::workload::{ResponseSpec, ResponseStart, Workload};
use std::collections::{BTreeMap, VecDeque};

/// Index of a context in [`Tracker::contexts`]. Indices of contexts without copies are used again.
type ContextId = usize;

/// Something that is done for one activation.
#[derive(Clone, Debug)]
struct Context {
    start: Nanos,
    /// Number of contexts of this definition before this one; orders contexts that start at one time.
    number: u64,
    nr_copies: u32,
    /// Time of the last work, take, release or reached timer; `None` before the first.
    last: Option<Nanos>,
    /// Whether the response has ended at its point.
    has_ended: bool,
    /// Whether the last release was lost, and no copy remained but the releasing task's own.
    is_lost: bool,
}

/// Place at which a copy was dropped: the task, and the object from which it took a later context.
pub(super) type DropPlace = (usize, Option<KeepingObject>);

/// State of one task for a definition.
#[derive(Clone, Debug, Default)]
struct Carrier {
    held: Option<ContextId>,
    /// Whether the task has worked, released anything or passed a point since it last took a context.
    is_active: bool,
    is_on_cpu: bool,
    /// Whether the next timer that the task reaches begins a response.
    begins_at_timer: bool,
    /// Contexts that were handed to the task while it was off its CPU, in order.
    handed: Vec<ContextId>,
}

/// Responses of one definition.
#[derive(Clone, Debug)]
pub struct Tracker {
    spec: ResponseSpec,
    /// Whether the first response of a task begins at its timer origin, by the index of the machine's task.
    begins_at_origin: Vec<bool>,
    untaken: Vec<ObjectId>,
    /// Points at which responses of the other definitions begin and end.
    foreign_points: Vec<ObjectId>,
    carriers: Vec<Carrier>,
    contexts: Vec<Context>,
    unused: Vec<ContextId>,
    nr_begun: u64,
    /// Contexts of the units of each object; `None` for a unit without one.
    units: BTreeMap<KeepingObject, VecDeque<Option<ContextId>>>,
    /// Responses count that start from here on.
    counts_from: Nanos,
    times: ResponseTimes,
}

impl Tracker {
    /// Returns the tracker of a definition in a workload that has not started.
    pub fn new(spec: &ResponseSpec, workload: &Workload) -> Self {
        let other = workload.responses.iter().filter(|other| other.name != spec.name);
        Self {
            foreign_points: other.flat_map(points_of).collect(),
            spec: spec.clone(),
            begins_at_origin: Vec::new(),
            untaken: workload.objects.untaken_semaphores.clone(),
            carriers: Vec::new(),
            contexts: Vec::new(),
            unused: Vec::new(),
            nr_begun: 0,
            units: BTreeMap::new(),
            counts_from: START,
            times: ResponseTimes::default(),
        }
    }

    /// Discards what was measured, and responses that began before `at`.
    pub(super) fn reset(&mut self, at: Nanos) {
        (self.counts_from, self.times) = (at, ResponseTimes::default());
    }

    /// Learns the specification of a task, as an index of the workload's tasks.
    pub(super) fn forked(&mut self, task: usize, spec: usize) {
        if let ResponseStart::Timer { from_origin, .. } = &self.spec.start {
            *slot_mut(&mut self.begins_at_origin, task) = from_origin.contains(&spec);
        }
    }

    pub(super) fn switched_out(&mut self, task: usize) {
        slot_mut(&mut self.carriers, task).is_on_cpu = false;
    }

    pub(super) fn switched_in(&mut self, now: Nanos, task: usize) {
        let carrier = slot_mut(&mut self.carriers, task);
        carrier.is_on_cpu = true;
        for context in core::mem::take(&mut carrier.handed) {
            self.take(now, task, context, None);
        }
    }

    pub(super) fn on_activity(&mut self, now: Nanos, activity: Activity) {
        match activity {
            Activity::Worked { task } => self.act(now, task),
            Activity::Point { task, point } => self.pass(now, task, point),
            Activity::ReachedWait { task } => {
                if self.carrier(task).is_active {
                    self.let_go(task);
                }
            }
            Activity::ReachedTimer { task, next } => self.reach_timer(now, task, next),
            Activity::ReachedOrigin { task, origin } => {
                if self.begins_at_origin.get(task).is_some_and(|begins| *begins) {
                    self.begin(task, origin);
                }
            }
            Activity::Put { task, object } => {
                let context = task.and_then(|task| self.release(now, task));
                let keeps = !matches!(object, KeepingObject::Semaphore(semaphore) if self.untaken.contains(&semaphore));
                if keeps {
                    self.copy(context);
                    self.units.entry(object).or_default().push_back(context);
                }
            }
            Activity::Take { task, object } => {
                let context = self.units.get_mut(&object).and_then(VecDeque::pop_front).flatten();
                if let Some(context) = context {
                    self.take(now, task, context, Some(object));
                }
            }
            Activity::Hand { task, to } => {
                let context = task.and_then(|task| self.release(now, task));
                match to {
                    Some(to) => self.hand(now, context, to),
                    None => self.lose(context),
                }
            }
            Activity::Arrived { task, is_last } => {
                self.release(now, task);
                if !is_last {
                    self.let_go(task);
                }
            }
            Activity::Ended { task } => self.let_go(task),
        }
    }

    /// Returns the state of a task, which is new for a task without any.
    fn carrier(&mut self, task: usize) -> &mut Carrier {
        slot_mut(&mut self.carriers, task)
    }

    /// Begins a response at a task, which lets go of an earlier one.
    fn begin(&mut self, task: usize, start: Nanos) {
        self.let_go(task);
        let context =
            Context { start, number: self.nr_begun, nr_copies: 1, last: None, has_ended: false, is_lost: false };
        self.nr_begun += 1;
        let id = match self.unused.pop() {
            Some(id) => {
                self.contexts[id] = context;
                id
            }
            None => {
                self.contexts.push(context);
                self.contexts.len() - 1
            }
        };
        let carrier = self.carrier(task);
        (carrier.held, carrier.is_active) = (Some(id), false);
    }

    /// Records that something was done under a context.
    fn record(&mut self, now: Nanos, id: ContextId) {
        let context = &mut self.contexts[id];
        if !context.has_ended {
            context.last = Some(now);
        }
    }

    /// Records an action of a task. Returns the context that the task holds.
    fn act(&mut self, now: Nanos, task: usize) {
        let carrier = self.carrier(task);
        carrier.is_active = true;
        if let Some(held) = carrier.held {
            self.record(now, held);
        }
    }

    /// Records a release of a task. Returns the context that goes with it.
    fn release(&mut self, now: Nanos, task: usize) -> Option<ContextId> {
        self.act(now, task);
        self.carrier(task).held
    }

    fn pass(&mut self, now: Nanos, task: usize, point: ObjectId) {
        if self.foreign_points.contains(&point) {
            return;
        }
        let is_end = self.spec.end == Some(point);
        match self.spec.start {
            ResponseStart::Point(start) if start == point => return self.begin(task, now),
            ResponseStart::Timer { point: start, .. } if start == point => {
                self.carrier(task).begins_at_timer = true;
                return;
            }
            _ => {}
        }
        let carrier = self.carrier(task);
        carrier.is_active = true;
        if is_end && let Some(held) = carrier.held {
            self.end_at_point(now, held);
            self.let_go(task);
        }
    }

    fn reach_timer(&mut self, now: Nanos, task: usize, next: Nanos) {
        let carrier = self.carrier(task);
        let begins = core::mem::take(&mut carrier.begins_at_timer);
        if let Some(held) = carrier.held
            && self.contexts[held].last.is_some()
        {
            self.record(now, held);
        }
        if begins {
            self.begin(task, next);
        } else {
            self.let_go(task);
        }
    }

    /// Adds a copy, which keeps a response that seemed lost.
    fn copy(&mut self, context: Option<ContextId>) {
        if let Some(id) = context {
            let context = &mut self.contexts[id];
            context.nr_copies += 1;
            context.is_lost = false;
        }
    }

    fn hand(&mut self, now: Nanos, context: Option<ContextId>, to: usize) {
        let Some(id) = context else { return };
        self.copy(context);
        if self.carrier(to).is_on_cpu {
            self.take(now, to, id, None);
        } else {
            self.carrier(to).handed.push(id);
        }
    }

    /// Records that a release reached no task. The copy that the releasing task holds can still be released.
    fn lose(&mut self, context: Option<ContextId>) {
        if let Some(id) = context {
            let context = &mut self.contexts[id];
            context.is_lost = context.nr_copies == 1;
        }
    }

    /// Gives a copy of a context to a task.
    fn take(&mut self, now: Nanos, task: usize, id: ContextId, object: Option<KeepingObject>) {
        let order = |context: &Context| (context.start, context.number);
        let Carrier { held, is_active, .. } = *self.carrier(task);
        if self.contexts[id].has_ended {
            return self.remove_copy(id);
        }
        match held {
            Some(held) if held == id => self.remove_copy(id),
            Some(held) if order(&self.contexts[id]) < order(&self.contexts[held]) => return self.remove_copy(id),
            Some(held) => self.remove_copy_at(held, (!is_active).then_some((task, object))),
            None => {}
        }
        let carrier = self.carrier(task);
        (carrier.held, carrier.is_active) = (Some(id), false);
        self.record(now, id);
    }

    fn let_go(&mut self, task: usize) {
        let carrier = self.carrier(task);
        if let Some(held) = carrier.held.take() {
            self.remove_copy(held);
        }
    }

    fn end_at_point(&mut self, now: Nanos, id: ContextId) {
        let context = &mut self.contexts[id];
        if !context.has_ended {
            context.has_ended = true;
            if context.start >= self.counts_from {
                self.times.record(now.saturating_since(context.start), self.spec.deadline);
            }
        }
    }

    fn remove_copy(&mut self, id: ContextId) {
        self.remove_copy_at(id, None);
    }

    /// Removes a copy, which was dropped at a place. A response without copies is done, lost or dropped, or nothing was
    /// done for it.
    fn remove_copy_at(&mut self, id: ContextId, dropped_at: Option<DropPlace>) {
        let context = &mut self.contexts[id];
        context.nr_copies -= 1;
        if context.nr_copies > 0 {
            return;
        }
        self.unused.push(id);
        let context = &self.contexts[id];
        let Some(last) = context.last.filter(|_| !context.has_ended && context.start >= self.counts_from) else {
            return;
        };
        if let Some(place) = dropped_at {
            self.times.record_dropped(context.start, place);
        } else if context.is_lost || self.spec.end.is_some() {
            self.times.record_lost(context.start);
        } else {
            self.times.record(last.saturating_since(context.start), self.spec.deadline);
        }
    }

    /// Returns the results at the time `now`. Contexts that have copies are open.
    pub(super) fn summary(&self, now: Nanos, name_of: impl Fn(DropPlace) -> DroppedAt) -> ResponseSummary {
        let mut times = self.times.clone();
        for context in &self.contexts {
            let counts = context.start >= self.counts_from && context.start < now;
            if context.nr_copies > 0 && !context.has_ended && counts {
                times.record_open(now - context.start, self.spec.deadline);
            }
        }
        times.summary(&self.spec, now, name_of)
    }
}

/// Returns the points that a definition adds to a workload.
fn points_of(spec: &ResponseSpec) -> impl Iterator<Item = ObjectId> {
    let (ResponseStart::Point(start) | ResponseStart::Timer { point: start, .. }) = spec.start;
    [Some(start), spec.end].into_iter().flatten()
}
