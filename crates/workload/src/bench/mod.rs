// SPDX-License-Identifier: GPL-2.0-or-later
//! Models of benchmarks: their algorithms as workloads. The documentation of a benchmark's command line is its help and its
//! section of the book; it describes what is modelled and what is not.
//!
//! This file has the list of benchmarks: as values that can be stored and repeated, and as command lines.
//! Measured points are marks ([`crate::step::Step::Mark`]), from which an observer computes the benchmark's results.

/// Examples at the end of a help text: command lines after `fairlab bench`.
macro_rules! examples {
    ($($line:literal,)+) => { concat!("Examples:", $("\n  fairlab bench ", $line),+) };
}

pub mod cyclictest;
pub mod hackbench;
pub mod kernel_build;
pub mod micro;
pub mod netperf;
pub mod oltp;
pub mod pipe;
mod random;
pub mod schbench;
pub mod schbench_line;
pub mod schbench_rps;
pub mod services;
pub mod stress_sock;
mod tasks;
pub mod tbench;

use crate::message::Message;
use crate::workload::Workload;
use clap::Subcommand;
use cyclictest::{Cyclictest, CyclictestLine};
use hackbench::{Hackbench, HackbenchLine, Messaging, MessagingLine};
use kernel_build::{KernelBuild, MakeLine};
use micro::{Micro, MicroLine};
use netperf::{Netperf, NetperfLine};
use oltp::{Oltp, OltpLine};
use pipe::{Pipe, PipeLine};
use schbench::Schbench;
use schbench_line::SchbenchLine;
use schbench_rps::SchbenchRps;
use serde::{Deserialize, Serialize};
use stress_sock::{StressNgLine, StressSock};
use tasks::{
    CREATOR, PROGRAM_WORK, PrefixedBehaviour, RepeatedSteps, SHELL_WORK, created_task, creator, nested_groups,
    repeating_task,
};
use tbench::{Tbench, TbenchLine};

/// How the instances of a program begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// A shell forks each instance, which then executes the program. A server that the program uses is up already.
    #[value(help = None)]
    Shell,
    /// A task forks all tasks one after the other, in no time but that of the forks.
    #[value(help = None)]
    AtOnce,
}

/// Machine and seed of a benchmark's run.
#[derive(Clone, Copy, Debug)]
pub struct RunContext {
    /// Number of CPUs.
    pub nr_cpus: u32,
    /// Whether kernel code has costs.
    pub has_costs: bool,
    /// Seed of the benchmark's draws.
    pub seed: u64,
}

/// Model of a benchmark: its options, and the workload that follows from them.
pub trait BenchModel: Copy {
    /// Name in results.
    const NAME: &'static str;
    /// Whether the tasks only move messages and switch, so that no time passes with zero-cost kernel code.
    const IS_KERNEL_WORK: bool = false;
    /// Whether the benchmark is one program that runs to its end and measures the time until then.
    const RUNS_TO_END: bool = false;

    /// Returns the benchmark with all options that depend on the machine, and with the seed of its draws.
    #[must_use]
    fn for_run(self, _run: &RunContext) -> Self {
        self
    }

    /// Returns the workload on a machine with `nr_cpus` CPUs. Only for the result of [`Self::for_run`].
    fn make_workload(&self, nr_cpus: u32) -> Workload;
}

/// Options of a benchmark on a command line.
pub trait CommandLine {
    /// Returns the benchmark with its options; the run gives it a seed and numbers of threads.
    ///
    /// # Errors
    /// If options exclude each other; with a remedy.
    fn benchmark(&self) -> Result<Benchmark, Message>;
}

