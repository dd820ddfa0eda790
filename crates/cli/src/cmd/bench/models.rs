// SPDX-License-Identifier: GPL-2.0-or-later
//! Workloads and observers of benchmarks, from their command lines.

use super::args::{
    Bench, CyclictestArgs, HackbenchArgs, NetperfArgs, NetperfTest, On, Perf, PerfSched, Release, SchbenchArgs,
};
use crate::error::CliError;
use fairlab_observe::bench::BenchObserver;
use fairlab_observe::bench::cyclictest::CyclictestObserver;
use fairlab_observe::bench::elapsed::{ElapsedFormat, ElapsedObserver};
use fairlab_observe::bench::netperf::NetperfObserver;
use fairlab_observe::bench::oltp::OltpObserver;
use fairlab_observe::bench::schbench::SchbenchObserver;
use fairlab_observe::bench::schbench_rps::SchbenchRpsObserver;
use fairlab_observe::bench::stress_sock::StressSockObserver;
use fairlab_observe::bench::tbench::TbenchObserver;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::cyclictest::Cyclictest;
use fairlab_workload::bench::hackbench::Hackbench;
use fairlab_workload::bench::kernel_build::KernelBuild;
use fairlab_workload::bench::netperf::{self, Netperf};
use fairlab_workload::bench::oltp::Oltp;
use fairlab_workload::bench::pipe::pipe;
use fairlab_workload::bench::schbench::{Schbench, SchbenchRelease};
use fairlab_workload::bench::schbench_rps::SchbenchRps;
use fairlab_workload::bench::stress_sock::StressSock;
use fairlab_workload::bench::tbench::Tbench;
use fairlab_workload::workload::Workload;

/// Simulated time of cyclictest without a number of cycles.
const DEFAULT_CYCLICTEST_DURATION: Nanos = Nanos::from_secs(5);

/// Model of a benchmark, ready to run.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) workload: Workload,
    pub(crate) meter: Box<dyn BenchObserver>,
}

impl Bench {
    /// Returns the options of fairlab.
    pub(crate) fn run_options(&self) -> &On {
        match self {
            Self::Schbench(args) => &args.on,
            Self::Hackbench(args) => &args.on,
            Self::Netperf(args) => &args.on,
            Self::Perf(args) => {
                let Perf::Sched(args) = &args.perf;
                match &args.sched {
                    PerfSched::Pipe(args) => &args.on,
                    PerfSched::Messaging(args) => &args.on,
                }
            }
            Self::Tbench(args) => &args.on,
            Self::Cyclictest(args) => &args.on,
            Self::StressNg(args) => &args.on,
            Self::Oltp(args) => &args.on,
            Self::Make(args) => &args.on,
        }
    }

    /// Whether the tasks only move messages and switch, so that no time passes with zero-cost kernel code.
    pub(crate) fn is_kernel_work(&self) -> bool {
        matches!(self, Self::Hackbench(_) | Self::Perf(_))
    }

    /// Returns the model for a machine with `nr_cpus` CPUs.
    pub(crate) fn model(&self, nr_cpus: u32) -> Result<Model, CliError> {
        let seed = self.run_options().seed.unwrap_or(0);
        let model = |name, workload, meter: Box<dyn BenchObserver>| Ok(Model { name, workload, meter });
        let elapsed = |words| Box::new(ElapsedObserver::new(words));
        match self {
            Self::Schbench(args) => schbench(args, nr_cpus, seed),
            Self::Hackbench(args) => {
                let bench = hackbench(args);
                model("hackbench", bench.workload(), elapsed(ElapsedFormat::Hackbench(bench)))
            }
            Self::Netperf(args) => {
                let bench = netperf(args);
                model("netperf", bench.workload(), Box::new(NetperfObserver::new(bench)))
            }
            Self::Perf(args) => {
                let Perf::Sched(args) = &args.perf;
                match &args.sched {
                    PerfSched::Pipe(args) => {
                        let words = ElapsedFormat::Pipe { loops: args.loops, threads: args.threaded };
                        model("perf bench sched pipe", pipe(args.loops, 0), elapsed(words))
                    }
                    PerfSched::Messaging(args) => {
                        let bench = Hackbench {
                            groups: args.groups,
                            loops: args.loops,
                            pipe: args.pipe,
                            threads: args.thread,
                            start_signal: true,
                            ..Hackbench::default()
                        };
                        model("perf bench sched messaging", bench.workload(), elapsed(ElapsedFormat::Messaging(bench)))
                    }
                }
            }
            Self::Tbench(args) => {
                let bench = Tbench { clients: args.clients, runtime: Nanos::from_secs(args.time), seed };
                model("tbench", bench.workload(), Box::new(TbenchObserver::new(bench)))
            }
            Self::Cyclictest(args) => {
                let bench = cyclictest(args, nr_cpus);
                let mut workload = bench.workload(nr_cpus);
                workload.duration = (args.loops == 0 || args.hogs > 0).then(|| cyclictest_duration(&bench));
                model("cyclictest", workload, Box::new(CyclictestObserver::new(bench)))
            }
            Self::StressNg(args) => {
                let bench = StressSock { instances: args.sock, timeout: args.timeout };
                model("stress-ng", bench.workload(), Box::new(StressSockObserver::new(bench)))
            }
            Self::Oltp(args) => {
                let bench = Oltp { threads: args.threads, time: Nanos::from_secs(args.time), seed };
                model("oltp", bench.workload(), Box::<OltpObserver>::default())
            }
            Self::Make(args) => {
                let bench = KernelBuild { jobs: args.jobs, objects: args.objects, seed };
                model("make", bench.workload(), elapsed(ElapsedFormat::Build(bench)))
            }
        }
    }
}

