// SPDX-License-Identifier: GPL-2.0-or-later
//! Transition latencies of frequency drivers, and schedutil's threads for drivers that may sleep.

use fairlab_board::parse;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::ids::TaskId;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::scenario;

/// Changes of CPU 0's frequency in the scheduler, and wake-ups, in ns from the start.
#[derive(Default)]
struct GovernorLog {
    changes: Vec<(u64, u64)>,
    woken: Vec<(u64, TaskId)>,
}

impl SchedObserver for GovernorLog {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let at = now.0.saturating_sub(START.0);
        match *event {
            Event::Frequency { cpu, capacity, .. } if cpu.0 == 0 => self.changes.push((at, capacity)),
            Event::Wakeup { task, is_new: false, .. } => self.woken.push((at, task)),
            _ => {}
        }
    }
}

impl Observer for GovernorLog {}

/// Runs two CPUs with one clock; `driver` has the keys of their driver.
fn run(driver: &str, tasks: &str) -> (Machine, GovernorLog) {
    let machine = format!(
        "name = \"two\"\n[cpus]\ncount = 2\n[[frequency_domain]]\ncpus = \"0-1\"\nkhz = [250_000, 500_000, 1_000_000]\n\
         rate_limit_us = 1000\n{driver}"
    );
    let description = parse("two.toml", &machine).unwrap_or_else(|error| panic!("{error}"));
    let scenario = scenario::parse("test.scn", &format!("cpus 2\nend 200ms\n{tasks}"), KernelSeries::V6_1)
        .unwrap_or_else(|error| panic!("{error}"));
    let setup = Setup { hardware: Hardware::from_description(&description), ..Setup::from_scenario(scenario) };
    let mut machine = Machine::new(setup).expect("a possible machine");
    machine.check_every_event("a test of governors' threads");
    let mut notes = GovernorLog::default();
    machine.run(&mut notes).unwrap_or_else(|error| panic!("{error}"));
    (machine, notes)
}

/// Returns the times at which the domain's thread was woken.
fn thread_woken(machine: &Machine, notes: &GovernorLog) -> Vec<u64> {
    let thread = machine.tasks().iter().find(|task| task.name == "sugov:0").expect("the domain has a thread");
    let woken = notes.woken.iter().filter(|&&(_, task)| Some(task) == thread.id);
    woken.map(|&(at, _)| at).collect()
}

/// Light tasks let the frequency fall before the other tasks start.
const LIGHT: &str = "task light n=2 run 100us every 4ms\n";

/// After 120 ms a task that needs more starts.
fn ramp(driver: &str) -> (Machine, GovernorLog) {
    run(driver, &format!("{LIGHT}task ramp cpu=0 mask=0-0 start=120ms run 10ms sleep 1s\n"))
}

/// Returns the times of frequency changes in the scheduler after `ns`.
fn changed_after(notes: &GovernorLog, ns: u64) -> Vec<u64> {
    notes.changes.iter().map(|&(at, _)| at).filter(|&at| at > ns).collect()
}

#[test]
fn a_driver_that_sleeps_is_asked_by_a_thread_and_the_frequency_comes_when_it_has_switched() {
    let (machine, notes) = ramp("fast_switch = false\ntransition_latency_ns = 300_000\n");
    let (woken, changed) = (thread_woken(&machine, &notes), changed_after(&notes, 0));
    assert!(changed.len() >= 2, "{:?}", notes.changes);
    for at in changed {
        assert!(woken.contains(&(at - 300_000)), "{at}: asked at {woken:?}");
    }
}

#[test]
fn without_a_latency_the_thread_still_runs_and_a_fast_switch_driver_needs_none() {
    let (machine, notes) = ramp("fast_switch = false\n");
    let (woken, changed) = (thread_woken(&machine, &notes), changed_after(&notes, 0));
    assert!(changed.len() >= 2 && changed.iter().all(|at| woken.contains(at)), "{changed:?}: asked at {woken:?}");
    let (machine, notes) = ramp("");
    assert!(machine.tasks().iter().all(|task| !task.name.starts_with("sugov")) && notes.changes.len() >= 2);
}

#[test]
fn a_fast_switch_driver_makes_the_cpus_faster_after_its_latency() {
    let took = |latency_ns: u64| {
        let (machine, notes) = ramp(&format!("transition_latency_ns = {latency_ns}\n"));
        let ramp = machine.tasks().iter().find(|task| task.name == "ramp").expect("it was forked");
        (changed_after(&notes, 119_999_999)[0], ramp.runtime_ns)
    };
    let ((soon, fast), (late, slow)) = (took(0), took(900_000));
    assert_eq!(soon, late, "the scheduler uses the new frequency at once");
    // From a quarter of the speed to full speed: three quarters of the latency are lost.
    assert!((slow - fast).abs_diff(675_000) < 10_000, "{fast} and {slow}");
}

#[test]
fn the_thread_goes_before_a_task_of_the_highest_real_time_priority_and_needs_no_bandwidth() {
    let tasks =
        format!("{LIGHT}task hog n=2 fifo=99 start=120ms run 1s\ntask dl dl=9ms/10ms/10ms start=120ms run 1s\n");
    let (machine, notes) = run("fast_switch = false\ntransition_latency_ns = 100_000\n", &tasks);
    assert_eq!(notes.changes.last().map(|&(_, part)| part), Some(1024), "{:?}", notes.changes);
    assert!(changed_after(&notes, 119_999_999)[0] < 125_000_000, "{:?}", notes.changes);
    let thread = machine.tasks().iter().find(|task| task.name == "sugov:0").expect("the domain has a thread");
    assert!(machine.sched().task(thread.id.expect("it was forked")).dl.is_special);
}

#[test]
fn a_transition_begins_after_the_one_before_although_requests_come_faster() {
    let (_, notes) = run(
        "fast_switch = false\ntransition_latency_ns = 5_000_000\n",
        &format!(
            "{LIGHT}task a cpu=0 mask=0-0 start=30ms run 4ms sleep 20ms\ntask b cpu=1 mask=1-1 start=40ms run 3ms sleep 9ms\n"
        ),
    );
    // A transition begins after the previous one has ended.
    assert!(notes.changes.len() >= 2, "{:?}", notes.changes);
    assert!(notes.changes.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 5_000_000), "{:?}", notes.changes);
}

#[test]
fn a_thread_that_waits_for_work_is_not_stuck_and_does_not_keep_a_run_going() {
    let (machine, _) = run("fast_switch = false\n", "task short run 1ms exit\n");
    assert!(machine.stuck().is_empty() && machine.is_done());
}