macro_rules! benchmarks {
    ($($(#[doc = $doc:literal])* $name:ident($options:ty),)*) => {
        /// A benchmark with its options. Numbers of threads may be 0 where they follow from the number of CPUs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Benchmark {
            $($(#[doc = $doc])* $name($options),)*
        }

        impl Benchmark {
            /// Name of the benchmark in results.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => <$options>::NAME,)* }
            }

            /// Whether the tasks only move messages and switch, so that no time passes with zero-cost kernel code.
            pub const fn is_kernel_work(&self) -> bool {
                match self { $(Self::$name(_) => <$options>::IS_KERNEL_WORK,)* }
            }

            /// Whether the benchmark is one program that runs to its end and measures the time until then.
            pub const fn runs_to_end(&self) -> bool {
                match self { $(Self::$name(_) => <$options>::RUNS_TO_END,)* }
            }

            /// Returns the benchmark with all options that depend on the machine, and with the seed of its draws. A
            /// machine with costs of kernel code has a shell that starts instances.
            #[must_use]
            pub fn for_run(self, nr_cpus: u32, has_costs: bool, seed: u64) -> Self {
                let run = RunContext { nr_cpus, has_costs, seed };
                match self { $(Self::$name(options) => Self::$name(BenchModel::for_run(options, &run)),)* }
            }

            /// Returns the workload on a machine with `nr_cpus` CPUs. Only for the result of [`Self::for_run`].
            pub fn workload(&self, nr_cpus: u32) -> Workload {
                match self { $(Self::$name(options) => options.make_workload(nr_cpus),)* }
            }
        }
    };
}

benchmarks! {
    /// schbench until 2021.
    Schbench(Schbench),
    /// schbench of 2025, whose workers serve requests.
    SchbenchRps(SchbenchRps),
    /// hackbench.
    Hackbench(Hackbench),
    /// netperf with request and response tests.
    Netperf(Netperf),
    /// `perf bench sched pipe`.
    Pipe(Pipe),
    /// `perf bench sched messaging`.
    Messaging(Messaging),
    /// tbench.
    Tbench(Tbench),
    /// cyclictest.
    Cyclictest(Cyclictest),
    /// The sock stressor of stress-ng.
    StressSock(StressSock),
    /// sysbench's `oltp_read_write`.
    Oltp(Oltp),
    /// `make -jN`.
    KernelBuild(KernelBuild),
    /// A microbenchmark of fairlab.
    Micro(Micro),
}

/// Benchmark on a command line.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "the variants are named after their options, whose documentation is the help")]
pub enum BenchCommand {
    Schbench(SchbenchLine),
    Hackbench(HackbenchLine),
    Netperf(NetperfLine),
    /// perf bench sched pipe, perf bench sched messaging
    Perf {
        /// Collection of benchmarks.
        #[command(subcommand)]
        perf: PerfCommand,
    },
    Tbench(TbenchLine),
    Cyclictest(CyclictestLine),
    StressNg(StressNgLine),
    Oltp(OltpLine),
    Make(MakeLine),
    Micro(MicroLine),
}

/// Collections of perf's benchmarks.
#[derive(Debug, Subcommand)]
pub enum PerfCommand {
    /// Benchmarks; only those of the scheduler
    #[command(alias = "bench")]
    Sched {
        /// Benchmark of the scheduler.
        #[command(subcommand)]
        sched: PerfSched,
    },
}

/// perf's benchmarks of the scheduler.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "the variants are named after their options, whose documentation is the help")]
pub enum PerfSched {
    Pipe(PipeLine),
    Messaging(MessagingLine),
}

impl BenchCommand {
    fn line(&self) -> &dyn CommandLine {
        match self {
            Self::Schbench(line) => line,
            Self::Hackbench(line) => line,
            Self::Netperf(line) => line,
            Self::Perf { perf: PerfCommand::Sched { sched: PerfSched::Pipe(line) } } => line,
            Self::Perf { perf: PerfCommand::Sched { sched: PerfSched::Messaging(line) } } => line,
            Self::Tbench(line) => line,
            Self::Cyclictest(line) => line,
            Self::StressNg(line) => line,
            Self::Oltp(line) => line,
            Self::Make(line) => line,
            Self::Micro(line) => line,
        }
    }
}

impl CommandLine for BenchCommand {
    fn benchmark(&self) -> Result<Benchmark, Message> {
        self.line().benchmark()
    }
}

impl Benchmark {
    /// Returns a CPU that the benchmark names and a machine with `nr_cpus` CPUs does not have.
    pub fn missing_cpu(&self, nr_cpus: u32) -> Option<u32> {
        let Self::Micro(micro) = self else { return None };
        micro.used_cpus().iter().copied().find(|&cpu| cpu >= nr_cpus)
    }
}
