// SPDX-License-Identifier: GPL-2.0-or-later
//! Fleet of `fairlab patch`: machines, each with workloads that suit it and a duration for which a run takes
//! one or two seconds.
//!
//! Machines are simulated completely, or as with `--plain=priced` if one of the kernels lacks support for a
//! part. Message benchmarks need a cost model, so machines without one do not run them.

use fairlab_sched::units::Nanos;

/// Workload of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FleetLoad {
    /// Mix of rt-app tasks, [`MIX`].
    Mix,
    /// Line of a benchmark.
    Bench(&'static str),
}

/// Machine with a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchCase {
    pub(crate) machine: &'static str,
    pub(crate) load: FleetLoad,
    /// Measured time in milliseconds; `None` runs until the benchmark has completed its work.
    pub(crate) span_ms: Option<u64>,
    /// Simulated time before the measurement, in milliseconds.
    pub(crate) warmup_ms: u64,
}

/// Mix of tasks as on a phone: frames, audio, a pool of workers, a client and a server, and two CPU-bound
/// tasks.
pub(crate) const MIX: &str = include_str!("../../../../../scenarios/hello.json");

impl PatchCase {
    /// Returns the name of the workload.
    pub(crate) fn load(&self) -> &'static str {
        match self.load {
            FleetLoad::Mix => "rt-app mix",
            FleetLoad::Bench(line) => line,
        }
    }

    /// Whether the name of the machine or the workload contains the text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.machine.contains(text) || self.load().contains(text)
    }

    pub(crate) fn span(&self) -> Option<Nanos> {
        self.span_ms.map(Nanos::from_millis)
    }
}

const fn mix_case(machine: &'static str, span_ms: u64) -> PatchCase {
    PatchCase { machine, load: FleetLoad::Mix, span_ms: Some(span_ms), warmup_ms: 0 }
}

const fn timed_case(machine: &'static str, line: &'static str, warmup_ms: u64, span_ms: u64) -> PatchCase {
    PatchCase { machine, load: FleetLoad::Bench(line), span_ms: Some(span_ms), warmup_ms }
}

const fn full_case(machine: &'static str, line: &'static str) -> PatchCase {
    PatchCase { machine, load: FleetLoad::Bench(line), span_ms: None, warmup_ms: 0 }
}

/// All cases, smaller machines first.
pub(crate) const FLEET: &[PatchCase] = &[
    mix_case("uniprocessor", 2000),
    timed_case("uniprocessor", "cyclictest -t 1 -p 80 --laptop", 0, 1000),
    mix_case("hikey", 1000),
    full_case("hikey", "hackbench -g 1 -l 100"),
    full_case("hikey", "perf sched pipe -l 2000"),
    mix_case("hikey960", 1000),
    full_case("hikey960", "hackbench -g 1 -l 100"),
    timed_case("hikey960", "schbench --release 2020 -m 2 -t 4 -r 1", 0, 1000),
    mix_case("phone-8", 1000),
    timed_case("phone-8", "cyclictest -t 8 -p 80 --laptop", 0, 500),
    mix_case("sc7180", 1000),
    timed_case("sc7180", "schbench --release 2020 -m 2 -t 2 -r 1", 0, 1000),
    mix_case("laptop-8", 1000),
    full_case("laptop-8", "make -j 8"),
    mix_case("epyc-16llc", 500),
    full_case("epyc-16llc", "hackbench -g 4 -l 50"),
    timed_case("epyc-16llc", "netperf -t TCP_RR --instances 128", 50, 50),
    full_case("epyc-16llc", "perf sched pipe -l 2000"),
    full_case("xeon-2s-104", "hackbench -g 4 -l 50"),
    timed_case("xeon-2s-104", "schbench --release 2020 -m 2 -t 8 -r 1", 0, 500),
    timed_case("xeon-2s-104", "tbench 104 -t 1", 50, 50),
    timed_case("xeon-1s-112", "netperf -t TCP_RR --instances 112", 50, 50),
    timed_case("xeon-1s-112", "tbench 56 -t 1", 50, 50),
    full_case("xeon-1s-112", "hackbench -g 4 -l 50"),
    timed_case("xeon-4s-192", "netperf -t UDP_RR --instances 96", 50, 30),
    full_case("xeon-4s-192", "hackbench -g 4 -l 50"),
    timed_case("xeon-2s-224", "schbench --release 2020 -m 4 -t 8 -r 1", 0, 300),
    full_case("xeon-2s-224", "hackbench -g 4 -l 50"),
    full_case("thunderx2-224", "hackbench -g 4 -l 50"),
    mix_case("thunderx2-224", 300),
];
