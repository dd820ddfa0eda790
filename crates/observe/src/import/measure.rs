// SPDX-License-Identifier: GPL-2.0-or-later
//! What threads and CPUs did, counted from events: the same for a trace and for the run that replays it.
//!
//! A thread waits from the event that makes it runnable, or from a switch that leaves it runnable, until it is switched in. It has
//! migrated if it is switched in on another CPU than the last time.

use super::event::{Recording, ThreadState, TraceEvent, TraceEventKind, TraceEventName};
use super::threads::TraceThreads;
use std::collections::BTreeMap;

/// From which event the latency of a wake-up counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyBasis {
    /// `sched_wakeup`: the thread is queued.
    Wakeup,
    /// `sched_waking`: somebody calls for it.
    Waking,
    /// The trace has neither.
    None,
}

impl LatencyBasis {
    /// What a trace has.
    pub fn of(recording: &Recording) -> Self {
        let has = |kind| recording.events.iter().any(|event| event.kind.name() == kind);
        match () {
            () if has(TraceEventName::SchedWakeup) => Self::Wakeup,
            () if has(TraceEventName::SchedWaking) => Self::Waking,
            () => Self::None,
        }
    }
}

/// What a thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadMeasurement {
    /// Time on CPUs.
    pub run_ns: u64,
    /// Time runnable without a CPU.
    pub wait_ns: u64,
    /// How often it got a CPU.
    pub switches: u64,
    /// How often it got another CPU than before.
    pub migrations: u64,
    /// From each wake-up until it ran.
    pub latencies: Vec<u64>,
    /// Time on each CPU.
    pub by_cpu: BTreeMap<u32, u64>,
}

/// What a CPU did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuMeasurement {
    /// Time with a thread that is not its idle task.
    pub busy_ns: u64,
    /// Switches.
    pub switches: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct MeasuredThread {
    /// Since when it runs, and where.
    runs: Option<(u32, u64)>,
    waits_since: Option<u64>,
    woken_at: Option<u64>,
    last_cpu: Option<u32>,
}

/// Counts events.
#[derive(Clone, Debug)]
pub struct TraceMeasurement {
    basis: LatencyBasis,
    start: u64,
    /// Which threads there are.
    pub threads: TraceThreads,
    /// What each thread did, in their order.
    pub figures: Vec<ThreadMeasurement>,
    /// What each CPU did.
    pub cpus: Vec<CpuMeasurement>,
    tracks: Vec<MeasuredThread>,
    current: Vec<Option<Option<usize>>>,
    /// The last event of each CPU.
    last: Vec<u64>,
}

impl TraceMeasurement {
    /// From a time on.
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

    /// Of a whole trace.
    pub fn of(recording: &Recording) -> Self {
        let (start, end) = recording.span().unwrap_or_default();
        let mut measure = Self::new(start, recording.nr_cpus, LatencyBasis::of(recording));
        recording.events.iter().for_each(|event| measure.event(event));
        measure.finish(end);
        measure
    }

    /// Something has happened.
    pub fn event(&mut self, event: &TraceEvent) {
        self.threads.register_threads(event);
        let nr = self.threads.list().len();
        self.figures.resize_with(nr, ThreadMeasurement::default);
        self.tracks.resize_with(nr, MeasuredThread::default);
        match event.kind {
            TraceEventKind::Switch { prev, state, next } => {
                let (prev, next) = (self.threads.find(prev.pid), self.threads.find(next.pid));
                self.switch(event.at, event.cpu, prev, next, state);
            }
            TraceEventKind::Waking { who } if self.basis == LatencyBasis::Waking => {
                self.on_wakeup(event.at, who.pid, false)
            }
            TraceEventKind::Wakeup { who, is_new, .. } if is_new || self.basis == LatencyBasis::Wakeup => {
                self.on_wakeup(event.at, who.pid, is_new);
            }
            TraceEventKind::Lost { .. } => {
                let current = self.current.get_mut(event.cpu as usize).and_then(Option::take);
                if let Some(Some(thread)) = current {
                    self.tracks[thread].runs = None;
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
        if track.runs.is_none() && track.waits_since.is_none() {
            track.waits_since = Some(now);
            track.woken_at = (!is_new).then_some(now);
        }
    }

    fn switch(&mut self, now: u64, cpu: u32, prev: Option<usize>, next: Option<usize>, state: ThreadState) {
        let Some(current) = self.current.get_mut(cpu as usize) else { return };
        let before = current.replace(next);
        let is_first = before.is_none();
        if let Some(Some(vanished)) = before.filter(|&before| before != prev) {
            // Its own switch is not in the trace: it ran until the last event before that at the least.
            self.stop_running(self.last[cpu as usize], vanished);
        }
        self.cpus[cpu as usize].switches += 1;
        if let Some(prev) = prev {
            // The first switch of a CPU leaves who has run there since the beginning, if nobody knows it elsewhere.
            let track = &mut self.tracks[prev];
            if is_first && track.runs.is_none() && track.last_cpu.is_none() {
                (track.runs, track.last_cpu) = (Some((cpu, self.start)), Some(cpu));
            }
            if self.tracks[prev].runs.is_none() {
                // It has come to the CPU without a switch in the trace: nobody knows for how long it waited.
                (self.tracks[prev].waits_since, self.tracks[prev].woken_at) = (None, None);
            }
            self.stop_running(now, prev);
            if state == ThreadState::Runnable {
                self.tracks[prev].waits_since = Some(now);
            }
        }
        if let Some(next) = next {
            self.stop_running(now, next);
            let (track, figures) = (&mut self.tracks[next], &mut self.figures[next]);
            figures.switches += 1;
            figures.migrations += u64::from(track.last_cpu.is_some_and(|last| last != cpu));
            if let Some(since) = track.waits_since.take() {
                figures.wait_ns += now - since;
            }
            if let Some(woken) = track.woken_at.take() {
                figures.latencies.push(now - woken);
            }
            (track.runs, track.last_cpu) = (Some((cpu, now)), Some(cpu));
        }
    }

    /// A thread runs no longer.
    fn stop_running(&mut self, now: u64, thread: usize) {
        let Some((cpu, since)) = self.tracks[thread].runs.take() else { return };
        let (figures, time) = (&mut self.figures[thread], now.saturating_sub(since));
        figures.run_ns += time;
        *figures.by_cpu.entry(cpu).or_default() += time;
        self.cpus[cpu as usize].busy_ns += time;
    }

    /// The end: who runs or waits has done so until now.
    pub fn finish(&mut self, end: u64) {
        for thread in 0..self.tracks.len() {
            self.stop_running(end, thread);
            if let Some(since) = self.tracks[thread].waits_since.take() {
                self.figures[thread].wait_ns += end.saturating_sub(since);
            }
        }
    }
}
