// SPDX-License-Identifier: GPL-2.0-or-later
//! Histograms in the text that bpftrace prints of its maps, for scripts and eyes that know `runqlat` and `cpudist`.
//!
//! The format is that of `TextOutput::hist_to_str()` and `map_hist_to_str()` in bpftrace's `src/output.cpp` (0.9 to 0.20): a row for each power of two
//! between the lowest and the highest that came, bounds with K, M, G and T for powers of 1024, a bar of up to 52 `@`; maps with keys are sorted
//! by how much is in them. All times are in microseconds.
//!
//! | map | what it counts | who counts the same on a real machine |
//! |---|---|---|
//! | `@runqlat_us` | from being runnable, woken or preempted, until a CPU is got | `runqlat.bt`, bcc's `runqlat` |
//! | `@cpudist_us` | how long tasks ran each time that they got a CPU, idle tasks left out | bcc's `cpudist` |
//! | `@idle_exit_us` | from an interrupt by another CPU (`ipi_raise`) until the idle CPU has left its state (`cpu_idle`) | - |
//!
//! The first two also by name of the task (`_comm`), and all by CPU (`_cpu`). What has not ended when the run ends is not counted.

use super::record::{EventGroups, Group, RecordKind, TraceRecord};
use super::sink::{BufferedOut, TraceSink};
use super::thread::{ThreadId, ThreadTable};
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// What it counts, it counts from these.
pub(super) const GROUPS: EventGroups = EventGroups::from_slice(&[Group::Sched, Group::Stat, Group::Idle, Group::Ipi]);

/// The longest bar.
const MAX_WIDTH: usize = 52;

/// Counts by powers of two: place 0 is for 0, place n for 2^(n-1) and more, up to 2^n.
#[derive(Clone, Debug, Default)]
struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    fn add(&mut self, value: u64) {
        let place = (u64::BITS - value.leading_zeros()) as usize;
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
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
            // Single precision, so that no bar has another length than bpftrace's.
            let width = (count as f32 / most as f32 * MAX_WIDTH as f32) as usize;
            let _ = writeln!(text, "{bounds:<16}{count:>8} |{:<MAX_WIDTH$}|", "@".repeat(width));
        }
    }
}

/// A power of two, short.
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

/// Histograms by number: of a thread, or a CPU.
#[derive(Debug, Default)]
struct IndexedHistograms(Vec<Histogram>);

impl IndexedHistograms {
    fn add(&mut self, number: usize, time: Nanos) {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Histogram::default);
        }
        self.0[number].add(time.0 / 1000);
    }

    fn sum(&self) -> Histogram {
        let mut sum = Histogram::default();
        self.0.iter().for_each(|one| sum.add_all(one));
        sum
    }

    /// The same under keys; those of one key are added up.
    fn keyed<K: Ord>(&self, key: impl Fn(usize) -> K) -> BTreeMap<K, Histogram> {
        let mut all = BTreeMap::<K, Histogram>::new();
        for (number, one) in self.0.iter().enumerate() {
            all.entry(key(number)).or_default().add_all(one);
        }
        all
    }
}

/// Histograms of a figure.
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

/// Counts while a run goes on, and writes the text when it is over.
pub(super) struct Bpftrace<W: Write> {
    out: BufferedOut<W>,
    runqlat: HistogramSet,
    cpudist: HistogramSet,
    idle_exit: IndexedHistograms,
    cpus: Vec<BpftraceCpu>,
}

/// What is under way on a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct BpftraceCpu {
    /// Since when its task runs.
    runs_since: Option<Nanos>,
    is_idle: bool,
    /// When another CPU interrupted it first while it idled.
    called_at: Option<Nanos>,
}

impl<W: Write> Bpftrace<W> {
    pub(super) fn new(to: W, nr_cpus: usize) -> Self {
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
        self.put_map(name, [((), figure.of_threads.sum())].into(), |()| String::new());
        let by_comm = figure.of_threads.keyed(|thread| comms[thread]);
        self.put_map(&format!("{name}_comm"), by_comm, |comm| format!("[{comm}]"));
        self.put_map(&format!("{name}_cpu"), figure.of_cpus.keyed(|cpu| cpu), |cpu| format!("[{cpu}]"));
    }

    /// A map, smaller histograms first. One in which nothing is, is left out.
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
        self.put_map("@idle_exit_us", [((), idle_exit.sum())].into(), |()| String::new());
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
        assert_eq!(rows[0], format!("[2, 4)                 4 |{}|", bar(4)), "from the lowest that came");
        assert_eq!(rows[1], format!("[4, 8)                 2 |{}|", bar(2)));
        assert_eq!(rows[2], format!("[8, 16)                0 |{}|", bar(0)), "and none left out on the way");
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
