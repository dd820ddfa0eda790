// SPDX-License-Identifier: GPL-2.0-or-later
//! Collects the data of a page while a run is simulated: timeline segments, time series, runqueue latencies, CPU scans,
//! migrations and the longest waits.

use super::diagnosis::{MAX_WAITS, Wait};
use super::encode::put;
use super::lags::Lags;
use super::segments::{Segment, Segments};
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::{Machine, START};
use fairlab_measure::episodes::{Episode, WaitReason};
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::wakeup::{WakeKind, WakeRule};
use fairlab_traces::export::record::{Counter, EventGroups, Group, RecordKind, TraceRecord};
use fairlab_traces::export::thread::{ThreadId, ThreadTable};
use fairlab_traces::export::{Exporter, TraceSink};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::rc::Rc;

/// Least and largest number of equal parts of a run over which time series are averaged.
const PARTS: (usize, usize) = (400, 4000);
/// Parts of all CPUs together, unless their number is the least one.
const MAX_PARTS: usize = 1 << 15;
/// Histogram buckets per doubling of the latency.
pub(super) const PER_OCTAVE: u32 = 8;
/// Most segments of one run: a page of one run stays below 30 MB.
const MAX_SEGMENTS: usize = 1_200_000;
/// Most samples of lags in one run.
const MAX_LAGS: usize = 600_000;
/// Most rows of the migration matrix. On machines with more CPUs, a row stands for several CPUs.
pub(super) const MAX_CELLS: usize = 128;

/// Time series: for each part of the run, the integral of the value over time, in value times ns.
#[derive(Clone, Debug)]
pub(super) struct Series {
    since: u64,
    value: u64,
    pub(super) sums: Vec<u64>,
}

impl Series {
    fn new(nr_parts: usize) -> Self {
        Self { since: 0, value: 0, sums: vec![0; nr_parts] }
    }

    /// Returns the averages of the parts of a run of `length` ns, times a factor.
    pub(super) fn averages(&self, factor: u64, length: u64) -> Vec<u64> {
        let part = (length / self.sums.len() as u64).max(1);
        self.sums.iter().map(|sum| (sum * factor + part / 2) / part).collect()
    }

    /// Adds the current value up to the time `to` in ns, in a run of `length` ns.
    fn advance(&mut self, to: u64, length: u64) {
        let (mut at, nr_parts) = (self.since, self.sums.len());
        while at < to {
            let part = (u128::from(at) * nr_parts as u128 / u128::from(length)) as usize;
            let end = (u128::from(length) * (part as u128 + 1)).div_ceil(nr_parts as u128) as u64;
            let until = end.min(to);
            if part < nr_parts {
                self.sums[part] += self.value * (until - at);
            }
            at = until;
        }
        self.since = to;
    }

    fn set(&mut self, at: u64, value: u64, length: u64) {
        self.advance(at, length);
        self.value = value;
    }
}

/// Time for which a thread waited, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct WaitedTime {
    for_cpu: u64,
    throttled: u64,
}

/// Current thread of a CPU, when it was switched in, and how long it had waited.
#[derive(Clone, Copy, Debug)]
struct RunningThread {
    thread: ThreadId,
    start: u64,
    waited: WaitedTime,
}

/// Data of a page, as far as the run has come. Times are in ns from the start of the run.
#[derive(Debug, Default)]
pub(super) struct PageData {
    pub(super) length: u64,
    pub(super) segments: Segments,
    /// Name, pid, and whether the thread belongs to the kernel.
    pub(super) threads: Vec<(String, i32, bool)>,
    pub(super) util: Vec<Series>,
    pub(super) khz: Vec<Series>,
    pub(super) nr_running: Vec<Series>,
    /// Idle state of each CPU, counted from 1; 0 while it is not in one.
    pub(super) idle: Vec<Series>,
    /// Length of the run that the parts of the series divide, in ns; [`Self::length`] may end earlier.
    pub(super) series_length: u64,
    /// Histograms of runqueue latencies: number of wake-ups by bucket, see [`size_of`].
    pub(super) latencies: BTreeMap<ThreadId, BTreeMap<u32, u64>>,
    pub(super) scanned: BTreeMap<u32, u64>,
    /// Migrations between rows of the migration matrix, as (from, to).
    pub(super) migrations: BTreeMap<(u32, u32), u64>,
    running: Vec<RunningThread>,
    /// Waits of each thread since it last ran.
    waited: BTreeMap<ThreadId, WaitedTime>,
    rules: BTreeMap<ThreadId, u8>,
    /// Longest waits. The shortest of them is on top.
    waits: BinaryHeap<Reverse<Wait>>,
    pub(super) lags: Lags,
    /// Number of CPUs for which a row of the migration matrix stands.
    pub(super) per_cell: u32,
}

