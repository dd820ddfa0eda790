// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of cyclictest: [`CyclictestLine`] describes it.

use super::{BenchModel, Benchmark, CommandLine, RepeatedSteps, RunContext, created_task};
use crate::message::Message;
use crate::serde_time::{nanos, optional_nanos};
use crate::step::{Step, TimerMode, TimerRef};
use crate::workload::{Affinity, Attributes, Workload};
use clap::Args;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Simulated time without a number of cycles.
const DEFAULT_DURATION: Nanos = Nanos::from_secs(5);

/// Mark at which a thread records a latency.
pub const SAMPLE: u32 = 1;
/// Work of a cycle beside waiting: reading the clock and counting. Counted: 238 instructions, at 2 per nanosecond.
const CYCLE: Nanos = Nanos(119);
/// Work of a hog between two steps.
const HOG: Nanos = Nanos::from_millis(10);

/// Options of cyclictest, and the builder of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cyclictest {
    /// Number of threads (`-t`); 0 means one per CPU.
    pub threads: u32,
    /// Priority of the first thread (`-p`), 1 to 99; each later one has one less, unless `same_priority`. 0:
    /// the fair class.
    pub priority: u8,
    /// Whether all threads have the same priority (`-S` sets it, too).
    pub same_priority: bool,
    /// Interval of thread 0 (`-i`).
    #[serde(rename = "interval_ns", with = "nanos")]
    pub interval: Nanos,
    /// Difference between the intervals of two consecutive threads (`-d`).
    #[serde(rename = "distance_ns", with = "nanos")]
    pub distance: Nanos,
    /// Whether each thread is bound to its own CPU (`-a`, `-S`).
    pub pinned: bool,
    /// Cycles of each thread (`-l`); 0: until the end of the run.
    pub loops: u64,
    /// Number of busy tasks of the fair class beside the threads.
    pub hogs: u32,
    /// Limit that it holds on `/dev/cpu_dma_latency` (`--latency`, 0 by default); `None` with `--laptop` or
    /// `--default-system`.
    #[serde(rename = "cpu_dma_latency_ns", with = "optional_nanos")]
    pub cpu_dma_latency: Option<Nanos>,
}

impl Default for Cyclictest {
    fn default() -> Self {
        Self {
            threads: 1,
            priority: 0,
            same_priority: false,
            interval: Nanos::from_micros(1000),
            distance: Nanos::from_micros(500),
            pinned: false,
            loops: 0,
            hogs: 0,
            cpu_dma_latency: Some(Nanos::ZERO),
        }
    }
}

impl Cyclictest {
    /// Returns the priority of a thread; 0 is the fair class.
    pub fn priority_of(&self, thread: u32) -> u8 {
        let less = if self.same_priority { 0 } else { u8::try_from(thread).unwrap_or(u8::MAX) };
        if self.priority == 0 { 0 } else { self.priority.saturating_sub(less).max(1) }
    }

    /// Returns the interval of a thread.
    pub const fn interval_of(&self, thread: u32) -> Nanos {
        Nanos(self.interval.0 + self.distance.0 * thread as u64)
    }

    /// Returns the workload for a machine with `nr_cpus` CPUs: the threads, then the hogs.
    pub fn workload(self, nr_cpus: u32) -> Workload {
        let mut tasks = Vec::new();
        for thread in 0..self.threads {
            let timer =
                Step::Timer { timer: TimerRef::Own(0), period: self.interval_of(thread), mode: TimerMode::Absolute };
            let steps = vec![timer, Step::Mark(SAMPLE), Step::Run(CYCLE)];
            let rounds = if self.loops == 0 { u64::MAX } else { self.loops };
            let cpu = thread % nr_cpus;
            let priority = self.priority_of(thread);
            let mut spec = created_task(format!("cyclictest{thread}"), "cyclictest", move |_| RepeatedSteps {
                steps: steps.clone(),
                next: 0,
                rounds_left: rounds,
            });
            spec.start_at = Some(Nanos::ZERO);
            spec.start_cpu = cpu;
            spec.own_timers = vec!["interval".to_owned()];
            spec.start = Attributes {
                policy: Some(if priority == 0 { Policy::Normal } else { Policy::Fifo(priority) }),
                affinity: self.pinned.then(|| Affinity::Cpus(vec![cpu])),
                ..Attributes::default()
            };
            tasks.push(spec);
        }
        for hog in 0..self.hogs {
            let mut spec = created_task(format!("hog{hog}"), "hog", |_| RepeatedSteps::endless(vec![Step::Run(HOG)]));
            spec.start_at = Some(Nanos::ZERO);
            spec.start_cpu = hog % nr_cpus;
            tasks.push(spec);
        }
        Workload { tasks, cpu_dma_latency: self.cpu_dma_latency, ..Workload::default() }
    }
}

