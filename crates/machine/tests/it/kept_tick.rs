// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle CPUs keep their tick when they expect to idle for less than one tick.

use fairlab_machine::hardware::{IdleGovernorKind, IdleState};
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;

/// Ticks per second, and milliseconds of a run.
const HZ: u64 = 250;
const MS: u64 = 1_000;

fn state(name: &str, exit_us: u64, residency_us: u64) -> IdleState {
    let (exit_latency, target_residency) = (Nanos::from_micros(exit_us), Nanos::from_micros(residency_us));
    IdleState {
        name: name.to_owned(),
        exit_latency,
        exit_typical: None,
        entry_latency: Nanos::ZERO,
        target_residency,
        polls: name == "POLL",
        power_uw: None,
    }
}

/// Runs two CPUs with these states; a task on CPU 1 has this program.
fn run(states: &[IdleState], program: &str) -> Machine {
    run_with(IdleGovernorKind::Menu, states, program)
}

/// Runs two CPUs with these states under a governor; a task on CPU 1 has this program.
fn run_with(governor: IdleGovernorKind, states: &[IdleState], program: &str) -> Machine {
    let text = format!("cpus 2\nend {MS}ms\ntask t cpu=1 mask=1-1 {program}\n");
    let mut setup = Setup::from_scenario(
        fairlab_workload::scenario::parse("test.scn", &text, KernelSeries::V6_1).expect("well-formed"),
    );
    setup.hardware.idle_states = vec![states.to_vec(); 2];
    setup.hardware.idle_governor = governor;
    setup.hardware.idle_loop_once = false;
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    machine
}

fn ticks(machine: &Machine, cpu: usize) -> u64 {
    machine.counters().per_cpu[cpu].ticks
}

#[test]
fn a_cpu_that_is_back_within_a_tick_keeps_ticking_and_one_that_is_not_does_not() {
    let states = [state("WFI", 1, 1), state("off", 100, 1_000)];
    let often = run(&states, "run 50us sleep 400us");
    assert!(ticks(&often, 1) > HZ * 9 / 10, "{} ticks", ticks(&often, 1));
    assert!(!often.sched().snapshot(CpuId(1)).is_tickless);
    // The CPU idles longer than a tick each time. Only a tick that comes while it runs is counted now and
    // then.
    let seldom = run(&states, "run 50us sleep 20ms");
    assert!(ticks(&seldom, 1) < HZ / 10, "{} ticks", ticks(&seldom, 1));
    // The other CPU has no work.
    assert!(ticks(&often, 0) < HZ / 10, "{} ticks", ticks(&often, 0));
    assert!(often.sched().snapshot(CpuId(0)).is_tickless);
}

#[test]
fn without_idle_states_the_tick_stops_at_once() {
    assert!(ticks(&run(&[], "run 50us sleep 400us"), 1) < HZ / 2);
}

#[test]
fn the_state_follows_from_the_next_timer_the_first_time() {
    // The governor knows when the sleeper wakes up; an average of earlier idle times does not.
    let states = [state("WFI", 1, 1), state("off", 100, 1_000)];
    let machine = run(&states, "run 50us sleep 20ms");
    let [shallow, deep] = machine.idle_residency(CpuId(1), machine.now())[..] else { panic!("there are two states") };
    assert!(deep.time > Nanos::from_millis(MS * 9 / 10), "{deep:?} {shallow:?}");
}

#[test]
fn menu_learns_an_interval_that_is_no_timer_of_its_own_and_teo_that_timers_are_not_what_comes() {
    // CPU 0 wakes a task on CPU 1 every 300 us; the timers of CPU 1 are far away.
    let wakes = "task w cpu=0 mask=0-0 loop run 10us sleep 290us wake t\ntask t cpu=1 mask=1-1 loop run 20us wait\n";
    let states = [state("WFI", 1, 1), state("core", 40, 1_000), state("off", 500, 5_000)];
    for governor in [IdleGovernorKind::Menu, IdleGovernorKind::Teo] {
        let text = format!("cpus 2\nend {MS}ms\n{wakes}");
        let mut setup = Setup::from_scenario(
            fairlab_workload::scenario::parse("test.scn", &text, KernelSeries::V6_1).expect("well-formed"),
        );
        setup.hardware.idle_states = vec![states.to_vec(); 2];
        setup.hardware.idle_governor = governor;
        let mut machine = Machine::new(setup).expect("a possible machine");
        machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
        let entries: Vec<u64> =
            machine.idle_residency(CpuId(1), machine.now()).iter().map(|spent| spent.entries).collect();
        assert!(entries[0] > 9 * (entries[1] + entries[2]) && entries[0] > 2_000, "{governor:?}: {entries:?}");
    }
}

#[test]
fn a_cpu_does_not_poll_for_longer_than_its_limit() {
    let states = [state("POLL", 0, 0), state("C1", 2, 20)];
    let machine = run(&states, "run 50us sleep 3ms");
    let [polling, _] = machine.idle_residency(CpuId(1), machine.now())[..] else { panic!("there are two states") };
    assert!(polling.time.0 <= polling.entries * 20_000, "{polling:?}");
}

#[test]
fn a_cpu_whose_first_tick_lies_beyond_all_time_never_ticks() {
    let text = "cpus 20\nskew 1000000000s\nend 20ms\ntask t cpu=19 mask=19-19 run 20ms\n";
    let setup = Setup::from_scenario(
        fairlab_workload::scenario::parse("test.scn", text, KernelSeries::V6_1).expect("well-formed"),
    );
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.run(&mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ticks(&machine, 19), 0);
}
