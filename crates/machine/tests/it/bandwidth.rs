// SPDX-License-Identifier: GPL-2.0-or-later
//! Groups with a quota on whole machines: CPU time of their tasks.

use fairlab_machine::observer::{MachineEvent, NoObserver, Observer};
use fairlab_machine::sim::{Machine, Setup, SetupError};
use fairlab_sched::ids::GroupId;
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::state::group::bandwidth::BandwidthStats;
use fairlab_sched::units::Nanos;
use fairlab_workload::scenario;

/// Bandwidth slice: a group may exceed its quota, or fall short of it, by this much in a period.
const SLICE_MS: f64 = 5.0;

fn parse(scenario: &str) -> scenario::Scenario {
    scenario::parse("test.scn", scenario, KernelSeries::V6_1).expect("a well-formed scenario")
}

fn machine(scenario: scenario::Scenario) -> Result<Machine, SetupError> {
    Machine::new(Setup::from_scenario(scenario))
}

fn run(scenario: &str) -> Machine {
    let mut machine = machine(parse(scenario)).expect("a possible machine");
    machine.run(&mut NoObserver).expect("tasks make progress");
    machine
}

/// Returns the CPU time of all tasks whose names have this prefix, in ms.
fn runtime_ms(machine: &Machine, name: &str) -> f64 {
    let tasks = machine.tasks().iter().filter(|task| task.name.starts_with(name));
    tasks.map(|task| task.runtime_ns as f64 / 1e6).sum()
}

/// Returns the counters of the scenario's group with this index, from 0.
fn stats(machine: &Machine, group: u32) -> BandwidthStats {
    machine.sched().group(GroupId(group + 1)).bandwidth.stats
}

#[track_caller]
fn assert_close(ms: f64, expected_ms: f64, by_ms: f64) {
    assert!((ms - expected_ms).abs() <= by_ms, "{ms} ms instead of {expected_ms} ms");
}

#[test]
fn a_quota_of_40_percent_gives_40_percent_to_within_a_slice() {
    let machine = run("cpus 1\nend 2s\ngroup g quota=40ms period=100ms\ntask hog group=g run 7ms");
    assert_close(runtime_ms(&machine, "hog"), 800.0, SLICE_MS);
    assert!(stats(&machine, 0).nr_throttled >= 19);
}

#[test]
fn the_rest_of_the_cpu_goes_to_those_without_a_quota() {
    let machine = run("cpus 1\nend 2s\ngroup g quota=40ms period=100ms\ntask hog group=g run 7ms\ntask free run 3ms");
    assert_close(runtime_ms(&machine, "hog"), 800.0, SLICE_MS);
    assert_close(runtime_ms(&machine, "free"), 1200.0, SLICE_MS);
}

#[test]
fn a_quota_counts_all_cpus_together() {
    let machine = run("cpus 4\nend 2s\ngroup g quota=150ms period=100ms\ntask hog n=4 group=g run 7ms");
    assert_close(runtime_ms(&machine, "hog"), 3000.0, 4.0 * SLICE_MS);
}

#[test]
fn a_quota_above_the_time_of_all_cpus_limits_no_task() {
    let machine = run("cpus 2\nend 1s\ngroup g quota=250ms period=100ms\ntask hog n=2 group=g run 7ms");
    assert_close(runtime_ms(&machine, "hog"), 2000.0, 0.001);
    assert_eq!(stats(&machine, 0).nr_throttled, 0);
}

#[test]
fn a_group_gets_no_more_than_any_group_above_it() {
    let machine = run("cpus 2\nend 2s\n\
        group top quota=30ms period=100ms\ngroup mid parent=top\ngroup low parent=mid quota=80ms period=100ms\n\
        task hog n=2 group=low run 7ms");
    assert_close(runtime_ms(&machine, "hog"), 600.0, 2.0 * SLICE_MS);
    assert_eq!(stats(&machine, 2).nr_throttled, 0);
}

#[test]
fn siblings_share_the_quota_of_their_parent_unless_their_own_is_less() {
    let machine = run("cpus 1\nend 2s\n\
        group top quota=60ms period=100ms\ngroup a parent=top quota=10ms period=50ms\ngroup b parent=top\n\
        task ha group=a run 3ms\ntask hb group=b run 3ms");
    assert_close(runtime_ms(&machine, "ha"), 400.0, SLICE_MS);
    assert_close(runtime_ms(&machine, "hb"), 800.0, 2.0 * SLICE_MS);
}

#[test]
fn a_burst_lets_a_group_use_later_what_it_has_saved() {
    // 20 ms of each 100 ms, but 50 ms of work at once every 300 ms.
    let scenario = |burst| {
        format!("cpus 1\nend 2990ms\ngroup g quota=20ms period=100ms {burst}\ntask work group=g run 50ms sleep 250ms")
    };
    let without = run(&scenario(""));
    assert_eq!(stats(&without, 0).nr_burst, 0);
    assert!(stats(&without, 0).nr_throttled > 10);
    let with = run(&scenario("burst=20ms"));
    assert!(stats(&with, 0).nr_burst > 0);
    assert!(stats(&with, 0).nr_throttled < stats(&without, 0).nr_throttled);
    assert!(runtime_ms(&with, "work") > runtime_ms(&without, "work"));
}

