// SPDX-License-Identifier: GPL-2.0-or-later
//! Measurements of threads and CPUs, counted from events of a trace or of the run that replays it.
//!
//! A thread waits from the event that makes it runnable, or from a switch that leaves it runnable, until it
//! is switched in. A thread has migrated if it is switched in on another CPU than the last time.

use super::event::{Recording, TraceEvent, TraceEventKind, TraceEventName};
use super::threads::TraceThreads;
use fairlab_measure::episodes::TaskActivity;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

/// Event from which wake-up latency is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyBasis {
    /// `sched_wakeup`: the thread is placed on a runqueue.
    Wakeup,
    /// `sched_waking`: the wake-up begins.
    Waking,
    /// The trace has neither event.
    None,
}

impl LatencyBasis {
    /// Returns the best basis that a trace has.
    pub fn of(recording: &Recording) -> Self {
        let has = |kind| recording.events.iter().any(|event| event.kind.name() == kind);
        match () {
            () if has(TraceEventName::SchedWakeup) => Self::Wakeup,
            () if has(TraceEventName::SchedWaking) => Self::Waking,
            () => Self::None,
        }
    }
}

/// Measurements of a thread.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadMeasurement {
    pub run_ns: u64,
    /// Time runnable without a CPU.
    pub wait_ns: u64,
    /// Number of times that the thread was switched in.
    pub switches: u64,
    /// Number of times that the thread was switched in on another CPU than before.
    pub migrations: u64,
    /// Time from each wake-up until the thread ran, in ns.
    pub latencies: Vec<u64>,
    /// Time since a wake-up after which the thread had not run at the end.
    pub open_latency: Option<u64>,
    /// Run time on each CPU, in ns.
    pub by_cpu: BTreeMap<u32, u64>,
}

/// Measurements of a CPU.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuMeasurement {
    /// Time with a thread other than the idle task.
    pub busy_ns: u64,
    pub switches: u64,
}

#[derive(Clone, Copy, Debug)]
struct MeasuredThread {
    /// CPU on which the thread runs, and the start of this run.
    runs: Option<(u32, u64)>,
    activity: TaskActivity,
    last_cpu: Option<u32>,
}

impl MeasuredThread {
    const fn new() -> Self {
        Self { runs: None, activity: TaskActivity::of_trace(), last_cpu: None }
    }
}

/// Counter of events, for a trace or a run.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug)]
pub struct TraceMeasurement {
    basis: LatencyBasis,
    start: u64,
    pub threads: TraceThreads,
    /// Measurements of each thread, in the order of `threads`.
    pub figures: Vec<ThreadMeasurement>,
    pub cpus: Vec<CpuMeasurement>,
    tracks: Vec<MeasuredThread>,
    current: Vec<Option<Option<usize>>>,
    last: Vec<u64>,
}

impl TraceMeasurement {
    /// Creates a counter that begins at `start`, in ns.
    pub fn new(start: u64, nr_cpus: u32, basis: LatencyBasis) -> Self {
        Self {
            basis,
            start,
            threads: TraceThreads::default(),
            figures: Vec::new(),
            cpus: vec![CpuMeasurement::default(); nr_cpus as usize],
            tracks: Vec::new(),
            current: vec![None; nr_cpus as usize],
            last: vec![start; nr_cpus as usize],
        }
    }

    /// Measures a whole trace.
    pub fn of(recording: &Recording) -> Self {
        let (start, end) = recording.span().unwrap_or_default();
        let mut measure = Self::new(start, recording.nr_cpus, LatencyBasis::of(recording));
        recording.events.iter().for_each(|event| measure.event(event));
        measure.finish(end);
        measure
    }

