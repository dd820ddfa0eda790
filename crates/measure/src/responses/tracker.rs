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

/// Release with which a copy of a context began its way.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    pub task: usize,
    pub at: Nanos,
}

/// Receiver of what happens to contexts. A context is known by its number until it is gone; numbers are used again.
pub trait ContextSink {
    /// A context begins at a task. Its start is earlier than `now` if the task was late, and later if it waits for a timer.
    fn begun(&mut self, _now: Nanos, _context: usize, _task: usize, _start: Nanos) {}

    /// A task takes a copy. `is_awaited`: the task had waited for it since before the release.
    fn taken(&mut self, _now: Nanos, _context: usize, _task: usize, _release: Release, _is_awaited: bool) {}

    /// A task lets go of a context that it began or took.
    fn left(&mut self, _now: Nanos, _context: usize, _task: usize) {}

    /// A response has ended at a time, by an action of a task.
    fn ended(&mut self, _at: Nanos, _context: usize, _task: usize, _is_late: bool) {}

    /// A context has no copies any more. It ends without a response unless its end came before.
    fn gone(&mut self, _context: usize) {}
}

impl ContextSink for () {}

/// Something that is done for one activation.
#[derive(Clone, Debug)]
struct Context {
    start: Nanos,
    /// Number of contexts of this definition before this one; orders contexts that start at one time.
    number: u64,
    nr_copies: u32,
    /// Time of the last work, take, release or reached timer, and its task; `None` before the first.
    last: Option<(Nanos, usize)>,
    /// Whether the response has ended at its point.
    has_ended: bool,
    /// Whether the last release was lost, and no copy remained but the releasing task's own.
    is_lost: bool,
}

/// Place at which a copy was dropped: the task, and the semaphore from which it took a later context.
pub(super) type DropPlace = (usize, Option<ObjectId>);

/// State of one task for a definition.
#[derive(Clone, Debug, Default)]
struct Carrier {
    held: Option<ContextId>,
    /// Whether the task has worked, released anything or passed a point since it last took a context.
    is_active: bool,
    is_on_cpu: bool,
    /// Whether the next timer that the task reaches begins a response.
    begins_at_timer: bool,
    /// Time since which the task has waited for an object, or would if there were nothing to take.
    waits_since: Option<Nanos>,
    /// Contexts that were handed to the task while it was off its CPU, in order.
    handed: Vec<(ContextId, Release)>,
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
    units: BTreeMap<KeepingObject, VecDeque<Option<(ContextId, Release)>>>,
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
    pub fn reset(&mut self, at: Nanos) {
        (self.counts_from, self.times) = (at, ResponseTimes::default());
    }

    /// Learns the specification of a task, as an index of the workload's tasks.
    pub fn forked(&mut self, task: usize, spec: usize) {
        if let ResponseStart::Timer { from_origin, .. } = &self.spec.start {
            *slot_mut(&mut self.begins_at_origin, task) = from_origin.contains(&spec);
        }
    }

    /// Records that a task has left its CPU.
    pub fn switched_out(&mut self, task: usize) {
        slot_mut(&mut self.carriers, task).is_on_cpu = false;
    }

    /// Records that a task has got a CPU.
    pub fn switched_in(&mut self, now: Nanos, task: usize, sink: &mut impl ContextSink) {
        let carrier = slot_mut(&mut self.carriers, task);
        carrier.is_on_cpu = true;
        for (context, release) in core::mem::take(&mut carrier.handed) {
            self.take(now, task, (context, release, true), None, sink);
        }
    }

