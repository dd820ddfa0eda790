// SPDX-License-Identifier: GPL-2.0-or-later
//! The fleet: machines, each with workloads that suit it, for a time in which a run takes a second or two.
//!
//! Machines are taken as they are, or as with `--plain=priced` if one of the kernels does not have all of one. Benchmarks of messages want prices, so
//! machines without have none.

use fairlab_sched::units::Nanos;

/// What runs in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FleetLoad {
    /// The mix of rt-app tasks that [`MIX`] is.
    Mix,
    /// The line of a benchmark.
    Bench(&'static str),
}

/// A machine and a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchCase {
    pub(crate) machine: &'static str,
    pub(crate) load: FleetLoad,
    /// So long is measured; `None`: until the benchmark is done.
    pub(crate) span_ms: Option<u64>,
    /// So long is simulated before.
    pub(crate) warmup_ms: u64,
}

/// A phone-like mix: frames, audio, a pool of workers, a client and a server, and two that compute without end.
pub(crate) const MIX: &str = include_str!("../../../../../scenarios/hello.json");

impl PatchCase {
    /// The workload's name.
    pub(crate) fn load(&self) -> &'static str {
        match self.load {
            FleetLoad::Mix => "rt-app mix",
            FleetLoad::Bench(line) => line,
        }
    }

    /// Whether somebody who asks for it means this case.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.machine.contains(text) || self.load().contains(text)
    }

    pub(crate) fn span(&self) -> Option<Nanos> {
        self.span_ms.map(Nanos::from_millis)
    }
}

const fn mix(machine: &'static str, span_ms: u64) -> PatchCase {
    PatchCase { machine, load: FleetLoad::Mix, span_ms: Some(span_ms), warmup_ms: 0 }
}

const fn timed(machine: &'static str, line: &'static str, warmup_ms: u64, span_ms: u64) -> PatchCase {
    PatchCase { machine, load: FleetLoad::Bench(line), span_ms: Some(span_ms), warmup_ms }
}

const fn done(machine: &'static str, line: &'static str) -> PatchCase {
    PatchCase { machine, load: FleetLoad::Bench(line), span_ms: None, warmup_ms: 0 }
}

/// All cases, smaller machines first.
pub(crate) const FLEET: &[PatchCase] = &[
    mix("uniprocessor", 2000),
    timed("uniprocessor", "cyclictest -t 1 -p 80 --laptop", 0, 1000),
    mix("hikey", 1000),
    done("hikey", "hackbench -g 1 -l 100"),
    done("hikey", "perf sched pipe -l 2000"),
    mix("hikey960", 1000),
    done("hikey960", "hackbench -g 1 -l 100"),
    timed("hikey960", "schbench --release 2020 -m 2 -t 4 -r 1", 0, 1000),
    mix("phone-8", 1000),
    timed("phone-8", "cyclictest -t 8 -p 80 --laptop", 0, 500),
    mix("sc7180", 1000),
    timed("sc7180", "schbench --release 2020 -m 2 -t 2 -r 1", 0, 1000),
    mix("laptop-8", 1000),
    done("laptop-8", "make -j 8"),
    mix("epyc-16llc", 500),
    done("epyc-16llc", "hackbench -g 4 -l 50"),
    timed("epyc-16llc", "netperf -t TCP_RR --instances 128", 50, 50),
    done("epyc-16llc", "perf sched pipe -l 2000"),
    done("xeon-2s-104", "hackbench -g 4 -l 50"),
    timed("xeon-2s-104", "schbench --release 2020 -m 2 -t 8 -r 1", 0, 500),
    timed("xeon-2s-104", "tbench 104 -t 1", 50, 50),
    timed("xeon-1s-112", "netperf -t TCP_RR --instances 112", 50, 50),
    timed("xeon-1s-112", "tbench 56 -t 1", 50, 50),
    done("xeon-1s-112", "hackbench -g 4 -l 50"),
    timed("xeon-4s-192", "netperf -t UDP_RR --instances 96", 50, 30),
    done("xeon-4s-192", "hackbench -g 4 -l 50"),
    timed("xeon-2s-224", "schbench --release 2020 -m 4 -t 8 -r 1", 0, 300),
    done("xeon-2s-224", "hackbench -g 4 -l 50"),
    done("thunderx2-224", "hackbench -g 4 -l 50"),
    mix("thunderx2-224", 300),
];
