// SPDX-License-Identifier: GPL-2.0-or-later
//! A benchmark with its options, as a value that can be stored and repeated.

use super::Starts;
use super::cyclictest::Cyclictest;
use super::hackbench::Hackbench;
use super::kernel_build::KernelBuild;
use super::micro::Micro;
use super::netperf::Netperf;
use super::oltp::Oltp;
use super::pipe::pipe;
use super::schbench::Schbench;
use super::schbench_rps::SchbenchRps;
use super::stress_sock::StressSock;
use super::tbench::Tbench;
use crate::workload::Workload;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Simulated time of cyclictest without a number of cycles.
const DEFAULT_CYCLICTEST_DURATION: Nanos = Nanos::from_secs(5);

/// A benchmark with its options. Numbers of threads may be 0 where they follow from the number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Benchmark {
    /// schbench until 2021.
    Schbench(Schbench),
    /// schbench of 2025, whose workers serve requests.
    SchbenchRps(SchbenchRps),
    /// hackbench.
    Hackbench(Hackbench),
    /// netperf with request and response tests.
    Netperf(Netperf),
    /// `perf bench sched pipe`.
    Pipe {
        /// Number of round trips.
        loops: u64,
        /// Threads instead of processes.
        threads: bool,
    },
    /// `perf bench sched messaging`.
    Messaging(Hackbench),
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

impl Benchmark {
    /// Name of the benchmark in results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Schbench(_) | Self::SchbenchRps(_) => "schbench",
            Self::Hackbench(_) => "hackbench",
            Self::Netperf(_) => "netperf",
            Self::Pipe { .. } => "perf bench sched pipe",
            Self::Messaging(_) => "perf bench sched messaging",
            Self::Tbench(_) => "tbench",
            Self::Cyclictest(_) => "cyclictest",
            Self::StressSock(_) => "stress-ng",
            Self::Oltp(_) => "oltp",
            Self::KernelBuild(_) => "make",
            Self::Micro(_) => "micro",
        }
    }

    /// Whether the tasks only move messages and switch, so that no time passes with zero-cost kernel code.
    pub const fn is_kernel_work(&self) -> bool {
        matches!(self, Self::Hackbench(_) | Self::Pipe { .. } | Self::Messaging(_) | Self::Micro(_))
    }

    /// Whether the benchmark is one program that runs to its end and measures the time until then.
    pub const fn runs_to_end(&self) -> bool {
        matches!(
            self,
            Self::Hackbench(_) | Self::Pipe { .. } | Self::Messaging(_) | Self::KernelBuild(_) | Self::Micro(_)
        )
    }

    /// Returns the benchmark with all options that depend on the machine, and with the seed of its draws. A machine with
    /// costs of kernel code has a shell that starts instances.
    #[must_use]
    pub fn for_run(self, nr_cpus: u32, has_costs: bool, seed: u64) -> Self {
        match self {
            Self::Netperf(bench) => {
                let default = if has_costs { Starts::Shell } else { Starts::AtOnce };
                Self::Netperf(Netperf { starts: bench.starts.or(Some(default)), ..bench })
            }
            Self::Schbench(bench) => Self::Schbench(Schbench { seed, ..bench }),
            Self::SchbenchRps(bench) => {
                let threads = match bench.threads {
                    0 => nr_cpus.div_ceil(bench.message_threads),
                    threads => threads,
                };
                Self::SchbenchRps(SchbenchRps { threads, ..bench })
            }
            Self::Cyclictest(bench) => {
                let threads = if bench.threads == 0 { nr_cpus } else { bench.threads };
                Self::Cyclictest(Cyclictest { threads, ..bench })
            }
            Self::Tbench(bench) => Self::Tbench(Tbench { seed, ..bench }),
            Self::Oltp(bench) => Self::Oltp(Oltp { seed, ..bench }),
            Self::KernelBuild(bench) => Self::KernelBuild(KernelBuild { seed, ..bench }),
            Self::Hackbench(_) | Self::Pipe { .. } | Self::Messaging(_) | Self::StressSock(_) | Self::Micro(_) => self,
        }
    }

    /// Returns a CPU that the benchmark names and a machine with `nr_cpus` CPUs does not have.
    pub fn missing_cpu(&self, nr_cpus: u32) -> Option<u32> {
        let Self::Micro(micro) = self else { return None };
        micro.used_cpus().iter().copied().find(|&cpu| cpu >= nr_cpus)
    }

    /// Returns the workload on a machine with `nr_cpus` CPUs. Only for the result of [`Self::for_run`].
    pub fn workload(&self, nr_cpus: u32) -> Workload {
        match *self {
            Self::Schbench(bench) => bench.workload(),
            Self::SchbenchRps(bench) => bench.workload(),
            Self::Hackbench(bench) | Self::Messaging(bench) => bench.workload(),
            Self::Netperf(bench) => bench.workload(),
            Self::Pipe { loops, .. } => pipe(loops, 0),
            Self::Tbench(bench) => bench.workload(),
            Self::Cyclictest(bench) => {
                let mut workload = bench.workload(nr_cpus);
                workload.duration = (bench.loops == 0 || bench.hogs > 0).then(|| cyclictest_duration(&bench));
                workload
            }
            Self::StressSock(bench) => bench.workload(),
            Self::Oltp(bench) => bench.workload(),
            Self::KernelBuild(bench) => bench.workload(),
            Self::Micro(micro) => micro.workload(),
        }
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
