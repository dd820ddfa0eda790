// SPDX-License-Identifier: GPL-2.0-or-later
//! Histograms in the text format in which bpftrace prints its maps, for scripts and readers of `runqlat` and
//! `cpudist`.
//!
//! The format is that of `TextOutput::hist_to_str()` and `map_hist_to_str()` in bpftrace's `src/output.cpp`
//! (0.9 to 0.20): one row for each power of two between the smallest and the largest value, bounds with K, M,
//! G and T for powers of 1024, and a bar of up to 52 `@`. The histograms of a map are sorted by their number
//! of samples. All times are in microseconds.
//!
//! | map | content | tool with this metric on a real machine |
//! |---|---|---|
//! | `@runqlat_us` | runqueue latency: from wake-up or preemption until the task gets a CPU | `runqlat.bt`, bcc's `runqlat` |
//! | `@cpudist_us` | duration of each run of a task on a CPU, without idle tasks | bcc's `cpudist` |
//! | `@idle_exit_us` | idle exit latency: from an IPI to an idle CPU (`ipi_raise`) until its idle exit (`cpu_idle`) | - |
//!
//! The first two maps also exist by task name (`_comm`), and all three by CPU (`_cpu`). Periods that have not
//! ended at the end of the run are not counted.

use super::record::{EventGroups, Group, RecordKind, TraceRecord};
use super::sink::{BufferedOut, TraceSink};
use super::thread::{ThreadId, ThreadTable};
use super::{ExportFormat, FormatOpener, SinkOpener};
use fairlab_measure::slot_mut;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "bpftrace",
    extension: "hist.txt",
    meaning: "bpftrace's histograms of runqueue latency, run time and idle exit latency, in us",
    groups: GROUPS,
    opener: FormatOpener::Events(SinkOpener::File(|out, _, run| Ok(Box::new(Bpftrace::new(out, run.nr_cpus()))))),
};

const GROUPS: EventGroups = EventGroups::from_slice(&[Group::Sched, Group::Stat, Group::Idle, Group::Ipi]);

/// Length of the longest bar in characters.
const MAX_WIDTH: usize = 52;

/// Histogram with power-of-two buckets: bucket 0 counts the value 0, bucket n the values below
/// 2^n and not below 2^(n-1).
#[derive(Clone, Debug, Default)]
struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    fn add(&mut self, value: u64) {
        let place = (u64::BITS - value.leading_zeros()) as usize;
        *slot_mut(&mut self.counts, place) += 1;
    }

    fn add_all(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, more)| *own += more);
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn put(&self, text: &mut String) {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let first = self.counts.iter().position(|&count| count > 0).unwrap_or(0);
        for (place, &count) in self.counts.iter().enumerate().skip(first) {
            let bounds = match place {
                0 => "[0]".to_owned(),
                1 => "[1]".to_owned(),
                _ => format!("[{}, {})", bound(place - 1), bound(place)),
            };
            // Single precision, because bpftrace computes the bar length with it.
            let width = (count as f32 / most as f32 * MAX_WIDTH as f32) as usize;
            let _ = writeln!(text, "{bounds:<16}{count:>8} |{:<MAX_WIDTH$}|", "@".repeat(width));
        }
    }
}

/// Returns 2 to the power of `power` with a suffix for powers of 1024.
fn bound(power: usize) -> String {
    let (power, suffix) = match power {
        40.. => (power - 40, "T"),
        30.. => (power - 30, "G"),
        20.. => (power - 20, "M"),
        10.. => (power - 10, "K"),
        _ => (power, ""),
    };
    format!("{}{suffix}", 1_u64 << power)
}

#[derive(Debug, Default)]
struct IndexedHistograms(Vec<Histogram>);

impl IndexedHistograms {
    fn add(&mut self, number: usize, time: Nanos) {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Histogram::default);
        }
        self.0[number].add(time.0 / 1000);
    }

    /// Returns the histograms by key; those with equal keys are merged.
    fn keyed<K: Ord>(&self, key: impl Fn(usize) -> K) -> BTreeMap<K, Histogram> {
        let mut all = BTreeMap::<K, Histogram>::new();
        for (number, one) in self.0.iter().enumerate() {
            all.entry(key(number)).or_default().add_all(one);
        }
        all
    }
}

#[derive(Debug, Default)]
struct HistogramSet {
    of_threads: IndexedHistograms,
    of_cpus: IndexedHistograms,
}

impl HistogramSet {
    fn add(&mut self, thread: ThreadId, cpu: usize, time: Nanos) {
        self.of_threads.add(thread.index(), time);
        self.of_cpus.add(cpu, time);
    }
}

struct Bpftrace<W: Write> {
    out: BufferedOut<W>,
    runqlat: HistogramSet,
    cpudist: HistogramSet,
    idle_exit: IndexedHistograms,
    cpus: Vec<BpftraceCpu>,
}

