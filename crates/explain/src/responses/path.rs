// SPDX-License-Identifier: GPL-2.0-or-later
//! Critical paths of the responses of one definition, and their sums.

use super::timeline::{BlockReason, CpuUse, TaskState, Timelines};
use fairlab_measure::responses::ResponseParts;
use fairlab_measure::responses::tracker::{ContextSink, Release};
use fairlab_measure::slot_mut;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

/// Part of a path with one task in one state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathSegment {
    pub(super) task: usize,
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    /// CPU on which the task ran or waited.
    pub(super) cpu: Option<CpuId>,
    /// Task that had the CPU for which this one waited; `None` inside: a task that is not of the workload.
    pub(super) behind: Option<Option<usize>>,
    pub(super) parts: ResponseParts,
}

/// Response that is followed in detail, and its path once it has ended.
#[derive(Clone, Debug)]
pub(super) struct TracedResponse {
    /// Number of its activation, from 1.
    pub(super) number: u64,
    /// Context, while there is one.
    context: Option<usize>,
    pub(super) start: Option<Nanos>,
    pub(super) end: Option<Nanos>,
    /// Whether all copies have gone.
    pub(super) is_gone: bool,
    /// Segments from the start to the end.
    pub(super) segments: Vec<PathSegment>,
}

impl TracedResponse {
    pub(super) const fn new(number: u64) -> Self {
        Self { number, context: None, start: None, end: None, is_gone: false, segments: Vec::new() }
    }
}

/// Response that took longest.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongestResponse {
    pub(super) number: u64,
    pub(super) start: Nanos,
    pub(super) length: Nanos,
}

/// Copy of a context that a task took.
#[derive(Clone, Copy, Debug)]
struct TakenCopy {
    task: usize,
    at: Nanos,
    release: Release,
    /// Whether the task had waited for the copy since before the release.
    is_awaited: bool,
}

/// Context that has not gone, with the copies that were taken.
#[derive(Clone, Debug)]
struct LiveContext {
    /// Number of its activation, from 1.
    number: u64,
    start: Nanos,
    /// Time at which the first task came to it.
    begun: Nanos,
    copies: Vec<TakenCopy>,
    /// Times for which tasks held the context: task, start, and end if it has come.
    holds: Vec<(usize, Nanos, Option<Nanos>)>,
}

impl LiveContext {
    /// Returns the last time until `until` at which a task held the context, before it took a copy then.
    fn held_until(&self, task: usize, until: Nanos) -> Option<Nanos> {
        let of_task = self.holds.iter().rev().filter(|&&(holder, from, _)| holder == task && from < until);
        of_task.map(|&(_, _, to)| to.map_or(until, |to| to.min(until))).next()
    }
}

/// Sums over paths.
#[derive(Clone, Debug, Default)]
pub(super) struct PathSums {
    pub(super) count: u64,
    pub(super) parts: ResponseParts,
    /// Waits for a CPU by the task that had it (`None`: a task that is not of the workload), and the CPU.
    pub(super) behind: BTreeMap<(Option<usize>, CpuId), Nanos>,
}

/// Contexts of one definition, and the sums of its paths: of all responses, and of late ones.
#[derive(Clone, Debug, Default)]
pub(super) struct PathRecorder {
    contexts: Vec<Option<LiveContext>>,
    nr_begun: u64,
    pub(super) sums: [PathSums; 2],
    pub(super) longest: Option<LongestResponse>,
    pub(super) traced: Option<TracedResponse>,
}

impl PathRecorder {
    /// Discards the sums.
    pub(super) fn reset(&mut self) {
        (self.sums, self.longest) = (Default::default(), None);
    }

    /// Number of activations so far.
    pub(super) const fn nr_begun(&self) -> u64 {
        self.nr_begun
    }

    /// Returns the time from which on states are needed; `None` without contexts.
    pub(super) fn oldest(&self) -> Option<Nanos> {
        self.contexts.iter().flatten().map(|context| context.start.min(context.begun)).min()
    }

    pub(super) fn with_timelines<'p>(&'p mut self, timelines: &'p Timelines) -> PathSink<'p> {
        PathSink { recorder: self, timelines }
    }
}

/// Recorder of paths, with the states of tasks and CPUs.
pub(super) struct PathSink<'p> {
    recorder: &'p mut PathRecorder,
    timelines: &'p Timelines,
}

