// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls into Debian's 6.1 yield in the middle of kernel code, where it takes time. Without that tree or a
//! compiler the test is ignored.

mod common;

use common::requirement::{self, named};
use common::{ENGINE, object};
use fairlab_kernel::costs::CostPlan;
use fairlab_kernel::engine::KernelEngine;
use fairlab_machine::observer::{KernelPath, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, Setup, SetupError};
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;
use fairlab_workload::message::Message;
use fairlab_workload::scenario;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Many tasks that wake each other, some of them across CPUs, with a quota, and with real-time tasks among
/// them.
const SCENARIO: &str = "cpus 8\nend 200ms\ngroup g shares=512\ngroup q quota=20ms period=40ms\n\
                        task hog n=6 group=q run 3ms sleep 1ms\ntask nap n=12 group=g runr 20us 200us sleepr 50us 500us\n\
                        task late n=60 start=30ms run 200us sleep 2ms\ntask later n=60 start=61ms run 200us sleep 2ms\n\
                        task rt n=3 fifo=20 run 100us sleep 2ms\n\
                        task ping n=8 run 10us wake pong wait\ntask pong n=8 wait run 5us wake ping\n";

/// Number of phases of each path, the end of each CPU's last phase, and the total time spent waiting for
/// locks.
#[derive(Default)]
struct PhaseLog {
    seen: BTreeMap<KernelPath, u64>,
    until: BTreeMap<CpuId, Nanos>,
    waited: Nanos,
}

impl SchedObserver for PhaseLog {}

impl Observer<KernelEngine> for PhaseLog {
    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        let &MachineEvent::Kernel { cpu, path, took, waited, .. } = event else { return };
        let until = self.until.entry(cpu).or_default();
        // An interrupted phase continues afterwards.
        assert!(
            now >= *until || path == KernelPath::Interrupt || path == KernelPath::Tick || took == Nanos::ZERO,
            "{event:?}, {until:?}"
        );
        *until = (*until).max(now + took);
        self.waited += waited;
        *self.seen.entry(path).or_default() += 1;
    }
}

fn setup() -> Setup {
    let scenario = scenario::parse("test", SCENARIO, KernelSeries::V6_1);
    let mut setup = Setup::from_scenario(scenario.unwrap_or_else(|error| panic!("{error}")));
    for op in KernelOp::ALL {
        setup.hardware.costs.set_op(*op, 300_000);
    }
    setup
}

fn calls_leave_at_locks_and_looks_and_other_cpus_go_on_meanwhile() {
    let object = object();
    let plan = CostPlan::of_objects(&[&object], 0).expect("the files beside the object");
    let load = |config| {
        KernelEngine::load(&object, &plan, config, 2, 10)
            .map_err(|error| SetupError::Unsupported(Message::new(error.to_string())))
    };
    let mut machine = Machine::with_engine(setup(), load).unwrap_or_else(|error| panic!("{error}"));
    let mut phases = PhaseLog::default();
    machine.run(&mut phases).unwrap_or_else(|error| panic!("{error}"));
    let of = |path| phases.seen.get(&path).copied().unwrap_or_default();
    // A pass of newly-idle balancing, a softirq and the part after a lock are phases of their own.
    for path in [
        KernelPath::Select,
        KernelPath::Wake,
        KernelPath::Schedule,
        KernelPath::NewIdle,
        KernelPath::Softirq,
        KernelPath::Tick,
    ] {
        assert!(of(path) > 20, "{path:?}: {:?}", phases.seen);
    }
    let counters = machine.counters();
    let waits: u64 = counters.per_cpu.iter().map(|cpu| cpu.lock_waits).sum();
    assert!(waits > 20 && phases.waited > Nanos::ZERO, "{waits} waits, {:?}", phases.waited);
    assert!(counters.switches > 1000, "{counters:?}");
}

fn main() -> ExitCode {
    requirement::run(ENGINE.trials(named![calls_leave_at_locks_and_looks_and_other_cpus_go_on_meanwhile]))
}