impl Cyclictest {
    /// Returns the simulated time: until the slowest thread has completed its cycles, since hogs never end.
    fn duration(&self) -> Nanos {
        if self.loops == 0 {
            return DEFAULT_DURATION;
        }
        Nanos(self.interval_of(self.threads - 1).0.saturating_mul(self.loops + 1))
    }
}

impl BenchModel for Cyclictest {
    const NAME: &'static str = "cyclictest";

    fn for_run(self, run: &RunContext) -> Self {
        Self { threads: if self.threads == 0 { run.nr_cpus } else { self.threads }, ..self }
    }

    fn make_workload(&self, nr_cpus: u32) -> Workload {
        let mut workload = self.workload(nr_cpus);
        workload.duration = (self.loops == 0 || self.hogs > 0).then(|| self.duration());
        workload
    }
}

/// Latencies of real-time threads that wait for a timer
///
/// Each thread sleeps until its timer expires, and then measures how late it runs. Later threads have a longer interval (`-d`) and a
/// priority that is lower by one; with `-S` all have the same. While it runs, cyclictest holds `/dev/cpu_dma_latency` at `-e`, so that no CPU
/// enters a deep idle state. cyclictest makes no load; `--hogs`, an option of fairlab, adds busy tasks of the fair class.
///
/// A cycle is 119 ns of work: 238 counted instructions at 2 per nanosecond. Result: cycles and latencies of each thread.
///
/// Not modelled: histograms, memory locking, the program itself, which wakes every 10 ms, and the fallback to the fair class where the kernel
/// denies real-time policies.
#[derive(Debug, Args)]
#[command(after_help = examples!(
    "cyclictest -t 3 -p 80 --machine hikey960 --for 200ms",
    "cyclictest -S -p 80 --hogs 16 --for 2s",
))]
pub struct CyclictestLine {
    /// Number of threads [default: 1; with -S one per CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// SCHED_FIFO priority of the first thread; 0 means the fair class
    #[arg(short = 'p', long, value_name = "PRIO", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=99))]
    priority: u8,
    /// Interval of the first thread, in microseconds
    #[arg(short, long, value_name = "US", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    interval: u64,
    /// Difference between the intervals of two threads, in microseconds [default: 500; with -S 0]
    #[arg(short, long, value_name = "US", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    distance: Option<u64>,
    /// Number of cycles of each thread; 0 means until the end of --for [default: 0, for 5 s]
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    loops: u64,
    /// Run one thread on each CPU, all with equal priority
    #[arg(short = 'S', long)]
    smp: bool,
    /// Pin each thread to its own CPU
    #[arg(short, long)]
    affinity: bool,
    /// Exit latency to request through /dev/cpu_dma_latency, in microseconds: no CPU enters an idle state
    /// with a longer one
    #[arg(short = 'e', long, value_name = "PM_QOS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=2_000_000_000))]
    latency: u32,
    /// Do not open /dev/cpu_dma_latency: idle CPUs sleep as without cyclictest
    #[arg(long, conflicts_with = "latency")]
    laptop: bool,
    /// Change no setting of the system; has the effect of --laptop
    #[arg(long, conflicts_with = "latency")]
    default_system: bool,
    /// Number of busy tasks of the fair class beside the threads (an option of fairlab)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=4096))]
    hogs: u32,
}

impl CommandLine for CyclictestLine {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        let distance = if self.smp { 0 } else { 500 };
        Ok(Benchmark::Cyclictest(Cyclictest {
            threads: self.threads.unwrap_or(if self.smp { 0 } else { 1 }),
            priority: self.priority,
            same_priority: self.smp,
            interval: Nanos::from_micros(self.interval),
            distance: Nanos::from_micros(self.distance.unwrap_or(distance)),
            pinned: self.smp || self.affinity,
            loops: self.loops,
            hogs: self.hogs,
            cpu_dma_latency: (!self.laptop && !self.default_system)
                .then(|| Nanos::from_micros(u64::from(self.latency))),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_threads_have_longer_intervals_and_lower_priorities() {
        let bench = Cyclictest { threads: 3, priority: 2, ..Cyclictest::default() };
        let priorities: Vec<u8> = (0..3).map(|thread| bench.priority_of(thread)).collect();
        assert_eq!(priorities, [2, 1, 1]);
        assert_eq!(bench.interval_of(2), Nanos::from_micros(2000));
        assert_eq!(Cyclictest { same_priority: true, ..bench }.priority_of(2), 2);
        let workload = Cyclictest { hogs: 2, pinned: true, ..bench }.workload(2);
        assert_eq!(workload.tasks.len(), 5);
        assert_eq!(workload.tasks[2].start.affinity, Some(Affinity::Cpus(vec![0])));
        assert_eq!(workload.tasks[1].start.policy, Some(Policy::Fifo(1)));
    }
}
