// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of the study: a benchmark with a load on a machine under an arm.

use super::SERIES;
use crate::definition::ArmDefinition;
use crate::error::StudyError;
use crate::options::StudyLength;
use crate::run::machine;
use crate::window::{WindowCounts, WindowSpan, run_window};
use fairlab_machine::hardware::Hardware;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::Starts;
use fairlab_workload::bench::hackbench::{Hackbench, LOOP};
use fairlab_workload::bench::netperf::{Netperf, NetperfTest, TRANSACTION};
use fairlab_workload::bench::oltp::{self, Oltp};
use fairlab_workload::bench::schbench::{Schbench, SchbenchRelease};
use fairlab_workload::bench::stress_sock::{BOGO_OP, StressSock};
use fairlab_workload::bench::tbench::{DONE, OPERATIONS, Tbench};
use fairlab_workload::scenario;
use fairlab_workload::workload::Workload;

/// Machine with one last-level cache of 112 CPUs.
pub(super) const MACHINE: &str = "xeon-1s-112";
/// Number of CPUs of [`MACHINE`].
pub(super) const NR_CPUS: u32 = 112;
/// Number of tasks in a group of hackbench and in a message thread of schbench.
const TASKS_PER_GROUP: u32 = 28;
/// Number of senders, and of receivers, in a group of hackbench.
const FDS: u32 = TASKS_PER_GROUP / 2;
/// Length of a benchmark: longer than all spans.
const LENGTH: Nanos = Nanos::from_secs(60);
/// Number of netperf pairs from which the steady state takes long to settle.
pub(super) const FIRST_HIGH_LOAD: u32 = 196;
/// Additional start time of the benchmark for each seed; not a divisor of the tick period.
const PHASE: Nanos = Nanos(1_300_000);
/// Release of schbench, and the sleep of its message threads.
///
/// The source says `-s 30000 -c 30000`. Its author's script had neither number (`-s -c`), so that `-s` takes
/// `-c` as its argument, which is no number: no sleep, and 30 ms of work, the default. The release is the
/// last one before the measurements. With 30 ms of sleep, workers sleep for half of their time, and with
/// eight message threads 51 to 75 % of searches succeed, in any release; the published value is 16 %.
const SCHBENCH: (SchbenchRelease, Nanos) = (SchbenchRelease::Y2021, Nanos::ZERO);

/// Cost of the tracer for each search, in picoseconds: two probes and their map, with all CPUs in one queue. Calibrated:
/// the fullest bucket of the published histogram, on a machine of 224 CPUs; not calibrated again for 112.
const TRACER_PS: u64 = 400_000;

/// Uptime of the machine before the benchmark starts. The machine is nearly idle during that time. A busy CPU
/// of a 112-CPU cache needs this long until its first periodic load balance, from which SIS_UTIL first learns
/// the cache's utilisation.
pub(super) const UPTIME: Nanos = Nanos::from_millis(2_000);

/// Benchmark of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SisUtilBench {
    TcpRr,
    UdpRr,
    Tbench,
    /// Groups of 28 tasks.
    Hackbench {
        pipe: bool,
        threads: bool,
    },
    Schbench,
    StressSock,
    Oltp,
}

/// Benchmark with a load under an arm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SisUtilCase {
    pub(super) bench: SisUtilBench,
    /// Number of instances, groups or message threads.
    pub(super) load: u32,
    pub(super) arm: String,
    /// Whether a tracer of searches is attached, which costs time.
    pub(super) traced: bool,
}

