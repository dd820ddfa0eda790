// SPDX-License-Identifier: GPL-2.0-or-later
//! Response times that are known in closed form, to the nanosecond, on a machine without costs under CFS and EEVDF.

use fairlab_machine::sim::{Machine, Setup};
use fairlab_measure::responses::{DroppedAt, ResponseSummary};
use fairlab_measure::summary::{RunSubject, RunSummary};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::rtapp::{self, RtAppOptions};
use fairlab_workload::scenario;

const MS: u64 = 1_000_000;

/// Runs tasks of rt-app for 200 ms on four CPUs, under one kernel.
fn run(series: KernelSeries, tasks: &str, responses: &str) -> RunSummary {
    let machine = scenario::parse("four.scn", "cpus 4\nend 200ms", series).expect("a machine");
    let responses = if responses.is_empty() { String::new() } else { format!(", \"responses\": {{ {responses} }}") };
    let text = format!(
        "{{ \"tasks\": {{ {tasks} }}, \"cgroups\": {{ \"/small\": {{ \"cpu.max\": \"2000 10000\" }} }}{responses} }}"
    );
    let workload = rtapp::parse("test.json", &text, RtAppOptions::for_cpus(series, 4));
    let workload = workload.unwrap_or_else(|error| panic!("{error}"));
    summary(Machine::new(Setup { workload, ..Setup::from_scenario(machine) }).expect("a possible machine"))
}

fn summary(mut machine: Machine) -> RunSummary {
    let mut observer = SummaryObserver::new(&machine);
    machine.run(&mut observer).expect("tasks make progress");
    RunSummary::new(RunSubject::default(), &machine, &observer)
}

/// Returns the responses of tasks, which both kernels must have in common.
#[track_caller]
fn responses(tasks: &str, responses: &str) -> Vec<ResponseSummary> {
    let [cfs, eevdf] = [KernelSeries::V6_1, KernelSeries::V6_12].map(|series| run(series, tasks, responses));
    assert_eq!(cfs.responses, eevdf.responses, "CFS and EEVDF");
    for (series, run_with) in [(KernelSeries::V6_1, &cfs), (KernelSeries::V6_12, &eevdf)] {
        assert_eq!(run_with.digest, run(series, tasks, "").digest, "responses change nothing");
    }
    cfs.responses
}

/// Returns the responses of a scenario of 200 ms on four CPUs, which both kernels must have in common.
#[track_caller]
fn of_scenario(text: &str) -> Vec<ResponseSummary> {
    let [cfs, eevdf] = [KernelSeries::V6_1, KernelSeries::V6_12].map(|series| {
        let scenario = scenario::parse("test.scn", &format!("cpus 4\nend 200ms\n{text}"), series);
        let setup = Setup::from_scenario(scenario.unwrap_or_else(|error| panic!("{error}")));
        summary(Machine::new(setup).expect("a possible machine")).responses
    });
    assert_eq!(cfs, eevdf, "CFS and EEVDF");
    cfs
}

/// Asserts that a definition has `count` responses of one time, all of which have ended. The last one may be open.
#[track_caller]
fn assert_all(response: &ResponseSummary, count: u64, ns: u64) {
    let ResponseSummary { lost, dropped, .. } = *response;
    assert_eq!((response.count, lost, dropped), (count, 0, 0), "{response:?}");
    assert_eq!((response.time.min_ns, response.time.p50_ns), (Some(ns), Some(ns)), "{response:?}");
    assert_eq!((response.time.p99_ns, response.time.max_ns, response.open), (Some(ns), Some(ns), 0), "{response:?}");
}

/// Timer of a task with a period in milliseconds.
fn timer(period: u64, mode: &str) -> String {
    format!("\"timer\": {{ \"ref\": \"unique\", \"period\": {}, \"mode\": \"{mode}\" }}", period * 1000)
}

