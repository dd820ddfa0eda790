// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of benchmarks from their command lines.

use super::args::{
    BenchCommand, CyclictestArgs, HackbenchArgs, MicroArgs, NetperfArgs, NetperfTest, Perf, PerfSched, Release,
    SchbenchArgs, StartsArg,
};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::cyclictest::Cyclictest;
use fairlab_workload::bench::hackbench::Hackbench;
use fairlab_workload::bench::kernel_build::KernelBuild;
use fairlab_workload::bench::micro::{Micro, MicroTest};
use fairlab_workload::bench::netperf::{self, Netperf};
use fairlab_workload::bench::oltp::Oltp;
use fairlab_workload::bench::schbench::{Schbench, SchbenchRelease};
use fairlab_workload::bench::schbench_rps::SchbenchRps;
use fairlab_workload::bench::stress_sock::StressSock;
use fairlab_workload::bench::tbench::Tbench;
use fairlab_workload::bench::{Benchmark, Starts};
use fairlab_workload::message::Message;

impl BenchCommand {
    /// Returns the benchmark with its options; the run gives it a seed and numbers of threads.
    pub(super) fn value(&self) -> Result<Benchmark, Message> {
        Ok(match self {
            Self::Schbench(args) => return schbench(args),
            Self::Hackbench(args) => Benchmark::Hackbench(hackbench(args)),
            Self::Netperf(args) => Benchmark::Netperf(netperf(args)),
            Self::Perf { perf: Perf::Sched { sched: PerfSched::Pipe(args) } } => {
                Benchmark::Pipe { loops: args.loops, threads: args.threaded }
            }
            Self::Perf { perf: Perf::Sched { sched: PerfSched::Messaging(args) } } => Benchmark::Messaging(Hackbench {
                groups: args.groups,
                loops: args.loops,
                pipe: args.pipe,
                threads: args.thread,
                start_signal: true,
                ..Hackbench::default()
            }),
            Self::Tbench(args) => {
                Benchmark::Tbench(Tbench { clients: args.clients, runtime: Nanos::from_secs(args.time), seed: 0 })
            }
            Self::Cyclictest(args) => Benchmark::Cyclictest(cyclictest(args)),
            Self::StressNg(args) => Benchmark::StressSock(StressSock { instances: args.sock, timeout: args.timeout }),
            Self::Oltp(args) => {
                Benchmark::Oltp(Oltp { threads: args.threads, time: Nanos::from_secs(args.time), seed: 0 })
            }
            Self::Micro(args) => Benchmark::Micro(micro(args)?),
            Self::Make(args) => Benchmark::KernelBuild(KernelBuild { jobs: args.jobs, objects: args.objects, seed: 0 }),
        })
    }
}

fn schbench(args: &SchbenchArgs) -> Result<Benchmark, Message> {
    refuse_foreign_options(args)?;
    let micros = |given: Option<u64>, default: Nanos| given.map_or(default, Nanos::from_micros);
    let runtime = Nanos::from_secs(args.runtime);
    let form = match args.release {
        Release::Y2016 => SchbenchRelease::Y2016,
        Release::Y2020 => SchbenchRelease::Y2020,
        Release::Y2021 => SchbenchRelease::Y2021,
        Release::Y2025 => {
            let default = SchbenchRps::for_cpus(0);
            return Ok(Benchmark::SchbenchRps(SchbenchRps {
                message_threads: args.message_threads.unwrap_or(default.message_threads),
                threads: args.threads.unwrap_or(default.threads),
                runtime,
                rps: args.rps.unwrap_or(0),
                sleep: micros(args.sleep, default.sleep),
                operations: args.operations.unwrap_or(default.operations),
                footprint_kb: args.cache_footprint.unwrap_or(default.footprint_kb),
                no_locking: args.no_locking,
                auto_pinning: args.message_cpus.is_some(),
            }));
        }
    };
    let default = Schbench::default();
    Ok(Benchmark::Schbench(Schbench {
        form,
        message_threads: args.message_threads.unwrap_or(default.message_threads),
        threads: args.threads.unwrap_or(default.threads),
        runtime,
        sleeptime: micros(args.sleep, default.sleeptime),
        cputime: micros(args.cputime, default.cputime),
        message_cputime: micros(args.message_cputime, default.message_cputime),
        seed: 0,
    }))
}

/// Rejects options that only other versions of schbench have.
fn refuse_foreign_options(args: &SchbenchArgs) -> Result<(), Message> {
    use Release::{Y2016, Y2020, Y2021, Y2025};
    let options: [(&str, bool, &[Release]); 7] = [
        ("-c", args.cputime.is_some(), &[Y2016, Y2020, Y2021]),
        ("-C", args.message_cputime.is_some(), &[Y2020, Y2021]),
        ("-R", args.rps.is_some(), &[Y2025]),
        ("-n", args.operations.is_some(), &[Y2025]),
        ("-F", args.cache_footprint.is_some(), &[Y2025]),
        ("-L", args.no_locking, &[Y2025]),
        ("-M", args.message_cpus.is_some(), &[Y2025]),
    ];
    for (option, is_given, releases) in options {
        if is_given && !releases.contains(&args.release) {
            let year = |release: Release| {
                use clap::ValueEnum;
                release.to_possible_value().expect("every release has a name").get_name().to_owned()
            };
            let with: Vec<String> = releases.iter().map(|&release| year(release)).collect();
            return Err(Message::new(format!("schbench of {} has no {option}", year(args.release)))
                .with_help(format!("omit it, or choose a version that has it: --release {}", with.join(" or "))));
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

fn micro(args: &MicroArgs) -> Result<Micro, Message> {
    let modelled = || MicroTest::all().into_iter().filter(|test| test.is_modelled()).map(MicroTest::name);
    let wrong = |text: String| {
        let modelled = modelled().collect::<Vec<_>>().join(", ");
        Message::new(text).with_help(format!("tests with a model: {modelled}"))
    };
    let test = MicroTest::from_name(&args.test).ok_or_else(|| wrong(format!("there is no test {}", args.test)))?;
    if !test.is_modelled() {
        return Err(wrong(format!("{} runs on real machines only: it has no model", args.test)));
    }
    Ok(Micro { bytes: args.bytes, ..Micro::new(test, args.rounds, args.cpus) })
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
        starts: args.starts.map(|starts| match starts {
            StartsArg::Shell => Starts::Shell,
            StartsArg::AtOnce => Starts::AtOnce,
        }),
    }
}

fn cyclictest(args: &CyclictestArgs) -> Cyclictest {
    let distance = if args.smp { 0 } else { 500 };
    Cyclictest {
        threads: args.threads.unwrap_or(if args.smp { 0 } else { 1 }),
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
