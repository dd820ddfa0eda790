// SPDX-License-Identifier: GPL-2.0-or-later
//! What a page shows of a run, collected while it runs: segments, figures over time, latencies, searches, migrations.

use super::segments::{Segment, Segments};
use crate::export::TraceSink;
use crate::export::record::{Counter, EventGroups, Group, RecordKind, TraceRecord};
use crate::export::thread::{ThreadId, ThreadTable};
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::wakeup::{WakeKind, WakeRule};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

/// Into so many parts of equal length a run is divided for figures over time.
pub(super) const NR_PARTS: usize = 400;
/// Parts of an octave into which latencies are counted.
pub(super) const PER_OCTAVE: u32 = 8;
/// Room for segments of one run: a page with it stays below 30 MB.
const MAX_SEGMENTS: usize = 1_200_000;
/// On machines of more CPUs, migrations are counted between groups of CPUs.
pub(super) const MAX_CELLS: usize = 128;

/// What a page needs to know of a run.
pub(super) const GROUPS: EventGroups =
    EventGroups::from_slice(&[Group::Sched, Group::Stat, Group::Frequency, Group::Counters, Group::Decisions]);

/// A figure over time: sums of value times time, for each part of the run.
#[derive(Clone, Debug)]
pub(super) struct Series {
    since: u64,
    value: u64,
    pub(super) sums: Vec<u64>,
}

impl Series {
    fn new() -> Self {
        Self { since: 0, value: 0, sums: vec![0; NR_PARTS] }
    }