#[derive(Clone, Copy, Debug, Default)]
struct BpftraceCpu {
    runs_since: Option<Nanos>,
    is_idle: bool,
    /// Time of the first IPI since the CPU became idle.
    called_at: Option<Nanos>,
}

impl<W: Write> Bpftrace<W> {
    fn new(to: W, nr_cpus: usize) -> Self {
        Self {
            out: BufferedOut::new(to),
            runqlat: HistogramSet::default(),
            cpudist: HistogramSet::default(),
            idle_exit: IndexedHistograms::default(),
            cpus: vec![BpftraceCpu::default(); nr_cpus],
        }
    }

    fn put_figure(&mut self, name: &str, figure: &HistogramSet, threads: &ThreadTable) {
        let comms: Vec<&str> = threads.iter().map(|thread| thread.comm.as_str()).collect();
        self.put_map(name, figure.of_threads.keyed(|_| ()), |()| String::new());
        let by_comm = figure.of_threads.keyed(|thread| comms[thread]);
        self.put_map(&format!("{name}_comm"), by_comm, |comm| format!("[{comm}]"));
        self.put_map(&format!("{name}_cpu"), figure.of_cpus.keyed(|cpu| cpu), |cpu| format!("[{cpu}]"));
    }

    /// Writes the histograms of a map, those with the fewest samples first. Empty histograms are left out.
    fn put_map<K: Ord>(&mut self, name: &str, map: BTreeMap<K, Histogram>, key: impl Fn(K) -> String) {
        let mut all: Vec<(K, Histogram)> = map.into_iter().filter(|(_, one)| one.total() > 0).collect();
        all.sort_by_key(|(_, one)| one.total());
        for (of, one) in all {
            let mut text = format!("{name}{}: \n", key(of));
            one.put(&mut text);
            text.push('\n');
            self.out.next().extend_from_slice(text.as_bytes());
        }
    }
}

impl<W: Write> TraceSink for Bpftrace<W> {
    fn needs(&self) -> EventGroups {
        GROUPS
    }

    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        let cpu = record.cpu.index();
        match record.what {
            RecordKind::StatWait { thread, delay } => self.runqlat.add(thread, cpu, delay),
            RecordKind::Switch { prev, .. } => {
                let since = self.cpus[cpu].runs_since.replace(record.at);
                if let Some(since) = since.filter(|_| !threads.is_idle(prev)) {
                    self.cpudist.add(prev, cpu, record.at - since);
                }
            }
            RecordKind::Ipi { target, .. } => {
                let target = &mut self.cpus[target.index()];
                if target.is_idle {
                    target.called_at.get_or_insert(record.at);
                }
            }
            RecordKind::Idle { cpu_id, state } => {
                let host = &mut self.cpus[cpu_id.index()];
                host.is_idle = state.is_some();
                if let Some(called_at) = host.called_at.take() {
                    self.idle_exit.add(cpu_id.index(), record.at - called_at);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, threads: &ThreadTable) -> io::Result<()> {
        let (runqlat, cpudist) = (std::mem::take(&mut self.runqlat), std::mem::take(&mut self.cpudist));
        let idle_exit = std::mem::take(&mut self.idle_exit);
        self.put_figure("@runqlat_us", &runqlat, threads);
        self.put_figure("@cpudist_us", &cpudist, threads);
        self.put_map("@idle_exit_us", idle_exit.keyed(|_| ()), |()| String::new());
        self.put_map("@idle_exit_us_cpu", idle_exit.keyed(|cpu| cpu), |cpu| format!("[{cpu}]"));
        self.out.finish()
    }

    fn has_failed(&self) -> bool {
        self.out.has_failed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_bpftrace() {
        let mut histogram = Histogram::default();
        let values = [(2, 3), (3, 1), (5, 2), (700, 26), (1024, 52), (3_000_000, 1)];
        for (value, nr) in values {
            (0..nr).for_each(|_| histogram.add(value));
        }
        let mut text = String::new();
        histogram.put(&mut text);
        let rows: Vec<&str> = text.lines().collect();
        let bar = |nr| "@".repeat(nr) + &" ".repeat(52 - nr);
        assert_eq!(rows[0], format!("[2, 4)                 4 |{}|", bar(4)), "the rows begin with the smallest value");
        assert_eq!(rows[1], format!("[4, 8)                 2 |{}|", bar(2)));
        assert_eq!(rows[2], format!("[8, 16)                0 |{}|", bar(0)), "empty rows in between are printed");
        assert_eq!(rows[8], format!("[512, 1K)             26 |{}|", bar(26)));
        assert_eq!(rows[9], format!("[1K, 2K)              52 |{}|", bar(52)));
        assert_eq!(rows.last().copied(), Some(format!("[2M, 4M)               1 |{}|", bar(1)).as_str()));
        let mut least = Histogram::default();
        [0, 1, 1].into_iter().for_each(|value| least.add(value));
        let mut text = String::new();
        least.put(&mut text);
        assert_eq!(text, format!("[0]                    1 |{}|\n[1]                    2 |{}|\n", bar(26), bar(52)));
    }
}
