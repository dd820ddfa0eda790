// SPDX-License-Identifier: GPL-2.0-or-later
//! Parts of responses that are known in closed form, on a machine without costs.

use super::ResponsePaths;
use fairlab_machine::observer::Observers;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_measure::responses::{ResponseParts, ResponseStats, ResponseSummary};
use fairlab_measure::summary::{RunSubject, RunSummary};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;

const MS: u64 = 1_000_000;

/// Returns the responses of a scenario of 200 ms on four CPUs, with the parts of their paths.
fn responses(text: &str) -> Vec<ResponseSummary> {
    let text = format!("cpus 4\nend 200ms\n{text}");
    let scenario = scenario::parse("test.scn", &text, KernelSeries::V6_12).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("a possible machine");
    let mut summary = SummaryObserver::new(&machine);
    let mut paths = ResponsePaths::new(&machine).expect("there are responses");
    machine.run(&mut Observers(vec![&mut summary, paths.as_mut()])).expect("tasks make progress");
    let mut responses = RunSummary::new(RunSubject::default(), &machine, &summary).responses;
    paths.add_to(&mut responses, &machine);
    responses
}

/// Asserts that ten responses have these parts each.
#[track_caller]
fn assert_parts(text: &str, each: ResponseParts) {
    let found = &responses(text)[0];
    let mut expected = ResponseParts::default();
    (0..10).for_each(|_| expected.add(&each));
    assert_eq!((found.count, found.open, found.parts), (10, 0, Some(expected)), "{found:?}");
}

#[test]
fn a_pipeline_runs_and_sleeps() {
    assert_parts(
        "response frame from=ui.every\ntask ui mask=0-0 cpu=0 loop run 1ms post q every 20ms\n\
         task gpu mask=1-1 cpu=1 loop take q sleep 2ms run 3ms",
        ResponseParts { running_ns: 4 * MS, sleep_ns: 2 * MS, ..ResponseParts::default() },
    );
}

#[test]
fn a_wait_for_a_cpu_has_the_family_that_had_it() {
    let text = "response frame from=ui.every deadline=3ms\ntask ui mask=0-0 cpu=0 loop run 1ms post q every 20ms\n\
         task gpu mask=1-1 cpu=1 loop take q run 3ms\n\
         task first fifo=9 mask=1-1 cpu=1 start=500us loop run 1500us every 20ms";
    assert_parts(text, ResponseParts { running_ns: 4 * MS, cpu_ns: MS, ..ResponseParts::default() });
    let found = &responses(text)[0];
    assert_eq!(found.late_parts, found.parts);
    let behind: Vec<_> = found.behind.iter().map(|row| (row.family.as_str(), row.ns, row.cpus.clone())).collect();
    assert_eq!(behind, [("first", 10 * MS, vec![1])]);
}

#[test]
fn a_unit_waits_while_the_task_that_takes_it_is_busy_with_other_work() {
    // `busy` has a unit of the other client from 0 to 2 ms; that of `ui` comes at 1 ms.
    assert_parts(
        "response frame from=ui.every\ntask ui mask=0-0 cpu=0 loop run 1ms post q every 20ms\n\
         task other mask=1-1 cpu=1 loop run 1us post q every 20ms\ntask busy mask=2-2 cpu=2 loop take q run 2ms",
        ResponseParts { running_ns: 3 * MS, queue_ns: MS + 1000, ..ResponseParts::default() },
    );
}

#[test]
fn a_path_goes_through_the_last_child() {
    assert_parts(
        "response frame from=ui.every\ntask ui mask=0-0 cpu=0 loop run 1ms post a post b take done take done run 1ms every 20ms\n\
         task short mask=1-1 cpu=1 loop take a run 2ms post done\n\
         task long mask=2-2 cpu=2 loop take b sleep 1ms run 4ms post done",
        ResponseParts { running_ns: 6 * MS, sleep_ns: MS, ..ResponseParts::default() },
    );
}