/// Returns the histogram bucket of a latency: [`PER_OCTAVE`] buckets for each doubling.
pub(super) fn size_of(ns: u64) -> u32 {
    let octave = (ns | 1).ilog2();
    let within = if octave >= 3 { (ns >> (octave - 3)) & 7 } else { (ns << (3 - octave)) & 7 };
    octave * PER_OCTAVE + within as u32
}

impl PageData {
    fn new(machine: &Machine<impl Engine>) -> Self {
        let nr_cpus = machine.hardware().nr_cpus();
        let nr_parts = (MAX_PARTS / nr_cpus.max(1)).clamp(PARTS.0, PARTS.1);
        let series = || vec![Series::new(nr_parts); nr_cpus];
        Self {
            length: machine.duration().0.max(1),
            segments: Segments::new(nr_cpus, MAX_SEGMENTS),
            util: series(),
            khz: series(),
            nr_running: series(),
            idle: series(),
            series_length: machine.duration().0.max(1),
            running: (0..nr_cpus)
                .map(|cpu| RunningThread {
                    thread: ThreadTable::idle(CpuId::from_index(cpu)),
                    start: 0,
                    waited: WaitedTime::default(),
                })
                .collect(),
            lags: Lags::new(MAX_LAGS),
            per_cell: nr_cpus.div_ceil(MAX_CELLS) as u32,
            ..Self::default()
        }
    }