    /// Records an activity of a task.
    pub fn on_activity(&mut self, now: Nanos, activity: Activity, sink: &mut impl ContextSink) {
        match activity {
            Activity::Worked { task } => self.act(now, task),
            Activity::Point { task, point } => self.pass(now, task, point, sink),
            Activity::ReachedWait { task } => {
                let carrier = self.carrier(task);
                carrier.waits_since = Some(now);
                if carrier.is_active {
                    self.let_go(now, task, sink);
                }
            }
            Activity::ReachedTimer { task, next } => self.reach_timer(now, task, next, sink),
            Activity::ReachedOrigin { task, origin } => {
                if self.begins_at_origin.get(task).is_some_and(|begins| *begins) {
                    self.begin(now, task, origin, sink);
                }
            }
            Activity::ReachedLock { .. } | Activity::ReachedSleep { .. } => {}
            Activity::Put { task, object } => {
                let copy = task.and_then(|task| self.release(now, task));
                let keeps = !matches!(object, KeepingObject::Semaphore(semaphore) if self.untaken.contains(&semaphore));
                if keeps {
                    self.copy(copy);
                    self.units.entry(object).or_default().push_back(copy);
                }
            }
            Activity::Take { task, object } => {
                let copy = self.units.get_mut(&object).and_then(VecDeque::pop_front).flatten();
                let waits_since = self.carrier(task).waits_since.take();
                if let Some((context, release)) = copy {
                    let is_awaited = waits_since.is_some_and(|since| since <= release.at);
                    self.take(now, task, (context, release, is_awaited), Some(object), sink);
                }
            }
            Activity::Hand { task, to } => {
                let copy = task.and_then(|task| self.release(now, task));
                match to {
                    Some(to) => self.hand(now, copy, to, sink),
                    None => self.lose(copy),
                }
            }
            Activity::Arrived { task, is_last } => {
                self.release(now, task);
                if !is_last {
                    self.let_go(now, task, sink);
                }
            }
            Activity::Ended { task } => self.let_go(now, task, sink),
        }
    }

    /// Returns the state of a task, which is new for a task without any.
    fn carrier(&mut self, task: usize) -> &mut Carrier {
        slot_mut(&mut self.carriers, task)
    }

    /// Begins a response at a task, which lets go of an earlier one.
    fn begin(&mut self, now: Nanos, task: usize, start: Nanos, sink: &mut impl ContextSink) {
        self.let_go(now, task, sink);
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
        sink.begun(now, id, task, start);
    }

    /// Records that something was done under a context.
    fn record(&mut self, now: Nanos, task: usize, id: ContextId) {
        let context = &mut self.contexts[id];
        if !context.has_ended {
            context.last = Some((now, task));
        }
    }

    /// Records an action of a task. Returns the context that the task holds.
    fn act(&mut self, now: Nanos, task: usize) {
        let carrier = self.carrier(task);
        carrier.is_active = true;
        if let Some(held) = carrier.held {
            self.record(now, task, held);
        }
    }

    /// Records a release of a task. Returns the copy of a context that goes with it.
    fn release(&mut self, now: Nanos, task: usize) -> Option<(ContextId, Release)> {
        self.act(now, task);
        self.carrier(task).held.map(|context| (context, Release { task, at: now }))
    }

    fn pass(&mut self, now: Nanos, task: usize, point: ObjectId, sink: &mut impl ContextSink) {
        if self.foreign_points.contains(&point) {
            return;
        }
        let is_end = self.spec.end == Some(point);
        match self.spec.start {
            ResponseStart::Point(start) if start == point => return self.begin(now, task, now, sink),
            ResponseStart::Timer { point: start, .. } if start == point => {
                self.carrier(task).begins_at_timer = true;
                return;
            }
            _ => {}
        }
        let carrier = self.carrier(task);
        carrier.is_active = true;
        if is_end && let Some(held) = carrier.held {
            self.end_at_point(now, held, task, sink);
            self.let_go(now, task, sink);
        }
    }

    fn reach_timer(&mut self, now: Nanos, task: usize, next: Nanos, sink: &mut impl ContextSink) {
        let carrier = self.carrier(task);
        let begins = core::mem::take(&mut carrier.begins_at_timer);
        if let Some(held) = carrier.held
            && self.contexts[held].last.is_some()
        {
            self.record(now, task, held);
        }
        if begins {
            self.begin(now, task, next, sink);
        } else {
            self.let_go(now, task, sink);
        }
    }

    /// Adds a copy, which keeps a response that seemed lost.
    fn copy(&mut self, copy: Option<(ContextId, Release)>) {
        if let Some((id, _)) = copy {
            let context = &mut self.contexts[id];
            context.nr_copies += 1;
            context.is_lost = false;
        }
    }