impl ContextSink for PathSink<'_> {
    fn begun(&mut self, now: Nanos, context: usize, task: usize, start: Nanos) {
        self.recorder.nr_begun += 1;
        let number = self.recorder.nr_begun;
        let live = LiveContext { number, start, begun: now, copies: Vec::new(), holds: vec![(task, now, None)] };
        if let Some(traced) = self.recorder.traced.as_mut().filter(|traced| traced.number == number) {
            (traced.context, traced.start) = (Some(context), Some(start));
        }
        *slot_mut(&mut self.recorder.contexts, context) = Some(live);
    }

    fn taken(&mut self, now: Nanos, context: usize, task: usize, release: Release, is_awaited: bool) {
        if let Some(live) = &mut self.recorder.contexts[context] {
            live.copies.push(TakenCopy { task, at: now, release, is_awaited });
            if !live.holds.iter().any(|&(holder, _, to)| holder == task && to.is_none()) {
                live.holds.push((task, now, None));
            }
        }
    }

    fn left(&mut self, now: Nanos, context: usize, task: usize) {
        if let Some(live) = &mut self.recorder.contexts[context] {
            let hold = live.holds.iter_mut().find(|(holder, _, to)| *holder == task && to.is_none());
            if let Some((_, _, to)) = hold {
                *to = Some(now);
            }
        }
    }

    fn ended(&mut self, at: Nanos, context: usize, task: usize, is_late: bool) {
        let Some(live) = self.recorder.contexts[context].as_ref() else { return };
        let sums = PathSums { count: 1, ..PathSums::default() };
        let traced = self.recorder.traced.as_mut().filter(|traced| traced.context == Some(context));
        let segments = traced.is_some().then(Vec::new);
        let mut path = Path { timelines: self.timelines, start: live.start, sums, segments };
        path.walk(live, task, at);
        let length = at.saturating_since(live.start);
        debug_assert_eq!(path.sums.parts.total(), length.0, "the parts of a path are the response: {live:?}");
        if let (Some(traced), Some(segments)) = (traced, path.segments.take()) {
            traced.end = Some(at);
            traced.segments = in_order(segments);
        }
        if self.recorder.longest.is_none_or(|longest| longest.length < length) {
            self.recorder.longest = Some(LongestResponse { number: live.number, start: live.start, length });
        }
        for sums in self.recorder.sums.iter_mut().take(if is_late { 2 } else { 1 }) {
            sums.add(&path.sums);
        }
    }

    fn gone(&mut self, context: usize) {
        self.recorder.contexts[context] = None;
        if let Some(traced) = self.recorder.traced.as_mut().filter(|traced| traced.context == Some(context)) {
            (traced.context, traced.is_gone) = (None, true);
        }
    }
}

impl PathSums {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.parts.add(&other.parts);
        for (&key, &ns) in &other.behind {
            *self.behind.entry(key).or_default() += ns;
        }
    }
}

/// Path of one response, as far as it is known.
struct Path<'p> {
    timelines: &'p Timelines,
    /// Start of the response. A task that was woken before its timer expired can act earlier.
    start: Nanos,
    sums: PathSums,
    /// Segments, in the order in which they were found; `None` if they are not wanted.
    segments: Option<Vec<PathSegment>>,
}

/// Returns segments from the start to the end, with neighbours of one task in one state as one.
fn in_order(mut segments: Vec<PathSegment>) -> Vec<PathSegment> {
    segments.retain(|segment| segment.to > segment.from);
    segments.sort_by_key(|segment| segment.from);
    let mut merged: Vec<PathSegment> = Vec::new();
    for segment in segments {
        let kinds = |parts: &ResponseParts| parts.named().map(|(_, ns)| ns > 0);
        let is_alike = |last: &&mut PathSegment| {
            let is_one_state = (last.task, last.cpu, last.behind) == (segment.task, segment.cpu, segment.behind);
            // Work that was slowed down, or interrupted, is still work.
            let both_run = last.parts.running_ns > 0 && segment.parts.running_ns > 0;
            is_one_state && last.to == segment.from && (both_run || kinds(&last.parts) == kinds(&segment.parts))
        };
        match merged.last_mut().filter(is_alike) {
            Some(last) => {
                last.to = segment.to;
                last.parts.add(&segment.parts);
            }
            None => merged.push(segment),
        }
    }
    merged
}

