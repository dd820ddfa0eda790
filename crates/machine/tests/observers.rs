// SPDX-License-Identifier: GPL-2.0-or-later
//! Several observers of one run.

use fairlab_machine::observer::{Interest, KernelPath, NoObserver, Observer, Observers};
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;
use fairlab_workload::scenario;

/// Observer that counts scheduler calls.
#[derive(Default)]
struct CallCounter {
    nr_calls: u64,
}

impl SchedObserver for CallCounter {}

impl Observer for CallCounter {
    fn wants(&self) -> Interest {
        Interest::NONE
    }

    fn wants_ops(&self) -> bool {
        true
    }

    fn work(&mut self, _now: Nanos, _cpu: CpuId, _path: KernelPath, _counted: &OpCounts) {
        self.nr_calls += 1;
    }
}

/// Observer that wants accesses to shared data.
#[derive(Default)]
struct TouchCounter {
    nr_touches: usize,
}

impl SchedObserver for TouchCounter {}

impl Observer for TouchCounter {
    fn wants_ops(&self) -> bool {
        true
    }

    fn wants_touches(&self) -> bool {
        true
    }

    fn work(&mut self, _now: Nanos, _cpu: CpuId, _path: KernelPath, counted: &OpCounts) {
        self.nr_touches += counted.touches().len();
    }
}

fn run(observer: &mut dyn Observer) -> String {
    let text = "cpus 2\nend 20ms\ntask a n=3 run 1ms sleep 2ms\n";
    let scenario = scenario::parse("test.scn", text, KernelSeries::V6_1).expect("a well-formed scenario");
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("a possible machine");
    machine.run(observer).expect("the tasks make progress");
    machine.digest().to_string()
}

#[test]
fn recorded_touches_do_not_change_the_run_of_a_machine_without_cache_lines() {
    let mut observer = TouchCounter::default();
    assert_eq!(run(&mut observer), run(&mut NoObserver));
    assert!(observer.nr_touches > 0);
}

#[test]
fn each_of_several_observers_receives_the_operation_counts_of_every_call() {
    let mut alone = CallCounter::default();
    run(&mut alone);
    assert!(alone.nr_calls > 10, "{} calls", alone.nr_calls);
    let (mut first, mut second) = (CallCounter::default(), CallCounter::default());
    run(&mut Observers(vec![&mut first, &mut NoObserver, &mut second]));
    assert_eq!([first.nr_calls, second.nr_calls], [alone.nr_calls; 2]);
}