#[test]
fn a_pipeline_of_three_takes_the_sum_of_its_stages() {
    let tasks = format!(
        r#""ui": {{ "cpus": [0], "run": 1000, "sem_post": "drawn", {} }},
           "render": {{ "cpus": [1], "sem_wait": "drawn", "run": 2000, "sem_post": "queued" }},
           "gpu": {{ "cpus": [2], "sem_wait": "queued", "sleep": 1500, "run": 3000, "point": "done" }}"#,
        timer(20, "absolute")
    );
    let found = responses(
        &tasks,
        r#""frame": { "from": "ui.timer", "deadline": 7499 }, "shown": { "from": "ui.timer", "to": "gpu.done" },
           "gpu": { "from": "render.sem_post", "to": "gpu.done", "deadline": 4500 }"#,
    );
    assert_all(&found[0], 10, 7_500_000);
    assert_all(&found[1], 10, 7_500_000);
    assert_all(&found[2], 10, 4_500_000);
    assert_eq!([found[0].late, found[1].late, found[2].late], [Some(10), None, Some(0)]);
}

#[test]
fn a_fork_and_join_ends_with_its_slowest_child_and_the_rest_of_the_parent() {
    let tasks = format!(
        r#""parent": {{ "cpus": [0], "fork": "short", "fork1": "long", "sem_wait": "done", "sem_wait1": "done",
                        "run": 1000, {} }},
           "short": {{ "instance": 0, "loop": 1, "cpus": [1], "run": 2000, "sem_post": "done" }},
           "long": {{ "instance": 0, "loop": 1, "cpus": [2], "run": 5000, "sem_post": "done" }}"#,
        timer(20, "absolute")
    );
    assert_all(&responses(&tasks, r#""join": { "from": "parent.timer" }"#)[0], 10, 6 * MS);
}

#[test]
fn a_worker_that_two_clients_share_serves_them_one_after_the_other() {
    let client = |cpu: u32| {
        format!(
            "\"client{cpu}\": {{ \"cpus\": [{cpu}], \"run\": 1000, \"sem_post\": \"request\", {} }}",
            timer(20, "absolute")
        )
    };
    let tasks = format!(
        "{}, {}, \"worker\": {{ \"cpus\": [2], \"sem_wait\": \"request\", \"run\": 2000 }}",
        client(0),
        client(1)
    );
    let found = responses(&tasks, r#""first": { "from": "client0.timer" }, "second": { "from": "client1.timer" }"#);
    assert_all(&found[0], 10, 3 * MS);
    assert_all(&found[1], 10, 5 * MS);
}

#[test]
fn periods_overlap_if_a_response_is_longer_than_its_period() {
    let tasks = format!(
        r#""ui": {{ "cpus": [0], "run": 1000, "sem_post": "drawn", {} }},
           "worker": {{ "instance": 3, "cpus": [1, 2, 3], "sem_wait": "drawn", "run": 6000 }}"#,
        timer(5, "absolute")
    );
    // The last two of 40 begin at 190 and 195 ms.
    let found = &responses(&tasks, r#""frame": { "from": "ui.timer", "deadline": 5000 }"#)[0];
    assert_eq!((found.count, found.open, found.late), (40, 1, Some(39)), "{found:?}");
    assert_eq!(
        (found.time.min_ns, found.time.p50_ns, found.time.max_ns),
        (Some(5 * MS), Some(7 * MS), Some(7 * MS)),
        "{found:?}"
    );
}

#[test]
fn a_frame_that_never_ends_is_open_and_counts_with_its_age() {
    let tasks = format!(
        r#""ui": {{ "loop": 1, "cpus": [0], "run": 1000, "sem_post": "drawn", {} }},
           "stuck": {{ "cpus": [1], "sem_wait": "drawn", "run": 1000, "point": 1, "sem_post": "away", "suspend": "for ever",
                       "point1": 2 }},
           "other": {{ "cpus": [2], "sem_wait": "never" }}"#,
        timer(20, "absolute")
    );
    let found = &responses(&tasks, r#""frame": { "from": "ui.timer", "to": "other.sem_wait", "deadline": 199999 }"#)[0];
    assert_eq!((found.count, found.open, found.lost), (1, 0, 1), "no task can continue it: {found:?}");
    let found =
        &responses(&tasks.replace("\"away\"", "\"drawn\""), r#""frame": { "from": "ui.timer", "deadline": 199999 }"#)
            [0];
    assert_eq!((found.count, found.open, found.time.max_ns), (1, 1, Some(200 * MS)), "{found:?}");
    assert_eq!((found.late, found.time.lower_bounds.len()), (Some(1), 6), "{found:?}");
}

#[test]
fn a_throttled_stage_adds_the_time_for_which_it_is_throttled() {
    let tasks = format!(
        r#""ui": {{ "loop": 1, "cpus": [0], "run": 1000, "sem_post": "drawn", {} }},
           "render": {{ "cgroup": "/small", "cpus": [1], "sem_wait": "drawn", "run": 5000 }}"#,
        timer(100, "absolute")
    );
    for series in [KernelSeries::V6_1, KernelSeries::V6_12] {
        let run = run(series, &tasks, r#""frame": { "from": "ui.timer" }"#);
        let throttled = run.families.iter().find(|family| family.name == "render").expect("it ran").throttled_ns;
        assert!(throttled > 10 * MS, "{throttled}");
        assert_all(&run.responses[0], 1, 6 * MS + throttled);
    }
}

#[test]
fn units_that_are_posted_before_one_is_taken_keep_their_order() {
    let tasks = format!(
        r#""ui": {{ "cpus": [0], "run": 1000, "sem_post": "drawn", "sem_post1": "drawn", {} }},
           "render": {{ "cpus": [1], "sem_wait": "drawn", "run": 500 }}"#,
        timer(20, "absolute")
    );
    assert_all(&responses(&tasks, r#""frame": { "from": "ui.timer" }"#)[0], 10, 2 * MS);
    // The worker comes late: units of 0 to 4 ms wait for it at 10 ms, and are taken in their order.
    let tasks = format!(
        r#""ui": {{ "loop": 1, "phases": {{ "draw": {{ "loop": 5, "cpus": [0], "sem_post": "drawn", {} }} }} }},
           "render": {{ "delay": 10000, "cpus": [1], "sem_wait": "drawn", "run": 500 }}"#,
        timer(1, "absolute")
    );
    let found = &responses(&tasks, r#""frame": { "from": "ui.timer" }"#)[0];
    // They end at 10.5, 11, 11.5, 12 and 12.5 ms, and began at 0 to 4 ms.
    assert_eq!((found.count, found.open), (5, 0), "{found:?}");
    assert_eq!(
        (found.time.min_ns, found.time.p50_ns, found.time.max_ns),
        (Some(8_500_000), Some(9_500_000), Some(10_500_000))
    );
}

#[test]
fn a_broadcast_goes_to_each_waiter() {
    let waiter = |cpu: u32, ms: u32| {
        format!(
            "\"w{cpu}\": {{ \"cpus\": [{cpu}], \"wait\": {{ \"ref\": \"c\", \"mutex\": \"m\" }}, \"unlock\": \"m\", \"run\": {} }}",
            ms * 1000
        )
    };
    let tasks = format!(
        r#""ui": {{ "cpus": [0], "run": 1000, "broad": "c", {} }}, {}, {}"#,
        timer(20, "absolute"),
        waiter(1, 2),
        waiter(2, 6)
    );
    assert_all(&responses(&tasks, r#""frame": { "from": "ui.timer" }"#)[0], 10, 7 * MS);
}

#[test]
fn a_barrier_is_left_with_the_context_of_its_last_arrival() {
    let tasks = format!(
        r#""early": {{ "cpus": [0], "run": 1000, "barrier": "b", "run1": 4000, {0} }},
           "last": {{ "cpus": [1], "run": 3000, "barrier": "b", {0} }}"#,
        timer(20, "absolute")
    );
    let found = responses(&tasks, r#""early": { "from": "early.timer" }, "last": { "from": "last.timer" }"#);
    assert_all(&found[0], 10, MS);
    assert_all(&found[1], 10, 7 * MS);
}

#[test]
fn a_signal_without_a_waiter_loses_the_response() {
    let tasks = format!(
        r#""ui": {{ "cpus": [0], "run": 1000, "signal": "c", {} }},
           "late": {{ "cpus": [1], "sleep": 2000, "wait": {{ "ref": "c", "mutex": "m" }}, "unlock": "m", "run": 15000 }}"#,
        timer(10, "absolute")
    );
    // The first signal, at 1 ms, comes before the wait of 2 ms; then the waiter is busy for 17 ms after each signal at
    // 11, 31, ... ms and misses the one between.
    let found = &responses(&tasks, r#""frame": { "from": "ui.timer", "deadline": 5000 }"#)[0];
    assert_eq!((found.count, found.lost, found.open), (20, 10, 1), "{found:?}");
    // The one of 190 ms is open; all others have their turn after 1 ms, and take 15 ms.
    assert_eq!(
        (found.time.min_ns, found.time.p50_ns, found.time.p90_ns),
        (Some(10 * MS), Some(16 * MS), None),
        "{found:?}"
    );
    assert_eq!((found.late, &found.time.lower_bounds[..]), (Some(20), &["min_ns".to_owned()][..]));
}

#[test]
fn a_resume_of_a_busy_task_is_lost() {
    let tasks = format!(
        r#""ui": {{ "cpus": [0], "resume": "busy", {} }},
           "busy": {{ "cpus": [1], "suspend": "", "run": 2500 }}"#,
        timer(1, "absolute")
    );
    let found = &responses(&tasks, r#""click": { "from": "ui.timer" }"#)[0];
    // One of three finds the task suspended. The one of 199 ms is open, that of 200 ms is lost at the end.
    assert_eq!((found.count, found.lost, found.open), (201, 134, 1), "{found:?}");
    assert_eq!((found.time.min_ns, found.time.p50_ns), (Some(MS), None), "{found:?}");
}

#[test]
fn a_context_that_a_task_gives_up_for_a_later_one_is_dropped() {
    let tasks = format!(
        r#""ui": {{ "cpus": [0], "run": 1000, "sem_post": "drawn", {} }},
           "render": {{ "cpus": [1], "sem_wait": "drawn", "sem_wait1": "drawn", "run": 2000 }}"#,
        timer(10, "absolute")
    );
    let found = &responses(&tasks, r#""frame": { "from": "ui.timer" }"#)[0];
    assert_eq!((found.count, found.dropped, found.open), (20, 10, 0), "{found:?}");
    assert_eq!(
        (found.time.min_ns, found.time.p50_ns, found.time.p90_ns),
        (Some(3 * MS), Some(3 * MS), None),
        "{found:?}"
    );
    let place = DroppedAt { task: "render-1".to_owned(), semaphore: Some("drawn".to_owned()), count: 10 };
    assert_eq!(found.dropped_at, [place]);
}

#[test]
fn under_overload_an_absolute_timer_falls_behind_and_a_relative_one_begins_again() {
    let overload = |mode: &str| {
        let tasks = format!("\"ui\": {{ \"cpus\": [0], \"run\": 12000, {} }}", timer(10, mode));
        responses(&tasks, r#""frame": { "from": "ui.timer", "deadline": 10000 }"#).remove(0)
    };
    // The k-th response begins at 10 k ms and ends at 12 (k + 1) ms. The 17th, from 160 ms, is open.
    let absolute = overload("absolute");
    assert_eq!((absolute.count, absolute.open, absolute.late), (17, 1, Some(17)), "{absolute:?}");
    assert_eq!((absolute.time.min_ns, absolute.time.p50_ns), (Some(12 * MS), Some(28 * MS)), "{absolute:?}");
    assert_eq!(
        (absolute.time.max_ns, absolute.time.lower_bounds.contains(&"max_ns".to_owned())),
        (Some(42 * MS), false)
    );
    let relative = overload("relative");
    assert_eq!((relative.count, relative.open, relative.late), (17, 1, Some(16)), "{relative:?}");
    assert_eq!(
        (relative.time.min_ns, relative.time.p50_ns, relative.time.max_ns),
        (Some(8 * MS), Some(12 * MS), Some(12 * MS))
    );
}

#[test]
fn a_wake_up_that_merges_with_an_earlier_one_is_lost() {
    // Of five wake-ups in 5 ms two are served; one is remembered while the target runs, the others are lost.
    let found = of_scenario(
        "response click from=ui.every\ntask ui mask=0-0 cpu=0 loop wake busy every 1ms\n\
         task busy mask=1-1 cpu=1 loop wait run 2500us",
    );
    let found = &found[0];
    assert_eq!((found.count, found.dropped), (201, 0), "{found:?}");
    assert!((118..=122).contains(&found.lost), "{found:?}");
    // The remembered one comes 0.5 or 1 ms after the wait.
    assert_eq!((found.time.p50_ns, found.open), (None, 2), "{found:?}");
}

#[test]
fn a_wake_up_of_a_task_that_is_not_forked_yet_is_lost() {
    let found = of_scenario(
        "response early from=p\ntask ui mask=0-0 cpu=0 run 1ms point p wake later exit\n\
         task later start=100ms mask=1-1 cpu=1 wait run 1ms",
    );
    assert_eq!((found[0].count, found[0].lost), (1, 1), "{found:?}");
}

#[test]
fn posts_are_counted_and_takes_carry_their_contexts() {
    let found = of_scenario(
        "response frame from=ui.every to=shown deadline=4ms\nresponse draw from=drawn\n\
         task ui mask=0-0 cpu=0 loop run 1ms point drawn post q post q every 20ms\n\
         task gpu mask=1-1 cpu=1 loop take q take q run 3ms point shown",
    );
    assert_all(&found[0], 10, 4 * MS);
    assert_all(&found[1], 10, 3 * MS);
    assert_eq!(found[0].late, Some(0));
}

#[test]
fn an_interrupt_carries_nothing_and_ends_nothing() {
    let found = of_scenario(
        "response frame from=ui.every\ntask ui mask=0-0 cpu=0 loop run 1ms wake gpu every 20ms\n\
         task gpu mask=1-1 cpu=1 loop wait run 2ms\npackets 2-2 7ms 1 gpu",
    );
    // Packets at 7, 14, ... ms wake the target besides. The one of 21 ms comes with the wake-up of the second frame, which
    // is remembered while the target runs for the packet.
    let found = &found[0];
    assert_eq!((found.count, found.lost, found.dropped), (10, 0, 0), "{found:?}");
    assert_eq!(found.time.min_ns, Some(3 * MS), "{found:?}");
    assert_eq!(found.time.max_ns, Some(5 * MS), "{found:?}");
}

#[test]
fn responses_before_the_end_of_a_warm_up_do_not_count() {
    let text = "cpus 2\nend 200ms\nresponse frame from=ui.every deadline=1ms\ntask ui loop run 2ms every 10ms";
    let scenario = scenario::parse("test.scn", text, KernelSeries::V6_12).expect("a scenario");
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("a possible machine");
    let mut observer = SummaryObserver::new(&machine);
    machine.start(&mut observer).expect("tasks make progress");
    let at = fairlab_machine::sim::START + Nanos::from_millis(101);
    machine.advance(&mut observer, at).expect("tasks make progress");
    observer.reset(&machine, at);
    while machine.advance(&mut observer, Nanos::NEVER).expect("tasks make progress") {}
    machine.finish(&mut observer);
    let found = &RunSummary::new(RunSubject::default(), &machine, &observer).responses[0];
    // From 110 to 190 ms; the one of 100 ms had begun.
    assert_all(found, 9, 2 * MS);
    assert_eq!(found.late, Some(9));
}