    /// Counts one event. Events must come in the order of time.
    pub fn event(&mut self, event: &TraceEvent) {
        self.threads.register_threads(event);
        let nr = self.threads.list().len();
        self.figures.resize_with(nr, ThreadMeasurement::default);
        self.tracks.resize_with(nr, MeasuredThread::new);
        match event.kind {
            TraceEventKind::Switch { prev, state, next } => {
                let (prev, next) = (self.threads.find(prev.pid), self.threads.find(next.pid));
                self.switch(event.at, event.cpu, prev, next, state);
            }
            TraceEventKind::Waking { thread_ref } if self.basis == LatencyBasis::Waking => {
                self.on_wakeup(event.at, thread_ref.pid, false);
            }
            TraceEventKind::Wakeup { thread_ref, is_new, .. } if is_new || self.basis == LatencyBasis::Wakeup => {
                self.on_wakeup(event.at, thread_ref.pid, is_new);
            }
            TraceEventKind::Lost { .. } => {
                if let Some(Some(thread)) = self.current.get_mut(event.cpu as usize).and_then(Option::take) {
                    self.tracks[thread].runs = None;
                    self.tracks[thread].activity.forget();
                }
            }
            _ => {}
        }
        self.threads.remove_dead(event);
        if let Some(last) = self.last.get_mut(event.cpu as usize) {
            *last = event.at;
        }
    }

    fn on_wakeup(&mut self, now: u64, pid: i32, is_new: bool) {
        let Some(thread) = self.threads.find(pid) else { return };
        let track = &mut self.tracks[thread];
        let cpu = CpuId(track.last_cpu.unwrap_or_default());
        track.activity.wake(Nanos(now), cpu, is_new);
    }

    fn switch(&mut self, now: u64, cpu: u32, prev: Option<usize>, next: Option<usize>, state: PrevState) {
        let Some(current) = self.current.get_mut(cpu as usize) else { return };
        let before = current.replace(next);
        let is_first = before.is_none();
        if let Some(Some(vanished)) = before.filter(|&before| before != prev) {
            // The trace lacks the switch of this thread. It ran at least until the CPU's last event.
            self.stop_running(self.last[cpu as usize], vanished);
        }
        self.cpus[cpu as usize].switches += 1;
        if let Some(prev) = prev {
            // The thread that the first switch of a CPU switches out has run there since the start, unless it
            // was seen elsewhere before.
            let track = &mut self.tracks[prev];
            if is_first && track.runs.is_none() && track.last_cpu.is_none() {
                (track.runs, track.last_cpu) = (Some((cpu, self.start)), Some(cpu));
            }
            if track.runs.is_none() {
                // The trace lacks the switch to this thread, so its waiting time is unknown.
                track.activity.forget();
            }
            self.stop_running(now, prev);
            self.tracks[prev].activity.switch_out(Nanos(now), CpuId(cpu), state);
        }
        if let Some(next) = next {
            self.stop_running(now, next);
            let (track, figures) = (&mut self.tracks[next], &mut self.figures[next]);
            figures.switches += 1;
            figures.migrations += u64::from(track.last_cpu.is_some_and(|last| last != cpu));
            if let Some(episode) = track.activity.switch_in(Nanos(now), CpuId(cpu)) {
                figures.wait_ns += episode.length().0;
                figures.latencies.extend(episode.queued.map(|queued| queued.0));
            }
            (track.runs, track.last_cpu) = (Some((cpu, now)), Some(cpu));
        }
    }

    fn stop_running(&mut self, now: u64, thread: usize) {
        let Some((cpu, since)) = self.tracks[thread].runs.take() else { return };
        self.tracks[thread].activity.forget();
        let (figures, time) = (&mut self.figures[thread], now.saturating_sub(since));
        figures.run_ns += time;
        *figures.by_cpu.entry(cpu).or_default() += time;
        self.cpus[cpu as usize].busy_ns += time;
    }

    /// Ends the measurement: runs and waits that have not ended last until `end`.
    pub fn finish(&mut self, end: u64) {
        for thread in 0..self.tracks.len() {
            self.stop_running(end, thread);
            let (track, figures) = (&mut self.tracks[thread], &mut self.figures[thread]);
            if let Some(episode) = track.activity.episode(Nanos(end)) {
                figures.wait_ns += episode.length().0;
                figures.open_latency = episode.queued.map(|queued| queued.0);
                track.activity.forget();
            }
        }
    }
}
