// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmarks of whole runs and of the event queue.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fairlab_machine::event::{EventKind, EventQueue};
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use std::hint::black_box;

/// Scenarios by name: one CPU with nested groups; pinned and unpinned tasks on sixteen CPUs.
const SCENARIOS: [(&str, &str); 2] = [
    (
        "one-cpu-groups",
        "cpus 1\nend 10s\n\
         group a shares=2048\ngroup b parent=a\ngroup c shares=512\n\
         task hog group=b run 1s\n\
         task pulse n=6 group=a runr 100us 900us sleepr 1ms 5ms\n\
         task other n=3 group=c nice=5 runr 1ms 5ms sleepr 1ms 10ms\n\
         task root n=3 runr 200us 2ms sleepr 2ms 8ms\n",
    ),
    (
        "pinned16",
        "cpus 16\ntopo smt=2 llc=8 pkg=16\nlevels SMP\nend 2s\n\
         task pin n=24 mask=0-3 run 20ms sleep 1ms\n\
         task free n=16 runr 500us 5ms sleepr 500us 5ms\n\
         task pa n=4 runr 50us 200us wake pb wait\n\
         task pb n=4 wait runr 50us 200us wake pa\n",
    ),
];

fn machine(scenario: &str) -> Machine {
    let parsed = fairlab_workload::scenario::parse("bench", scenario, KernelSeries::V6_1)
        .unwrap_or_else(|error| panic!("{error}"));
    Machine::new(Setup::from_scenario(parsed)).expect("the machine can be made")
}

fn whole_runs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("run");
    group.sample_size(20);
    for (name, scenario) in SCENARIOS {
        let mut counted = machine(scenario);
        counted.run(&mut NoObserver).expect("the run ends");
        group.throughput(Throughput::Elements(counted.counters().events));
        group.bench_function(name, |bencher| {
            let run = |mut machine: Machine| {
                machine.run(&mut NoObserver).expect("the run ends");
                machine
            };
            bencher.iter_batched(|| machine(scenario), run, BatchSize::LargeInput);
        });
    }
}

/// Hold model: the first event is popped, and another one is pushed some time later.
fn event_queue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event queue, pop and push");
    for nr_pending in [16, 256, 4096] {
        let mut queue = EventQueue::default();
        let mut state = 42u64;
        let mut draw = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Nanos(state >> 42)
        };
        for number in 0..nr_pending {
            queue.push(draw(), EventKind::Jiffy(number));
        }
        group.bench_function(BenchmarkId::from_parameter(nr_pending), |bencher| {
            bencher.iter(|| {
                let event = queue.pop_until(Nanos(u64::MAX)).expect("as many are pushed as come");
                queue.push(event.key.at + draw(), black_box(event.kind));
            });
        });
    }
}

criterion_group!(benches, whole_runs, event_queue);
criterion_main!(benches);
