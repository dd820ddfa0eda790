// SPDX-License-Identifier: GPL-2.0-or-later
//! PM QoS: while `/dev/cpu_dma_latency` is held, no idle CPU enters a state with a longer exit latency.

use fairlab_machine::hardware::IdleState;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{IdleResidency, Machine, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;

fn state(name: &str, exit_us: u64, residency_us: u64) -> IdleState {
    IdleState {
        name: name.to_owned(),
        exit_latency: Nanos::from_micros(exit_us),
        exit_typical: None,
        entry_latency: Nanos::ZERO,
        target_residency: Nanos::from_micros(residency_us),
        polls: false,
        power_uw: None,
    }
}

/// Runs two CPUs with two states for a fifth of a second. On CPU 1 a task is woken every 10 ms; CPU 0 has no
/// work. Returns the residency of a CPU.
fn run(statements: &str, held: Option<Nanos>, cpu: u32) -> [IdleResidency; 2] {
    let text = format!("cpus 2\nend 200ms\n{statements}task t cpu=1 mask=1-1 run 100us every 10ms\n");
    let scenario = fairlab_workload::scenario::parse("test.scn", &text, KernelSeries::V6_1)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut setup = Setup::from_scenario(scenario);
    setup.hardware.idle_states = vec![vec![state("WFI", 1, 1), state("off", 100, 1_000)]; 2];
    setup.hardware.idle_loop_once = false;
    setup.workload.cpu_dma_latency = held;
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    let [shallow, deep] = machine.idle_residency(CpuId(cpu), machine.now())[..] else { panic!("there are two states") };
    [shallow, deep]
}

#[test]
fn a_request_that_is_held_all_the_time_keeps_cpus_out_of_deeper_states() {
    for cpu in [0, 1] {
        let [_, deep] = run("", None, cpu);
        assert!(deep.time > Nanos::from_millis(100), "{deep:?}");
        for limit_us in [0, 1, 99] {
            let [_, deep] = run("", Some(Nanos::from_micros(limit_us)), cpu);
            assert_eq!(deep, IdleResidency::default(), "CPU {cpu}, {limit_us} us");
        }
        assert_eq!(run("", Some(Nanos::from_micros(100)), cpu)[1], deep, "the limit equals the exit latency");
    }
}

#[test]
fn a_cpu_that_sleeps_deeply_is_woken_by_a_new_request_and_sleeps_again_when_that_is_let_go() {
    for cpu in [0, 1] {
        let [_, before] = run("", None, cpu);
        let [_, deep] = run("cpu_dma_latency 100ms 10us\ncpu_dma_latency 140ms none\n", None, cpu);
        let less = before.time.0.saturating_sub(deep.time.0);
        // The CPU enters the deep state again some ticks later, when its governor has seen that it stays
        // idle.
        assert!((39_000_000..80_000_000).contains(&less), "CPU {cpu}: {before:?} and {deep:?}");
        let [_, held] = run("cpu_dma_latency 100ms 10us\n", None, cpu);
        assert!(deep.time.0 > held.time.0 + 30_000_000, "CPU {cpu}: {deep:?} and {held:?}");
    }
}

#[test]
fn of_several_requests_the_shortest_counts() {
    let [_, deep] = run("cpu_dma_latency 20ms none\ncpu_dma_latency 40ms 1ms\n", Some(Nanos::from_micros(10)), 0);
    assert_eq!(deep, IdleResidency::default());
}