#[test]
fn a_quota_changes_while_tasks_run() {
    let machine = run("cpus 1\nend 3s\ngroup g quota=20ms period=100ms\n\
        quota 1s g 70ms 100ms\nquota 2s g none 100ms\ntask hog group=g run 7ms");
    assert_close(runtime_ms(&machine, "hog"), 200.0 + 700.0 + 1000.0, 3.0 * SLICE_MS);
}

/// Models `cpu_max_write()` and `tg_set_cfs_bandwidth()` (6.1 and 6.12).
#[test]
fn a_new_quota_keeps_the_burst_and_is_refused_below_it() {
    let text = |change: &str| {
        format!(
            "cpus 4\nend 4s\ngroup g quota=100ms period=100ms burst=100ms\n\
                 task w n=4 group=g loop sleep 200ms run 60ms\n{change}"
        )
    };
    let of = |change: &str| {
        let mut machine = machine(parse(&text(change))).expect("a possible machine");
        let mut results = ChangeResults::default();
        machine.run(&mut results).expect("the scenario is possible");
        (results.0, stats(&machine, 0))
    };
    let (_, unchanged) = of("");
    let (results, changed) = of("quota 10ms g 100ms 100ms\n");
    assert!(unchanged.nr_burst > 5, "{unchanged:?}");
    assert_eq!((results, changed.nr_throttled), (vec![0], unchanged.nr_throttled), "{changed:?}");
    assert!(changed.nr_burst.abs_diff(unchanged.nr_burst) <= 1, "{changed:?}");
    assert_eq!(of("quota 10ms g 99ms 100ms\n"), (vec![-22], unchanged), "the burst would exceed the quota");
    let (results, lifted) = of("quota 10ms g none 100ms\nquota 1s g 100ms 100ms\n");
    assert_eq!(results, [0, 0]);
    assert!(lifted.nr_burst > 5, "the burst is known while there is no quota: {lifted:?}");
}

#[test]
fn a_new_quota_can_set_the_burst() {
    let of = |change: &str| {
        let text = "cpus 4\nend 4s\ngroup g quota=100ms period=100ms burst=100ms\n\
             task w n=4 group=g loop sleep 200ms run 60ms\n";
        let mut machine = machine(parse(&format!("{text}{change}"))).expect("a possible machine");
        let mut results = ChangeResults::default();
        machine.run(&mut results).expect("the scenario is possible");
        (results.0, stats(&machine, 0))
    };
    let (results, without) = of("quota 10ms g 100ms 100ms burst=0\n");
    assert_eq!((results, without.nr_burst), (vec![0], 0));
    assert!(without.nr_throttled > 5, "{without:?}");
    let (results, less) = of("quota 10ms g 99ms 100ms burst=99ms\n");
    assert_eq!(results, [0]);
    assert!(less.nr_burst > 5, "{less:?}");
    let (results, _) =
        of("quota 10ms g 99ms 100ms burst=100ms\nquota 20ms g 90ms 100ms burst=0\nquota 30ms g 99ms 100ms\n");
    assert_eq!(results, [-22, 0, 0], "a rejected burst changes nothing");
}

/// Observer that records the results of group changes.
#[derive(Default)]
struct ChangeResults(Vec<i32>);

impl SchedObserver for ChangeResults {}

impl Observer for ChangeResults {
    fn machine_event(&mut self, _now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Changed { result, .. } = event {
            self.0.push(*result);
        }
    }
}

#[test]
fn a_change_that_the_kernel_refuses_has_no_effect() {
    let mut machine = machine(parse(
        "cpus 1\nend 1s\ngroup g quota=20ms period=100ms\n\
        quota 1ms g 900us 100ms\nquota 2ms g 20ms 2s\nquota 3ms g 20ms 100ms\ntask hog group=g run 7ms",
    ))
    .expect("a possible machine");
    let mut results = ChangeResults::default();
    machine.run(&mut results).expect("tasks make progress");
    assert_eq!(results.0, [-22, -22, 0]);
    assert_close(runtime_ms(&machine, "hog"), 200.0, SLICE_MS);
}

#[test]
fn a_period_that_the_kernel_refuses_is_refused_before_the_run() {
    let mut scenario = parse("cpus 1\ngroup g quota=20ms period=100ms");
    scenario.workload.groups[0].quota.as_mut().expect("it has a quota").period_us = 2_000_000;
    let error = machine(scenario).err().expect("the period is too long");
    assert_eq!(error.to_string(), "group g: a period of 2s is too long; it must be at most 1s");
}

/// Regression test of a swarm's find: shares that change while a group is throttled reach its entity only
/// when it runs again.
#[test]
fn shares_that_change_while_a_group_is_throttled_come_later() {
    let mut machine = machine(parse(
        "cpus 2\nend 30ms\ngroup g shares=100000 quota=1ms period=10ms\nshares 5ms g 4949\n\
        task a n=3 group=g run 4ms sleep 1ms\ntask b run 1s",
    ))
    .expect("a possible machine");
    machine.check_every_event("this test");
    machine.run(&mut NoObserver).expect("tasks make progress");
}

#[test]
fn a_period_below_a_tick_lasts_a_tick_in_scenarios_as_in_the_reference() {
    let machine = run("cpus 1\nend 1s\ngroup g quota=1ms period=2ms\ntask hog group=g run 7ms");
    let stats = stats(&machine, 0);
    assert!((240..=250).contains(&stats.nr_periods), "{stats:?}");
}