    /// Encodes the averages of all series as bytes: the number of parts, then for each CPU utilisation, frequency in kHz, and in
    /// hundredths the number of runnable tasks and the idle state. A series is a list of values, each with the number of parts
    /// that have it.
    pub(super) fn series(&self) -> Vec<u8> {
        let (mut bytes, length) = (Vec::new(), self.series_length);
        put(&mut bytes, self.util.first().map_or(0, |series| series.sums.len() as u64));
        for cpu in 0..self.util.len() {
            let of_cpu = [(&self.util, 1), (&self.khz, 1), (&self.nr_running, 100), (&self.idle, 100)];
            for (series, factor) in of_cpu {
                let averages = series[cpu].averages(factor, length);
                for equal in averages.chunk_by(|value, next| value == next) {
                    put(&mut bytes, equal[0]);
                    put(&mut bytes, equal.len() as u64);
                }
            }
        }
        bytes
    }

    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        self.add_new_threads(threads);
        let at = (record.at - START).0;
        match record.what {
            RecordKind::Switch { next, .. } => self.on_switch(threads, record.cpu.index(), at, next),
            RecordKind::Wait { thread, ref episode } => self.on_wait(threads, thread, episode),
            RecordKind::Migrate { orig_cpu, dest_cpu, .. } => {
                let cell = |cpu: CpuId| cpu.0 / self.per_cell;
                *self.migrations.entry((cell(orig_cpu), cell(dest_cpu))).or_default() += 1;
            }
            RecordKind::Idle { cpu_id, state } => {
                let value = state.map_or(0, |state| u64::from(state) + 1);
                self.idle[cpu_id.index()].set(at, value, self.series_length);
            }
            RecordKind::Frequency { cpu_id, khz } => self.khz[cpu_id.index()].set(at, khz, self.series_length),
            RecordKind::Counter { of, counter: Counter::UtilAvg, value } => {
                self.util[of.index()].set(at, value, self.series_length);
            }
            RecordKind::Counter { of, counter: Counter::NrRunning, value } => {
                self.nr_running[of.index()].set(at, value, self.series_length);
            }
            RecordKind::Lag { thread, ref lag } => self.lags.push(at, record.cpu, thread, lag),
            RecordKind::Selected { thread, decision } => {
                let place = WakeRule::ALL.iter().position(|&rule| rule == decision.rule);
                self.rules.insert(thread, place.map_or(0, |place| place as u8 + 1));
                if decision.kind == WakeKind::Wakeup {
                    *self.scanned.entry(decision.nr_scanned).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    fn on_switch(&mut self, threads: &ThreadTable, cpu: usize, at: u64, next: ThreadId) {
        let RunningThread { thread, start, waited } = self.running[cpu];
        if !threads.is_idle(thread) && at > start {
            let rule = self.rules.get(&thread).copied().unwrap_or(0);
            let WaitedTime { for_cpu: waited, throttled } = waited;
            let segment = Segment { start, end: at, thread, busy: at - start, nr: 1, waited, throttled, rule };
            self.segments.push(cpu, segment);
        }
        let waited = self.waited.remove(&next).unwrap_or_default();
        self.running[cpu] = RunningThread { thread: next, start: at, waited };
    }

    fn on_wait(&mut self, threads: &ThreadTable, thread: ThreadId, episode: &Episode) {
        let waited = self.waited.entry(thread).or_default();
        let limit = match episode.reason {
            WaitReason::Cpu | WaitReason::Unknown => {
                waited.for_cpu += episode.length().0;
                None
            }
            WaitReason::Runtime(limit) => {
                waited.throttled += episode.length().0;
                Some(limit)
            }
        };
        if !threads.is_of_workload(thread) {
            return;
        }
        if let Some(queued) = episode.queued.filter(|_| limit.is_none()) {
            *self.latencies.entry(thread).or_default().entry(size_of(queued.0)).or_default() += 1;
        }
        let (length_ns, since_ns) = (episode.length().0, (episode.since - START).0);
        let (thread, cpu, is_open) = (thread.index(), episode.cpu.index(), episode.is_open);
        self.keep_longest(Wait { length_ns, since_ns, thread, cpu, is_open, limit });
    }

    fn keep_longest(&mut self, wait: Wait) {
        if wait.length_ns > 0 {
            self.waits.push(Reverse(wait));
            if self.waits.len() > MAX_WAITS {
                self.waits.pop();
            }
        }
    }

    pub(super) fn longest_waits(&self) -> Vec<Wait> {
        let mut waits: Vec<Wait> = self.waits.iter().map(|wait| wait.0).collect();
        waits.sort_by_key(|&wait| Reverse(wait));
        waits
    }

    /// Discards what was counted during the warm-up, which only the timeline and the series contain.
    fn reset(&mut self) {
        self.latencies.clear();
        self.scanned.clear();
        self.migrations.clear();
        self.waits.clear();
    }

    fn finish(&mut self, threads: &ThreadTable) {
        let end = self.length;
        for cpu in 0..self.running.len() {
            self.on_switch(threads, cpu, end, ThreadTable::idle(CpuId::from_index(cpu)));
            for series in [&mut self.util, &mut self.khz, &mut self.nr_running, &mut self.idle] {
                series[cpu].advance(end, self.series_length);
            }
        }
        self.add_new_threads(threads);
    }

    fn add_new_threads(&mut self, threads: &ThreadTable) {
        let new = threads.iter().skip(self.threads.len());
        self.threads.extend(new.map(|info| (info.comm.as_str().to_owned(), info.pid, info.is_kernel)));
    }

    /// CPUs' current threads and when they were switched in; `None` for an idle CPU.
    pub(super) fn occupants(&self) -> impl Iterator<Item = Option<(ThreadId, u64)>> {
        let is_idle = |thread: ThreadId| self.threads.get(thread.index()).is_none_or(|thread| thread.1 == 0);
        self.running.iter().map(move |now| (!is_idle(now.thread)).then_some((now.thread, now.start)))
    }
}

/// Trace sink that collects the data of a page. Clones share the data, so one of them reads the data after the run.
#[derive(Clone)]
pub struct PageCollector(pub(super) Rc<RefCell<PageData>>);

impl PageCollector {
    /// Adds a collector to the exporter of a machine whose run has not begun, and returns it.
    pub fn add_to(exporter: &mut Exporter, machine: &Machine<impl Engine>) -> Self {
        let collector = Self(Rc::new(RefCell::new(PageData::new(machine))));
        exporter.add(Self::groups(), Box::new(collector.clone()));
        collector
    }

    /// Returns the groups of events that the collector needs.
    const fn groups() -> EventGroups {
        use Group::{Counters, Decisions, Frequency, Idle, Lags, Sched, Stat};
        EventGroups::from_slice(&[Sched, Stat, Frequency, Idle, Counters, Decisions, Lags])
    }
}

impl TraceSink for PageCollector {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        self.0.borrow_mut().record(threads, record);
    }

    fn reset(&mut self) {
        self.0.borrow_mut().reset();
    }

    fn finish(&mut self, threads: &ThreadTable) -> io::Result<()> {
        self.0.borrow_mut().finish(threads);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_latencies_grow_and_an_octave_has_eight() {
        assert!((0..2_000).map(size_of).is_sorted());
        assert_eq!(size_of(1 << 11) - size_of(1 << 10), PER_OCTAVE);
        assert_eq!([1, 2, 3, 4, 5].map(size_of), [0, 8, 12, 16, 18]);
        assert_eq!([size_of(1024), size_of(1151), size_of(1152)], [80, 80, 81]);
    }

    #[test]
    fn figures_over_time_lose_nothing() {
        let mut series = Series::new(400);
        let length = 1_003;
        series.set(7, 5, length);
        series.set(500, 2, length);
        series.advance(length, length);
        assert_eq!(series.sums.iter().sum::<u64>(), 5 * 493 + 2 * 503);
    }
}
