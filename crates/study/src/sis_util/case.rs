// SPDX-License-Identifier: GPL-2.0-or-later
//! What is run: a benchmark with a load, on a machine, under an arm.

use crate::definition::ArmDefinition;
use crate::run::machine;
use crate::window::{WindowCounts, WindowSpan, run_window};
use crate::{StudyError, StudyLength};
use fairlab_machine::description::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::hackbench::{Hackbench, LOOP};
use fairlab_workload::bench::netperf::{Netperf, TRANSACTION, Test};
use fairlab_workload::bench::oltp::{self, Oltp};
use fairlab_workload::bench::schbench::{Schbench, SchbenchRelease};
use fairlab_workload::bench::stress_sock::{BOGO_OP, StressSock};
use fairlab_workload::bench::tbench::{DONE, OPERATIONS, Tbench};
use fairlab_workload::scenario;
use fairlab_workload::workload::Workload;

/// One cache of 112 CPUs.
pub(super) const MACHINE: &str = "xeon-1s-112";
/// Its CPUs.
pub(super) const NR_CPUS: u32 = 112;
/// Tasks of a group of hackbench and of a message thread of schbench.
const TASKS_PER_GROUP: u32 = 28;
/// Half of them send, in hackbench, half receive.
const FDS: u32 = TASKS_PER_GROUP / 2;
/// How long a shell takes to start one of several instances of netperf. The author's script starts them in a loop, one after the
/// other; that one fork and exec of a shell takes about so long is an assumption.
const SHELL_LOOP: Nanos = Nanos::from_micros(300);
/// Pairs of netperf from which on it takes long until it is decided in which state they are.
pub(super) const FIRST_HIGH_LOAD: u32 = 196;
/// By how much later the benchmark is started with each seed: no divisor of a tick.
const PHASE: Nanos = Nanos(1_300_000);
/// The release of schbench, and how long its message threads sleep. The source says `-s 30000 -c 30000`. Its author's script had neither
/// number (`-s -c`), so that `-s` takes `-c` for its number, which is none: no sleep, and 30 ms of work, the default. The release is the
/// last one of before the measurements. With 30 ms of sleep workers rest for half of their time, and with eight message threads 51 to 75 %
/// of searches succeed, in any release; published are 16 %.
const SCHBENCH: (SchbenchRelease, Nanos) = (SchbenchRelease::Y2021, Nanos::ZERO);

/// How long the machine has been up before the benchmark is started. Nearly nothing runs then; that long a busy CPU of a cache
/// of 112 takes to balance it periodically, from which SIS_UTIL first learns how busy the cache is.
pub(super) const UPTIME: Nanos = Nanos::from_millis(2_000);

/// A benchmark.
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

/// A benchmark with a load, on a machine, under an arm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SisUtilCase {
    pub(super) bench: SisUtilBench,
    /// Instances, groups or message threads.
    pub(super) load: u32,
    pub(super) arm: String,
    /// With a tracer of searches, which has a price.
    pub(super) traced: bool,
}

impl SisUtilBench {
    /// By its name in the published tables.
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

    /// How long it runs before it is measured, and how long it is.
    ///
    /// What a search may look at is first computed some 100 ms after the start, from averages that halve their distance from the
    /// truth in 32 ms. Pairs of netperf are in one of two states at high loads: spread over the CPUs, or both ends on one. Where searches
    /// are limited they go from the first to the second, since each that fails leaves one CPU less idle; with 224 pairs that takes half a
    /// second (published runs have 100). With 196, of which it was published too, it does not happen within two seconds, so these have the same
    /// time. With 168 runs of 200 ms, 700 ms and two seconds are alike. Both arms of a benchmark have the same span.
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
        let netperf =
            |test| Netperf { test, length, pairs: load, start_every: SHELL_LOOP, ..Netperf::default() }.workload();
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
            Self::TcpRr => netperf(Test::TcpRr),
            Self::UdpRr => netperf(Test::UdpRr),
            Self::Tbench => Tbench { clients: load, runtime: length, seed: 0 }.workload(),
            Self::Hackbench { pipe, threads } => {
                let mut workload = hackbench(pipe, threads).workload();
                // Nothing else tells the two apart: what a switch between address spaces takes is part of `ContextSwitch` for both. So
                // they are two runs at different phases against the tick.
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

    /// What it did in a second: transactions, messages, bytes, connections.
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

/// A task on the first CPU of each cache that is there at one tick in eight and leaves no utilisation worth counting, as on a machine
/// that is up and idle: someone has to balance, lest searches find the state of the boot, in which they look at no CPU.
pub(super) fn add_daemons(hardware: &Hardware, workload: &mut Workload) {
    let mut text = format!("cpus {}\n", hardware.nr_cpus());
    let places = &hardware.topology.cpus;
    for (cpu, place) in places.iter().enumerate() {
        if places.iter().position(|other| other.llc == place.llc) == Some(cpu) {
            text += &format!("task daemon{cpu} mask={cpu}-{cpu} run 10us sleep 31990us\n");
        }
    }
    let daemons = scenario::parse("daemons", &text).expect("the text is well formed");
    workload.tasks.extend(daemons.workload.tasks);
}

/// What the tracer takes for a search on that machine, in picoseconds.
fn tracer_cost() -> u64 {
    preset(MACHINE).expect("studies use presets").prices().ps("Tracer")
}

impl SisUtilCase {
    /// What the label of a row names: `TCP_RR 28 threads`, and what may follow after a comma.
    pub(super) fn of_row(label: &str, arm: &str) -> Option<Self> {
        let mut words = label.split([' ', ',']);
        let bench = SisUtilBench::from_name(words.next()?)?;
        let load = words.next()?.parse().ok()?;
        Some(Self { traced: label.ends_with(", traced"), bench, load, arm: arm.to_owned() })
    }

    /// Runs it. With each seed it begins at another phase against the tick, and what the machine draws falls out otherwise.
    pub(super) fn run(&self, arm: &ArmDefinition, options: StudyLength, seed: u64) -> Result<WindowCounts, StudyError> {
        self.run_on(machine(MACHINE), arm, self.bench.span(self.load, options), seed)
    }

    /// Runs it on a machine whose prices may be others, in a span that begins with the benchmark.
    pub(super) fn run_on(
        &self,
        mut hardware: Hardware,
        arm: &ArmDefinition,
        span: WindowSpan,
        seed: u64,
    ) -> Result<WindowCounts, StudyError> {
        if self.traced {
            hardware.prices.trace_searches(tracer_cost());
        }
        let begin = UPTIME + Nanos(PHASE.0 * seed);
        let span = WindowSpan { warm_up: begin + span.warm_up, ..span };
        let mut workload = self.bench.workload(self.load, span.warm_up + span.window);
        for task in &mut workload.tasks {
            task.start_at = task.start_at.map(|at| begin + at);
        }
        add_daemons(&hardware, &mut workload);
        run_window(arm, hardware, workload, span, seed)
    }

    /// About how long it takes, in no unit: what goes on at a time, for so long.
    pub(super) fn length(&self, options: StudyLength) -> u64 {
        let WindowSpan { warm_up, window } = self.bench.span(self.load, options);
        u64::from(self.load) * (warm_up + window).0
    }

    /// The name for progress.
    pub(super) fn name(&self) -> String {
        let traced = if self.traced { " traced" } else { "" };
        format!("{:?} {} {}{traced}", self.bench, self.load, self.arm)
    }
}