impl SisUtilBench {
    /// Returns the benchmark with this name in the published tables.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "TCP_RR" => Self::TcpRr,
            "UDP_RR" => Self::UdpRr,
            "tbench" => Self::Tbench,
            "schbench" => Self::Schbench,
            "process-pipe" => Self::Hackbench { pipe: true, threads: false },
            "process-sockets" => Self::Hackbench { pipe: false, threads: false },
            "threads-pipe" => Self::Hackbench { pipe: true, threads: true },
            "threads-sockets" => Self::Hackbench { pipe: false, threads: true },
            "sock" => Self::StressSock,
            "OLTP" => Self::Oltp,
            _ => return None,
        })
    }

    /// Returns the lengths of the benchmark's warm-up and measured window.
    ///
    /// The limit of searches is first computed about 100 ms after the start, from averages with a half-life
    /// of 32 ms. Pairs of netperf have two states at high loads: spread over the CPUs, or both ends on one
    /// CPU. With limited searches they move from the first to the second state, since each failed search
    /// leaves one more CPU busy. With 224 pairs this takes half a second (published runs take 100 s). With
    /// 196 pairs, for which a published value exists too, the transition does not happen within two seconds,
    /// so these use the same time. With 168 pairs, runs of 200 ms, 700 ms and two seconds give the same
    /// results. Both arms of a benchmark have the same span.
    pub(super) fn span(self, load: u32, options: StudyLength) -> WindowSpan {
        let (warm_up, window) = match self {
            Self::Schbench => (300, if options.quick { 1_000 } else { 3_000 }),
            Self::StressSock => (400, 40),
            Self::Oltp => (200, 200),
            Self::TcpRr | Self::UdpRr if load < FIRST_HIGH_LOAD => (if options.quick { 160 } else { 200 }, 20),
            Self::TcpRr | Self::UdpRr => (700, 20),
            Self::Tbench => (120, 20),
            Self::Hackbench { .. } => (100, 20),
        };
        WindowSpan { warm_up: Nanos::from_millis(warm_up), window: Nanos::from_millis(window) }
    }

    fn workload(self, load: u32, length: Nanos) -> Workload {
        let starts = Some(Starts::Shell);
        let netperf = |test| Netperf { test, length, pairs: load, starts, ..Netperf::default() }.workload();
        let hackbench = |pipe, threads| Hackbench {
            groups: load,
            fds: FDS,
            loops: 1_000_000,
            pipe,
            threads,
            start_signal: true,
            ..Hackbench::default()
        };
        match self {
            Self::TcpRr => netperf(NetperfTest::TcpRr),
            Self::UdpRr => netperf(NetperfTest::UdpRr),
            Self::Tbench => Tbench { clients: load, runtime: length, seed: 0 }.workload(),
            Self::Hackbench { pipe, threads } => {
                let mut workload = hackbench(pipe, threads).workload();
                // Only the phase differs between processes and threads: the model has one cost for a switch
                // between address spaces and within one, `ContextSwitch`. They are therefore two runs at
                // different phases relative to the tick.
                workload.tasks[0].start_at = Some(Nanos(if threads { 1_300_000 } else { 0 }));
                workload
            }
            Self::Schbench => Schbench {
                form: SCHBENCH.0,
                message_threads: load,
                threads: TASKS_PER_GROUP,
                runtime: length,
                sleeptime: SCHBENCH.1,
                ..Schbench::default()
            }
            .workload(),
            Self::StressSock => StressSock { instances: load, timeout: length }.workload(),
            Self::Oltp => Oltp { threads: load, time: length, seed: 0 }.workload(),
        }
    }

    /// Returns the throughput per second, in transactions, messages, bytes or connections.
    pub(super) fn throughput(self, seen: &WindowCounts) -> f64 {
        let marks = |mark: u32| seen.marks.get(&mark).copied().unwrap_or(0) as f64;
        let done = match self {
            Self::TcpRr | Self::UdpRr => marks(TRANSACTION),
            Self::Hackbench { .. } => marks(LOOP) * f64::from(FDS),
            Self::Tbench => OPERATIONS.iter().zip(DONE..).map(|(op, mark)| marks(mark) * f64::from(op.data)).sum(),
            Self::Schbench => seen.since_noted.count() as f64,
            Self::StressSock => marks(BOGO_OP),
            Self::Oltp => marks(oltp::TRANSACTION),
        };
        done * 1e9 / seen.window.0 as f64
    }
}

/// Adds a task to the first CPU of each cache. It runs at one tick in eight and has negligible utilisation,
/// as on a machine that is up and idle. Without it no CPU would balance, and searches would see the limit of
/// the boot, which permits no scan.
pub(super) fn add_daemons(hardware: &Hardware, workload: &mut Workload) {
    let mut text = format!("cpus {}\n", hardware.nr_cpus());
    let places = &hardware.topology.cpus;
    for (cpu, place) in places.iter().enumerate() {
        if places.iter().position(|other| other.llc == place.llc) == Some(cpu) {
            text += &format!("task daemon{cpu} mask={cpu}-{cpu} run 10us sleep 31990us\n");
        }
    }
    let daemons = scenario::parse("daemons", &text, SERIES).expect("the text is well formed");
    workload.tasks.extend(daemons.workload.tasks);
}

impl SisUtilCase {
    /// Parses the label of a row: `TCP_RR 28 threads`, with an optional suffix after a comma.
    pub(super) fn of_row(label: &str, arm: &str) -> Option<Self> {
        let mut words = label.split([' ', ',']);
        let bench = SisUtilBench::from_name(words.next()?)?;
        let load = words.next()?.parse().ok()?;
        Some(Self { traced: label.ends_with(", traced"), bench, load, arm: arm.to_owned() })
    }

    /// Runs the case. Each seed starts it at another phase relative to the tick, with other random numbers of
    /// the machine.
    pub(super) fn run(&self, arm: &ArmDefinition, options: StudyLength, seed: u64) -> Result<WindowCounts, StudyError> {
        self.run_on(machine(MACHINE), arm, self.bench.span(self.load, options), seed)
    }

    /// Runs the case on a machine whose costs may be changed. The span begins with the benchmark.
    pub(super) fn run_on(
        &self,
        mut hardware: Hardware,
        arm: &ArmDefinition,
        span: WindowSpan,
        seed: u64,
    ) -> Result<WindowCounts, StudyError> {
        if self.traced {
            hardware.costs.enable_tracer(TRACER_PS);
        }
        let mut workload = self.bench.workload(self.load, LENGTH);
        workload.begin_after(UPTIME + Nanos(PHASE.0 * seed));
        // The warm-up begins with the last start.
        let span = WindowSpan { warm_up: workload.starts + span.warm_up, ..span };
        workload.enter_autogroup();
        add_daemons(&hardware, &mut workload);
        run_window(arm, hardware, workload, span, seed)
    }

    /// Relative duration of the run, proportional to the load and the simulated time.
    pub(super) fn length(&self, options: StudyLength) -> u64 {
        let WindowSpan { warm_up, window } = self.bench.span(self.load, options);
        u64::from(self.load) * (warm_up + window).0
    }

    /// Name of the run in progress reports.
    pub(super) fn name(&self) -> String {
        let traced = if self.traced { " traced" } else { "" };
        format!("{:?} {} {}{traced}", self.bench, self.load, self.arm)
    }
}
