// SPDX-License-Identifier: GPL-2.0-or-later
//! Critical paths of the responses of one definition, and their sums.

use super::timeline::{BlockReason, CpuUse, TaskState, Timelines};
use fairlab_measure::responses::ResponseParts;
use fairlab_measure::responses::tracker::{ContextSink, Release};
use fairlab_measure::slot_mut;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

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
    pub(super) sums: [PathSums; 2],
}

impl PathRecorder {
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
        let live = LiveContext { start, begun: now, copies: Vec::new(), holds: vec![(task, now, None)] };
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
        let mut path = Path { timelines: self.timelines, sums: PathSums { count: 1, ..PathSums::default() } };
        path.walk(live, task, at);
        let length = at.saturating_since(live.start);
        debug_assert_eq!(path.sums.parts.total(), length.0, "the parts of a path are the response: {live:?}");
        for sums in self.recorder.sums.iter_mut().take(if is_late { 2 } else { 1 }) {
            sums.add(&path.sums);
        }
    }

    fn gone(&mut self, context: usize) {
        self.recorder.contexts[context] = None;
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
    sums: PathSums,
}

impl Path<'_> {
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
                self.sums.parts.queue_ns += (copy.at - held).0;
                until = held;
                continue;
            } else {
                self.sums.parts.queue_ns += (copy.at - copy.release.at).0;
            }
            (task, until) = (copy.release.task, copy.release.at);
        }
        let begun = context.begun.max(context.start).min(until);
        self.hold(task, begun, until);
        self.sums.parts.queue_ns += begun.saturating_since(context.start).0;
    }

    /// Adds the time in which a task holds the context.
    fn hold(&mut self, task: usize, from: Nanos, to: Nanos) {
        let timelines = self.timelines;
        for (start, end, state) in timelines.states(task, from, to) {
            let time = (end - start).0;
            let parts = &mut self.sums.parts;
            match state {
                TaskState::Blocked(BlockReason::Sleep, _) => parts.sleep_ns += time,
                TaskState::Blocked(BlockReason::Mutex, _) => parts.mutex_ns += time,
                TaskState::Blocked(BlockReason::Object, _) => parts.object_ns += time,
                // The timer has expired, and its interrupt has not been served.
                TaskState::Blocked(BlockReason::Timer, cpu) => self.delay(cpu, start, end),
                state => self.runnable(state, start, end),
            }
        }
    }

    /// Adds the time from a release until the task that waited for it has it.
    fn hand_over(&mut self, task: usize, from: Nanos, to: Nanos) {
        let timelines = self.timelines;
        for (start, end, state) in timelines.states(task, from, to) {
            match state {
                // The waker has not woken the task yet.
                TaskState::Blocked(..) | TaskState::New => self.sums.parts.kernel_ns += (end - start).0,
                state => self.runnable(state, start, end),
            }
        }
    }

    fn runnable(&mut self, state: TaskState, start: Nanos, end: Nanos) {
        let time = (end - start).0;
        match state {
            TaskState::Running(cpu) => {
                let running = self.timelines.running(cpu, start, end);
                let parts = &mut self.sums.parts;
                parts.running_ns += running.at_full_speed.0;
                parts.slow_ns += (running.own - running.at_full_speed).0;
                parts.kernel_ns += running.kernel.0;
                parts.interrupt_ns += running.lost.0;
            }
            TaskState::Waiting(cpu) => self.delay(cpu, start, end),
            TaskState::Throttled(_) => self.sums.parts.quota_ns += time,
            TaskState::New | TaskState::Blocked(..) | TaskState::Ended => self.sums.parts.other_ns += time,
        }
    }

    /// Adds a wait for a CPU, by its user.
    fn delay(&mut self, cpu: CpuId, from: Nanos, to: Nanos) {
        for (start, end, cpu_use) in self.timelines.uses(cpu, from, to) {
            let time = end - start;
            let user = match cpu_use {
                CpuUse::Idle => {
                    self.sums.parts.idle_exit_ns += time.0;
                    continue;
                }
                CpuUse::Task(task) => Some(task),
                CpuUse::Other => None,
            };
            self.sums.parts.cpu_ns += time.0;
            *self.sums.behind.entry((user, cpu)).or_default() += time;
        }
    }
}