fn schbench(args: &SchbenchArgs, nr_cpus: u32, seed: u64) -> Result<Model, CliError> {
    refuse_foreign_options(args)?;
    let micros = |given: Option<u64>, default: Nanos| given.map_or(default, Nanos::from_micros);
    let runtime = Nanos::from_secs(args.runtime);
    let form = match args.release {
        Release::Y2016 => SchbenchRelease::Y2016,
        Release::Y2020 => SchbenchRelease::Y2020,
        Release::Y2021 => SchbenchRelease::Y2021,
        Release::Y2025 => {
            let default = SchbenchRps::for_cpus(nr_cpus);
            let message_threads = args.message_threads.unwrap_or(default.message_threads);
            let bench = SchbenchRps {
                message_threads,
                threads: args.threads.unwrap_or_else(|| nr_cpus.div_ceil(message_threads)),
                runtime,
                rps: args.rps.unwrap_or(0),
                sleep: micros(args.sleep, default.sleep),
                operations: args.operations.unwrap_or(default.operations),
                footprint_kb: args.cache_footprint.unwrap_or(default.footprint_kb),
                no_locking: args.no_locking,
            };
            let meter = Box::new(SchbenchRpsObserver::new(bench));
            return Ok(Model { name: "schbench", workload: bench.workload(), meter });
        }
    };
    let default = Schbench::default();
    let bench = Schbench {
        form,
        message_threads: args.message_threads.unwrap_or(default.message_threads),
        threads: args.threads.unwrap_or(default.threads),
        runtime,
        sleeptime: micros(args.sleep, default.sleeptime),
        cputime: micros(args.cputime, default.cputime),
        message_cputime: micros(args.message_cputime, default.message_cputime),
        seed,
    };
    Ok(Model { name: "schbench", workload: bench.workload(), meter: Box::new(SchbenchObserver::new(&bench)) })
}

/// Rejects options that only other versions of schbench have.
fn refuse_foreign_options(args: &SchbenchArgs) -> Result<(), CliError> {
    use Release::{Y2016, Y2020, Y2021, Y2025};
    let options: [(&str, bool, &[Release]); 6] = [
        ("-c", args.cputime.is_some(), &[Y2016, Y2020, Y2021]),
        ("-C", args.message_cputime.is_some(), &[Y2020, Y2021]),
        ("-R", args.rps.is_some(), &[Y2025]),
        ("-n", args.operations.is_some(), &[Y2025]),
        ("-F", args.cache_footprint.is_some(), &[Y2025]),
        ("-L", args.no_locking, &[Y2025]),
    ];
    for (option, is_given, releases) in options {
        if is_given && !releases.contains(&args.release) {
            let year = |release: Release| {
                use clap::ValueEnum;
                release.to_possible_value().expect("every release has a name").get_name().to_owned()
            };
            let with: Vec<String> = releases.iter().map(|&release| year(release)).collect();
            return Err(CliError::Input(format!(
                "schbench of {} has no {option}\nhelp: omit it, or choose a version that has it: --release {}",
                year(args.release),
                with.join(" or ")
            )));
        }
    }
    Ok(())
}

fn hackbench(args: &HackbenchArgs) -> Hackbench {
    Hackbench {
        groups: args.groups,
        fds: args.fds,
        loops: args.loops,
        pipe: args.pipe,
        data_size: args.datasize,
        threads: args.threads,
        start_signal: !args.at_once,
        group_levels: 0,
    }
}

fn netperf(args: &NetperfArgs) -> Netperf {
    Netperf {
        test: match args.test {
            NetperfTest::TcpRr => netperf::NetperfTest::TcpRr,
            NetperfTest::UdpRr => netperf::NetperfTest::UdpRr,
        },
        length: Nanos::from_secs(args.length),
        pairs: args.instances,
        own_work: Nanos(args.own_work),
        start_every: Nanos::from_micros(args.start_every),
    }
}

fn cyclictest(args: &CyclictestArgs, nr_cpus: u32) -> Cyclictest {
    let distance = if args.smp { 0 } else { 500 };
    Cyclictest {
        threads: args.threads.unwrap_or(if args.smp { nr_cpus } else { 1 }),
        priority: args.priority,
        same_priority: args.smp,
        interval: Nanos::from_micros(args.interval),
        distance: Nanos::from_micros(args.distance.unwrap_or(distance)),
        pinned: args.smp || args.affinity,
        loops: args.loops,
        hogs: args.hogs,
        cpu_dma_latency: (!args.laptop && !args.default_system).then(|| Nanos::from_micros(u64::from(args.latency))),
    }
}

/// Returns the simulated time of cyclictest: until the slowest thread has completed its cycles, since hogs
/// never end.
fn cyclictest_duration(bench: &Cyclictest) -> Nanos {
    if bench.loops == 0 {
        return DEFAULT_CYCLICTEST_DURATION;
    }
    Nanos(bench.interval_of(bench.threads - 1).0.saturating_mul(bench.loops + 1))
}