#[test]
fn a_mutex_and_a_quota_are_waited_for() {
    assert_parts(
        "response frame from=ui.every\ntask ui mask=0-0 cpu=0 loop run 1ms lock m run 1ms unlock m every 20ms\n\
         task other mask=1-1 cpu=1 loop lock m run 3ms unlock m every 20ms",
        ResponseParts { running_ns: 2 * MS, mutex_ns: 2 * MS, ..ResponseParts::default() },
    );
    let found = &responses(
        "response frame from=ui.every\ngroup g quota=2ms period=10ms\ntask ui group=g mask=0-0 cpu=0 loop run 5ms every 100ms",
    )[0];
    let parts = found.parts.expect("two have ended");
    assert_eq!((found.count, parts.running_ns), (2, 10 * MS), "{found:?}");
    assert!(parts.quota_ns > 20 * MS && parts.total() == parts.running_ns + parts.quota_ns, "{parts:?}");
}

#[test]
fn a_late_timer_waits_for_its_task() {
    // The first ends at 12 ms, the second begins at 10 ms.
    let found = &responses("response frame from=ui.every\ntask ui mask=0-0 cpu=0 loop run 12ms every 10ms exit")[0];
    assert_eq!(found.count, 1, "{found:?}");
    let found =
        &responses("response frame from=ui.every\ntask ui mask=0-0 cpu=0 run 12ms every 10ms run 12ms every 10ms exit")
            [0];
    let expected = ResponseParts { running_ns: 24 * MS, queue_ns: 2 * MS, ..ResponseParts::default() };
    assert_eq!((found.count, found.parts), (2, Some(expected)), "{found:?}");
}

#[test]
fn a_task_that_is_woken_before_its_timer_expires_acts_before_the_start() {
    // `early` wakes `ui` at 3 ms, which then works from 3 to 4 ms for the response of 10 ms, and its worker until 12 ms.
    let found = &responses(
        "response frame from=ui.every\ntask ui mask=0-0 cpu=0 every 10ms run 1ms post q exit\n\
         task early mask=1-1 cpu=1 sleep 3ms wake ui exit\ntask worker mask=2-2 cpu=2 take q run 8ms exit",
    )[0];
    let expected = ResponseParts { running_ns: 2 * MS, ..ResponseParts::default() };
    assert_eq!((found.count, found.parts), (1, Some(expected)), "{found:?}");
}

#[test]
fn without_definitions_there_is_no_observer() {
    let scenario = scenario::parse("test.scn", "cpus 1\ntask t run 1ms", KernelSeries::V6_1).expect("a scenario");
    let machine = Machine::new(Setup::from_scenario(scenario)).expect("a possible machine");
    assert!(ResponsePaths::new(&machine).is_none() && ResponseStats::new(&machine).is_none());
}

#[test]
fn one_response_is_followed_from_its_start_to_its_end() {
    let text = "cpus 4\nend 200ms\nresponse frame from=ui.every deadline=5ms\n\
         task ui mask=0-0 cpu=0 loop run 1ms post q every 20ms\ntask gpu mask=1-1 cpu=1 loop take q sleep 1ms run 3ms\n\
         task first fifo=9 mask=1-1 cpu=1 start=1500us loop run 1500us every 20ms";
    let scenario = scenario::parse("test.scn", text, KernelSeries::V6_12).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("a possible machine");
    let mut paths = ResponsePaths::new(&machine).expect("there are responses");
    assert!(paths.trace("frmae", 1).expect_err("no such name").to_string().contains("did you mean `frame`?"));
    paths.trace("frame", 3).expect("it exists");
    machine.run(paths.as_mut()).expect("tasks make progress");
    let explanation = paths.explanation(&machine).expect("there are ten");
    let expected = [
        "frame 3 began at 40ms and took 6ms, 1ms later than its deadline of 5ms:",
        "+0ns: ui ran for 1ms on CPU 0.",
        "+1ms: gpu slept for 1ms.",
        "+2ms: gpu waited for 1ms behind first on CPU 1.",
        "+3ms: gpu ran for 3ms on CPU 1.",
    ];
    assert_eq!(explanation.sentences().collect::<Vec<_>>(), expected);
    paths.trace("frame", 99).expect("it exists");
    let error = paths.explanation(&machine).expect_err("there are ten").to_string();
    assert!(error.contains("no number 99") && error.contains("1 to 11"), "{error}");
}