    /// The value up to a time, of a run of some length, counts.
    fn advance(&mut self, to: u64, length: u64) {
        let mut at = self.since;
        while at < to {
            let part = (u128::from(at) * NR_PARTS as u128 / u128::from(length)) as usize;
            let end = (u128::from(length) * (part as u128 + 1)).div_ceil(NR_PARTS as u128) as u64;
            let until = end.min(to);
            if part < NR_PARTS {
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

/// What was collected.
#[derive(Debug)]
pub(super) struct PageData {
    pub(super) length: u64,
    pub(super) segments: Segments,
    /// Names and pids of threads.
    pub(super) threads: Vec<(String, i32, bool)>,
    pub(super) util: Vec<Series>,
    pub(super) khz: Vec<Series>,
    pub(super) nr_running: Vec<Series>,
    /// Wake-up latencies of threads: how many of which size.
    pub(super) latencies: BTreeMap<ThreadId, BTreeMap<u32, u64>>,
    /// Numbers of CPUs looked at, of selections that searched.
    pub(super) scanned: BTreeMap<u32, u64>,
    /// Migrations from CPU to CPU, or from group to group.
    pub(super) migrations: BTreeMap<(u32, u32), u64>,
    /// Since when who runs on each CPU, and how long he had waited.
    running: Vec<(ThreadId, u64, u64)>,
    woken: BTreeMap<ThreadId, u64>,
    waited: BTreeMap<ThreadId, u64>,
    rules: BTreeMap<ThreadId, u8>,
    per_cell: u32,
}

/// The number of latencies of a size: PER_OCTAVE for each doubling.
pub(super) fn size_of(ns: u64) -> u32 {
    let octave = (ns | 1).ilog2();
    let within = if octave >= 3 { (ns >> (octave - 3)) & 7 } else { (ns << (3 - octave)) & 7 };
    octave * PER_OCTAVE + within as u32
}

impl PageData {
    fn new(machine: &Machine<impl Engine>) -> Self {
        let nr_cpus = machine.hardware().nr_cpus();
        let series = || vec![Series::new(); nr_cpus];
        Self {
            length: machine.duration().0.max(1),
            segments: Segments::new(nr_cpus, MAX_SEGMENTS),
            threads: Vec::new(),
            util: series(),
            khz: series(),
            nr_running: series(),
            latencies: BTreeMap::new(),
            scanned: BTreeMap::new(),
            migrations: BTreeMap::new(),
            running: (0..nr_cpus).map(|cpu| (ThreadTable::idle(CpuId::from_index(cpu)), 0, 0)).collect(),
            woken: BTreeMap::new(),
            waited: BTreeMap::new(),
            rules: BTreeMap::new(),
            per_cell: nr_cpus.div_ceil(MAX_CELLS) as u32,
        }
    }

    /// How many CPUs a cell of the map of migrations has.
    pub(super) const fn per_cell(&self) -> u32 {
        self.per_cell
    }

    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        let at = (record.at - START).0;
        match record.what {
            RecordKind::Switch { next, .. } => self.on_switch(threads, record.cpu.index(), at, next),
            RecordKind::Wakeup { thread, is_new: false, .. } => drop(self.woken.insert(thread, at)),
            RecordKind::StatWait { thread, delay } => drop(self.waited.insert(thread, delay.0)),
            RecordKind::Migrate { orig_cpu, dest_cpu, .. } => {
                let cell = |cpu: CpuId| cpu.0 / self.per_cell;
                *self.migrations.entry((cell(orig_cpu), cell(dest_cpu))).or_default() += 1;
            }
            RecordKind::Frequency { cpu_id, khz } => self.khz[cpu_id.index()].set(at, khz, self.length),
            RecordKind::Counter { of, counter: Counter::UtilAvg, value } => {
                self.util[of.index()].set(at, value, self.length);
            }
            RecordKind::Counter { of, counter: Counter::NrRunning, value } => {
                self.nr_running[of.index()].set(at, value, self.length);
            }
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
        let (thread, start, waited) = self.running[cpu];
        if !threads.is_idle(thread) && at > start {
            let rule = self.rules.get(&thread).copied().unwrap_or(0);
            let segment = Segment { start, end: at, thread, busy: at - start, nr: 1, waited, rule };
            self.segments.push(cpu, segment);
        }
        if let Some(woken) = self.woken.remove(&next) {
            *self.latencies.entry(next).or_default().entry(size_of(at - woken)).or_default() += 1;
        }
        self.running[cpu] = (next, at, self.waited.remove(&next).unwrap_or(0));
    }

    fn finish(&mut self, threads: &ThreadTable) {
        let end = self.length;
        for cpu in 0..self.running.len() {
            self.on_switch(threads, cpu, end, ThreadTable::idle(CpuId::from_index(cpu)));
            for series in [&mut self.util[cpu], &mut self.khz[cpu], &mut self.nr_running[cpu]] {
                series.advance(end, end);
            }
        }
        let named = threads.iter().map(|info| (info.comm.as_str().to_owned(), info.pid, info.is_kernel));
        self.threads = named.collect();
    }
}

/// Collects for a page while a run goes on. The collected is there afterwards.
#[derive(Clone)]
pub struct PageCollector(pub(super) Rc<RefCell<PageData>>);

impl PageCollector {
    /// For a machine whose run has not begun.
    pub fn new(machine: &Machine<impl Engine>) -> Self {
        Self(Rc::new(RefCell::new(PageData::new(machine))))
    }

    /// The groups of events that it needs.
    pub const fn groups() -> EventGroups {
        GROUPS
    }
}

impl TraceSink for PageCollector {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        self.0.borrow_mut().record(threads, record);
    }

    fn finish(&mut self, threads: &ThreadTable) -> io::Result<()> {
        self.0.borrow_mut().finish(threads);
        Ok(())
    }

    fn has_failed(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_latencies_grow_and_an_octave_has_eight() {
        assert!((0..2_000).map(size_of).is_sorted());
        assert_eq!(size_of(1 << 11) - size_of(1 << 10), PER_OCTAVE);
        assert_eq!([size_of(1024), size_of(1151), size_of(1152)], [80, 80, 81]);
    }

    #[test]
    fn figures_over_time_lose_nothing() {
        let mut series = Series::new();
        let length = 1_003;
        series.set(7, 5, length);
        series.set(500, 2, length);
        series.advance(length, length);
        assert_eq!(series.sums.iter().sum::<u64>(), 5 * 493 + 2 * 503);
    }
}