impl Path<'_> {
    /// Adds a segment of a task on a CPU.
    fn add(&mut self, task: usize, cpu: Option<CpuId>, (from, to): (Nanos, Nanos), parts: ResponseParts) {
        self.sums.parts.add(&parts);
        if let Some(segments) = &mut self.segments {
            segments.push(PathSegment { task, from, to, cpu, behind: None, parts });
        }
    }

    /// Returns the part of an interval since the start of the response.
    fn since_start(&self, from: Nanos, to: Nanos) -> (Nanos, Nanos) {
        (from.max(self.start), to.max(self.start))
    }

    /// Follows a response backwards from its end.
    fn walk(&mut self, context: &LiveContext, mut task: usize, mut until: Nanos) {
        for copy in context.copies.iter().rev() {
            if copy.task != task || copy.at > until {
                continue;
            }
            self.hold(task, copy.at, until);
            let held_until = context.held_until(task, copy.at).filter(|&held| held > copy.release.at);
            if copy.is_awaited {
                self.hand_over(task, copy.release.at, copy.at);
            } else if let Some(held) = held_until {
                // The task was busy with this response until then, not with the copy's release.
                self.queue(task, held, copy.at);
                until = held;
                continue;
            } else {
                self.queue(task, copy.release.at, copy.at);
            }
            (task, until) = (copy.release.task, copy.release.at);
        }
        let begun = context.begun.max(context.start).min(until);
        self.hold(task, begun, until);
        self.queue(task, context.start.min(begun), begun);
    }

    /// Adds the time in which work waited because a task was busy with other work.
    fn queue(&mut self, task: usize, from: Nanos, to: Nanos) {
        let (from, to) = self.since_start(from, to);
        let parts = ResponseParts { queue_ns: (to - from).0, ..ResponseParts::default() };
        self.add(task, None, (from, to), parts);
    }

    /// Adds the time in which a task holds the context.
    fn hold(&mut self, task: usize, from: Nanos, to: Nanos) {
        let timelines = self.timelines;
        let (from, to) = self.since_start(from, to);
        for (start, end, state) in timelines.states(task, from, to) {
            let ns = (end - start).0;
            let none = ResponseParts::default();
            let parts = match state {
                TaskState::Blocked(BlockReason::Sleep, _) => ResponseParts { sleep_ns: ns, ..none },
                TaskState::Blocked(BlockReason::Mutex, _) => ResponseParts { mutex_ns: ns, ..none },
                TaskState::Blocked(BlockReason::Object, _) => ResponseParts { object_ns: ns, ..none },
                // The timer has expired, and its interrupt has not been served.
                TaskState::Blocked(BlockReason::Timer, cpu) => {
                    self.delay(task, cpu, start, end);
                    continue;
                }
                state => {
                    self.runnable(task, state, start, end);
                    continue;
                }
            };
            self.add(task, None, (start, end), parts);
        }
    }

    /// Adds the time from a release until the task that waited for it has it.
    fn hand_over(&mut self, task: usize, from: Nanos, to: Nanos) {
        let timelines = self.timelines;
        let (from, to) = self.since_start(from, to);
        for (start, end, state) in timelines.states(task, from, to) {
            match state {
                // The waker has not woken the task yet.
                TaskState::Blocked(..) | TaskState::New => {
                    let parts = ResponseParts { kernel_ns: (end - start).0, ..ResponseParts::default() };
                    self.add(task, None, (start, end), parts);
                }
                state => self.runnable(task, state, start, end),
            }
        }
    }

    fn runnable(&mut self, task: usize, state: TaskState, start: Nanos, end: Nanos) {
        let ns = (end - start).0;
        let none = ResponseParts::default();
        let (cpu, parts) = match state {
            TaskState::Running(cpu) => {
                let running = self.timelines.running(cpu, start, end);
                let parts = ResponseParts {
                    running_ns: running.at_full_speed.0,
                    slow_ns: (running.own - running.at_full_speed).0,
                    kernel_ns: running.kernel.0,
                    interrupt_ns: running.lost.0,
                    ..none
                };
                (Some(cpu), parts)
            }
            TaskState::Waiting(cpu) => return self.delay(task, cpu, start, end),
            TaskState::Throttled(cpu) => (Some(cpu), ResponseParts { quota_ns: ns, ..none }),
            TaskState::New | TaskState::Blocked(..) | TaskState::Ended => {
                (None, ResponseParts { other_ns: ns, ..none })
            }
        };
        self.add(task, cpu, (start, end), parts);
    }

    /// Adds a wait for a CPU, by its user.
    fn delay(&mut self, task: usize, cpu: CpuId, from: Nanos, to: Nanos) {
        let timelines = self.timelines;
        for (start, end, cpu_use) in timelines.uses(cpu, from, to) {
            let time = end - start;
            let user = match cpu_use {
                CpuUse::Idle => {
                    let parts = ResponseParts { idle_exit_ns: time.0, ..ResponseParts::default() };
                    self.add(task, Some(cpu), (start, end), parts);
                    continue;
                }
                CpuUse::Task(user) => Some(user),
                CpuUse::Other => None,
            };
            let parts = ResponseParts { cpu_ns: time.0, ..ResponseParts::default() };
            self.add(task, Some(cpu), (start, end), parts);
            if let Some(segment) = self.segments.as_mut().and_then(|segments| segments.last_mut()) {
                segment.behind = Some(user);
            }
            *self.sums.behind.entry((user, cpu)).or_default() += time;
        }
    }
}