    fn hand(&mut self, now: Nanos, copy: Option<(ContextId, Release)>, to: usize, sink: &mut impl ContextSink) {
        let Some((id, release)) = copy else { return };
        self.copy(copy);
        if self.carrier(to).is_on_cpu {
            self.take(now, to, (id, release, true), None, sink);
        } else {
            self.carrier(to).handed.push((id, release));
        }
    }

    /// Records that a release reached no task. The copy that the releasing task holds can still be released.
    fn lose(&mut self, copy: Option<(ContextId, Release)>) {
        if let Some((id, _)) = copy {
            let context = &mut self.contexts[id];
            context.is_lost = context.nr_copies == 1;
        }
    }

    /// Gives a copy of a context to a task; the copy has its release, and whether the task had waited for it.
    fn take(
        &mut self,
        now: Nanos,
        task: usize,
        (id, release, is_awaited): (ContextId, Release, bool),
        object: Option<KeepingObject>,
        sink: &mut impl ContextSink,
    ) {
        let order = |context: &Context| (context.start, context.number);
        let Carrier { held, is_active, .. } = *self.carrier(task);
        if self.contexts[id].has_ended {
            return self.remove_copy(id, sink);
        }
        match held {
            Some(held) if held == id => self.remove_copy(id, sink),
            Some(held) if order(&self.contexts[id]) < order(&self.contexts[held]) => return self.remove_copy(id, sink),
            Some(held) => {
                sink.left(now, held, task);
                self.remove_copy_at(held, (!is_active).then_some((task, semaphore_of(object))), sink);
            }
            None => {}
        }
        let carrier = self.carrier(task);
        (carrier.held, carrier.is_active) = (Some(id), false);
        self.record(now, task, id);
        sink.taken(now, id, task, release, is_awaited);
    }

    fn let_go(&mut self, now: Nanos, task: usize, sink: &mut impl ContextSink) {
        let carrier = self.carrier(task);
        if let Some(held) = carrier.held.take() {
            sink.left(now, held, task);
            self.remove_copy(held, sink);
        }
    }

    fn end_at_point(&mut self, now: Nanos, id: ContextId, task: usize, sink: &mut impl ContextSink) {
        let context = &mut self.contexts[id];
        if !context.has_ended {
            context.has_ended = true;
            if context.start >= self.counts_from {
                let is_late = self.times.record(now.saturating_since(context.start), self.spec.deadline);
                sink.ended(now, id, task, is_late);
            }
        }
    }

    fn remove_copy(&mut self, id: ContextId, sink: &mut impl ContextSink) {
        self.remove_copy_at(id, None, sink);
    }

    /// Removes a copy, which was dropped at a place. A response without copies is done, lost or dropped, or nothing was
    /// done for it.
    fn remove_copy_at(&mut self, id: ContextId, dropped_at: Option<DropPlace>, sink: &mut impl ContextSink) {
        let context = &mut self.contexts[id];
        context.nr_copies -= 1;
        if context.nr_copies > 0 {
            return;
        }
        self.unused.push(id);
        self.close(id, dropped_at, sink);
        sink.gone(id);
    }

    /// Records the result of a context without copies.
    fn close(&mut self, id: ContextId, dropped_at: Option<DropPlace>, sink: &mut impl ContextSink) {
        let context = &self.contexts[id];
        let counts = !context.has_ended && context.start >= self.counts_from;
        let Some((last, task)) = context.last.filter(|_| counts) else { return };
        if let Some(place) = dropped_at {
            self.times.record_dropped(context.start, place);
        } else if context.is_lost || self.spec.end.is_some() {
            self.times.record_lost(context.start);
        } else {
            let is_late = self.times.record(last.saturating_since(context.start), self.spec.deadline);
            sink.ended(last, id, task, is_late);
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

/// Returns the semaphore from which a unit came.
const fn semaphore_of(object: Option<KeepingObject>) -> Option<ObjectId> {
    match object {
        Some(KeepingObject::Semaphore(semaphore)) => Some(semaphore),
        Some(KeepingObject::Wakeup(_)) | None => None,
    }
}

/// Returns the points that a definition adds to a workload.
fn points_of(spec: &ResponseSpec) -> impl Iterator<Item = ObjectId> {
    let (ResponseStart::Point(start) | ResponseStart::Timer { point: start, .. }) = spec.start;
    [Some(start), spec.end].into_iter().flatten()
}
