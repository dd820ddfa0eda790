// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::step::{Behaviour, Step, TimerMode, TimerRef};
use crate::workload::{Affinity, Attributes, GroupSpec, TaskSpec};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;

fn workload(text: &str) -> Workload {
    parse("test.json", text, RtAppOptions::for_cpus(KernelSeries::V6_1, 8)).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the workload of one task `t` with these keys.
fn task(keys: &str) -> Workload {
    workload(&format!("{{ \"tasks\" : {{ \"t\" : {{ {keys} }} }} }}"))
}

fn error(text: &str) -> Message {
    parse("test.json", text, RtAppOptions::for_cpus(KernelSeries::V6_1, 8)).expect_err("this must not be accepted")
}

fn task_error(keys: &str) -> Message {
    error(&format!("{{ \"tasks\" : {{ \"t\" : {{ {keys} }} }} }}"))
}

/// Returns the behaviour of a task after its start barrier and its delay.
fn started_behaviour(task: &TaskSpec) -> Box<dyn Behaviour> {
    let mut behaviour = (task.behaviour)(0);
    while behaviour.next() != Step::AwaitOrigin {}
    behaviour
}

fn steps_of(task: &TaskSpec, count: usize) -> Vec<Step> {
    let mut behaviour = started_behaviour(task);
    (0..count).map(|_| behaviour.next()).collect()
}

/// Returns the first steps of the first task, without marks.
fn steps(workload: &Workload, count: usize) -> Vec<Step> {
    let mut behaviour = started_behaviour(&workload.tasks[0]);
    let mut steps = std::iter::repeat_with(|| behaviour.next()).filter(|step| !matches!(step, Step::Mark(_)));
    steps.by_ref().take(count).collect()
}

const fn us(us: u64) -> Nanos {
    Nanos::from_micros(us)
}

const fn run(us: u64) -> Step {
    Step::Run(Nanos::from_micros(us))
}

const fn sleep(us: u64) -> Step {
    Step::Sleep(Nanos::from_micros(us))
}

fn has_warning(workload: &Workload, part: &str) -> bool {
    workload.warnings.iter().any(|warning| warning.contains(part))
}

#[test]
fn what_workgen_would_mend_is_read_when_all_keys_are_kept() {
    let text = r#"{ "tasks" : { "t" : { "run" : 1, "suspend", "run" : 2, "yield" } } }"#;
    let options =
        RtAppOptions { duplicate_keys: DuplicateKeys::KeepAll, ..RtAppOptions::for_cpus(KernelSeries::V6_1, 1) };
    let workload = parse("t.json", text, options).expect("workgen gives them empty values");
    assert_eq!(steps(&workload, 4), [run(1), Step::Suspend(0), run(2), Step::Yield]);
    assert_eq!(workload.objects.suspends, ["t"]);
    let refused = error(text);
    assert!(refused.help.expect("a hint").contains("--keep-duplicate-keys"));
    let error = parse("t.json", r#"{ "tasks" : { "t" : { "run" } } }"#, options).expect_err("a run needs a length");
    assert!(error.text.contains("has no value"), "{error}");
}

#[test]
fn a_list_of_locks_is_an_event_that_does_nothing_as_in_rt_app_1_0() {
    let workload = task(r#""lock_order" : ["r0"], "run" : 5"#);
    assert_eq!(steps(&workload, 2), [Step::Run(Nanos::ZERO), run(5)]);
    assert!(has_warning(&workload, "before rt-app 1.0"));
    let error = task_error(r#""exec" : 5000, "period" : 24000, "lock_order" : ["r0"]"#);
    assert!(error.text.contains("no events") && error.help.expect("a hint").contains("before 1.0"));
    let older = task_error(r#""exec" : 5000, "lock" : ["m1"], "resources" : { "r0" : { "duration" : 5 } }"#);
    assert!(older.help.expect("a hint").contains("a list of locks is of the grammar"));
}

#[test]
fn keys_that_no_rt_app_knows_are_named_where_events_are_missing() {
    for key in ["loops", "duration", "external_workload0"] {
        let error = task_error(&format!(r#""phases" : {{ "c0" : {{ "loop" : 2, "{key}" : 100 }} }}"#));
        let help = error.help.expect("a hint");
        let warnings_of = format!("does not know \"{key}\": is this a file for a program made from rt-app");
        assert!(error.text.contains("no events") && help.contains(&warnings_of), "{help}");
    }
    let many = task_error(r#""a" : 1, "b" : 2, "c" : 3, "d" : 4"#).help.expect("a hint");
    assert!(many.contains(r#""a", "b", "c" and others"#), "{many}");
    let none = task_error(r#""priority" : 1"#).help.expect("a hint");
    assert!(none.starts_with("a task looks like this"), "{none}");
}

#[test]
fn a_word_that_only_begins_like_an_event_is_read_as_it_and_said() {
    let workload = task(r#""memory" : 10, "run" : 5"#);
    assert_eq!(steps(&workload, 2), [Step::Run(Nanos(1)), run(5)]);
    assert!(
        has_warning(&workload, "test.json:1:23: \"memory\" is read as the event \"mem\""),
        "{:?}",
        workload.warnings
    );
    let usual = task(r#""run0" : 1, "run_end" : 1, "runB" : 1, "sleep12" : 1, "loop" : 1"#);
    assert!(usual.warnings.is_empty(), "{:?}", usual.warnings);
}

#[test]
fn resources_of_types_that_rt_app_does_not_know_are_refused() {
    let with =
        |section: &str| format!(r#"{{ "tasks" : {{ "t" : {{ "loop" : 1, "run" : 1 }} }}, "resources" : {section} }}"#);
    for (section, warnings_of, help) in [
        (r#"{ "cond1" : { "type" : "cond" } }"#, r#""cond1" has the type "cond""#, r#"did you mean "wait"?"#),
        (r#"{ "m" : { "type" : "mutx" } }"#, r#"the type "mutx""#, r#"did you mean "mutex"?"#),
        (r#"{ "b" : { "type" : "barrier" } }"#, r#"the type "barrier""#, "types: mutex, signal, wait"),
        (r#"{ "m" : {} }"#, r#""m" has no "type""#, "leave the section out"),
        (r#"{ "m" : 1 }"#, r#""m" has no "type""#, "leave the section out"),
        (r#"{ "m" : { "type" : 1 } }"#, "must be a string", "types: mutex"),
    ] {
        let error = error(&with(section));
        assert!(error.text.contains(warnings_of), "{error}");
        assert!(error.help.as_ref().is_some_and(|text| text.contains(help)), "{error}");
    }
    let types = ["mutex", "signal", "wait", "broadcast", "sync", "sleep", "run", "timer"];
    let all: Vec<String> = types.iter().map(|name| format!(r#""{name}" : {{ "type" : "{name}" }}"#)).collect();
    for section in [format!("{{ {} }}", all.join(", ")), "4".to_owned(), r#"[ "m0" ]"#.to_owned()] {
        assert!(has_warning(&workload(&with(&section)), "\"resources\" is ignored"), "{section}");
    }
    assert!(workload(&with("{}")).warnings.is_empty());
}

#[test]
fn placeholders_of_templates_are_named_as_such() {
    for text in [
        r#"{"global":{"duration":__DURATION__}}"#,
        r#"{"global":{"calibration":"__CPU__"}}"#,
        r#"{"tasks":{"t":{"cpus":[CPUS],"run":1}}}"#,
    ] {
        assert!(error(text).help.expect("a hint").contains("template"), "{text}");
    }
}

#[test]
fn a_run_and_a_unique_timer_make_a_period() {
    let workload = task(r#""run" : 2000, "timer" : { "ref" : "unique", "period" : 5000 }"#);
    let timer = Step::Timer { timer: TimerRef::Own(0), period: us(5000), mode: TimerMode::Relative };
    assert_eq!(steps_of(&workload.tasks[0], 6), [Step::Mark(0), run(2000), timer, Step::Mark(0), run(2000), timer]);
    assert_eq!(workload.tasks[0].own_timers, ["unique"]);
    assert!(workload.objects.timers.is_empty());
}

#[test]
fn run_is_work_and_runtime_is_wall_time() {
    let workload = task(r#""run0" : 10, "runtime1" : 20, "run_b" : 30, "sleep12" : 40, "yield" : """#);
    assert_eq!(steps(&workload, 5), [run(10), Step::RunWall(us(20)), run(30), sleep(40), Step::Yield]);
}

#[test]
fn threads_are_numbered_over_all_tasks_and_their_names_are_cut() {
    let text = r#"{ "tasks" : { "a" : { "instance" : 2, "run" : 1 }, "templ" : { "instance" : 0, "run" : 1 },
        "a-very-long-name-indeed" : { "run" : 1 }, "b" : { "run" : 1, "delay" : 700 } } }"#;
    let workload = workload(text);
    let names: Vec<&str> = workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["a-0", "a-1", "a-very-long-nam", "b-3", "templ"]);
    let starts: Vec<Option<Nanos>> = workload.tasks.iter().map(|task| task.start_at).collect();
    assert_eq!(starts, [Some(Nanos(0)), Some(Nanos(0)), Some(Nanos(0)), Some(Nanos(0)), None]);
    assert_eq!(workload.tasks[1].family, "a");
    assert_eq!((workload.tasks[3].timer_origin, workload.tasks[3].awaits_origin), (us(700), true));
    assert_eq!(fork_name("child", 7, 12), "child-7-0012");
}

#[test]
fn threads_meet_before_they_wait_for_their_delays_but_those_that_are_forked_do_not() {
    let text = r#"{ "tasks" : { "a" : { "instance" : 2, "barrier" : "x", "fork" : "c", "run" : 1 },
        "c" : { "delay" : 300, "run" : 1 } } }"#;
    let workload = workload(text);
    assert_eq!(workload.objects.barriers, [("x".to_owned(), 2), ("of the start".to_owned(), 3)]);
    let first = |task: usize| {
        let mut behaviour = (workload.tasks[task].behaviour)(0);
        [behaviour.next(), behaviour.next()]
    };
    // The two threads of a, the one of c, and the template of c.
    for thread in 0..3 {
        assert_eq!(first(thread), [Step::Barrier(1), Step::AwaitOrigin]);
    }
    assert_eq!(first(3), [Step::AwaitOrigin, Step::Mark(0)]);
    assert_eq!(workload.tasks[3].timer_origin, us(300));
    let alone = task(r#""run" : 1"#);
    assert!(alone.objects.barriers.is_empty(), "a single thread has no start barrier");
}

#[test]
fn a_task_without_phases_is_one_phase() {
    let finite = task(r#""loop" : 2, "run" : 1"#);
    let mark = Step::Mark(0);
    assert_eq!(steps_of(&finite.tasks[0], 6), [mark, run(1), mark, run(1), Step::Exit, Step::Exit]);
    assert!(!has_warning(&finite, "without end"));
    let endless = task(r#""loop" : -1, "run" : 1"#);
    assert_eq!(steps(&endless, 3), [run(1); 3]);
    assert!(has_warning(&endless, "repeat without end"));
    assert_eq!(steps(&task(r#""run" : 1"#), 3), [run(1); 3]);
}

#[test]
fn phases_loop_each_and_all_together() {
    let workload = task(r#""loop" : 2, "phases" : { "a" : { "loop" : 2, "run" : 1 }, "b" : { "sleep" : 5 } }"#);
    let (a, b) = (Step::Mark(0), Step::Mark(1));
    let once = [a, run(1), a, run(1), b, sleep(5)];
    let expected: Vec<Step> = once.into_iter().chain(once).chain([Step::Exit]).collect();
    assert_eq!(steps_of(&workload.tasks[0], 13), expected);
}

#[test]
fn odd_numbers_of_loops_do_what_rt_app_does_and_warn() {
    let phase = task(r#""phases" : { "a" : { "loop" : 0, "run" : 1 }, "b" : { "run" : 2 } }"#);
    assert_eq!(steps(&phase, 3), [run(1); 3]);
    assert!(has_warning(&phase, "repeats without end"));
    let thread = task(r#""loop" : 0, "phases" : { "a" : { "run" : 1 } }"#);
    assert_eq!(steps(&thread, 1), [Step::Exit]);
    assert!(has_warning(&thread, "does nothing"));
    assert!(has_warning(&task(r#""loop" : -3, "run" : 1"#), "without end"));
}

#[test]
fn timers_are_shared_unless_they_are_unique() {
    let text = r#"{ "tasks" : {
        "a" : { "instance" : 2, "timer1" : { "ref" : "tick", "period" : 1 }, "timer2" : { "ref" : "uniqueA", "period" : 2 },
                "timer3" : { "ref" : "uniqueB", "period" : 3 } },
        "b" : { "timer" : { "ref" : "tick", "period" : 4, "mode" : "absolute" } } } }"#;
    let workload = workload(text);
    assert_eq!(workload.objects.timers, ["tick"]);
    assert_eq!(workload.tasks[1].own_timers, ["uniqueA", "uniqueB"]);
    let refs: Vec<Step> = steps(&workload, 3);
    // One mention of "absolute" is enough for a timer that is shared.
    let shared = Step::Timer { timer: TimerRef::Shared(0), period: us(1), mode: TimerMode::Absolute };
    assert_eq!(refs[0], shared);
    assert_eq!(refs[2], Step::Timer { timer: TimerRef::Own(1), period: us(3), mode: TimerMode::Relative });
}

#[test]
fn locks_conditions_semaphores_and_suspension_name_their_objects() {
    let keys = r#""lock" : "m", "wait" : { "ref" : "c", "mutex" : "m" }, "sync" : { "ref" : "c", "mutex" : "n" },
        "unlock" : "m", "signal" : "c", "broad" : "d", "sem_post" : "s", "sem_wait" : "s", "suspend" : "", "resume" : "u""#;
    let workload = task(keys);
    let expected = [
        Step::Lock(0),
        Step::CondWait { cond: 0, mutex: 0 },
        Step::CondSync { cond: 0, mutex: 1 },
        Step::Unlock(0),
        Step::CondSignal(0),
        Step::CondBroadcast(1),
        Step::SemPost(0),
        Step::SemWait(0),
        Step::Suspend(0),
        Step::Resume(1),
    ];
    assert_eq!(steps(&workload, 10), expected);
    let objects = &workload.objects;
    assert_eq!(
        (&objects.mutexes[..], &objects.suspends[..]),
        (&["m".into(), "n".into()][..], &["t".into(), "u".into()][..])
    );
    assert!(!objects.priority_inheritance);
}

#[test]
fn suspending_uses_the_name_that_is_the_value() {
    let text = r#"{ "tasks" : { "s1" : { "suspend" : "Sub", "run" : 1 }, "main" : { "run" : 1, "resume" : "Sub" } } }"#;
    let workload = workload(text);
    assert_eq!(workload.objects.suspends, ["Sub"]);
    assert_eq!(steps(&workload, 1), [Step::Suspend(0)]);
}

#[test]
fn suspending_under_another_name_than_the_tasks_own_is_said_once_because_newer_versions_of_rt_app_ignore_it() {
    let text = |first: &str, second: &str| {
        format!(
            r#"{{ "global" : {{ "duration" : 1 }}, "tasks" : {{ "a" : {{ "suspend" : "{first}", "resume" : "b" }},
            "b" : {{ "suspend" : "{second}", "suspend1" : "{second}", "resume" : "a", "resume1" : "x" }} }} }}"#
        )
    };
    for (first, second) in [("", ""), ("a", "b"), ("", "b")] {
        assert!(workload(&text(first, second)).warnings.is_empty());
    }
    let warnings = workload(&text("a", "x")).warnings;
    let warnings_of = r#""b" suspends as "x" (and 1 more event like it)"#;
    let [of_suspending] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(of_suspending.starts_with("test.json:2:") && of_suspending.contains(warnings_of), "{of_suspending}");
    assert!(of_suspending.contains("June 2025"), "{of_suspending}");
}

#[test]
fn a_barrier_waits_for_the_instances_that_name_it() {
    let text = r#"{ "tasks" : { "a" : { "instance" : 3, "barrier" : "x", "run" : 1 }, "b" : { "barrier" : "x", "run" : 1 },
        "c" : { "instance" : 0, "barrier" : "never", "run" : 1 } } }"#;
    let loaded = workload(text);
    assert_eq!(loaded.objects.barriers[..2], [("x".to_owned(), 4), ("never".to_owned(), 0)]);
    assert!(has_warning(&loaded, "never opens"));
    let twice = r#"{ "tasks" : { "a" : { "barrier1" : "x", "barrier2" : "x", "run" : 1 }, "b" : { "barrier" : "x", "run" : 1 } } }"#;
    assert!(has_warning(&workload(twice), "more than once"));
}

#[test]
fn attributes_are_set_at_the_start_of_each_phase_that_changes_them() {
    let keys = r#""priority" : -5, "cpus" : [2], "phases" : {
        "a" : { "run" : 1, "cpus" : [0, 1] },
        "b" : { "run" : 2, "policy" : "SCHED_FIFO", "util_min" : 100 },
        "c" : { "run" : 3, "policy" : "SCHED_OTHER" } }"#;
    let workload = task(keys);
    let expected = [
        Step::SetAttributes(0),
        run(1),
        Step::SetAttributes(1),
        run(2),
        Step::SetAttributes(2),
        run(3),
        Step::SetAttributes(3),
        run(1),
        Step::SetAttributes(4),
    ];
    assert_eq!(steps(&workload, 9), expected);
    let sets = &workload.tasks[0].attributes;
    let cpus = |cpus: &[u32]| Some(Affinity::Cpus(cpus.to_vec()));
    let none = Attributes::default;
    assert_eq!(sets[0], Attributes { nice: Some(-5), affinity: cpus(&[0, 1]), ..none() });
    let fifo = Attributes { policy: Some(Policy::Fifo(10)), uclamp_min: Some(100), affinity: cpus(&[2]), ..none() };
    assert_eq!(sets[1], fifo);
    // Clamps stay; the nice value that a fair phase does not name is 0.
    assert_eq!(sets[2], Attributes { policy: Some(Policy::Normal), nice: Some(0), ..none() });
    assert_eq!(sets[3], Attributes { affinity: cpus(&[0, 1]), ..none() });
    // In the second loop the clamp already has its value.
    assert_eq!(sets[4], Attributes { uclamp_min: None, ..sets[1].clone() });
    assert_eq!(workload.tasks[0].start, none());
}

#[test]
fn a_plain_task_changes_no_attributes() {
    let workload = task(r#""run" : 1, "policy" : "SCHED_OTHER", "priority" : 0"#);
    assert!(workload.tasks[0].attributes.is_empty());
    assert_eq!(steps_of(&workload.tasks[0], 1), [Step::Mark(0)]);
}

#[test]
fn a_priority_without_a_policy_keeps_the_policy_that_the_phase_found() {
    let keys = r#""policy" : "SCHED_RR", "phases" : { "a" : { "run" : 1 }, "b" : { "run" : 1, "priority" : 40 } }"#;
    let sets = task(keys).tasks.remove(0).attributes;
    let policies: Vec<Option<Policy>> = sets.iter().map(|set| set.policy).collect();
    assert_eq!(policies, [Some(Policy::RoundRobin(10)), Some(Policy::RoundRobin(40))]);
}

#[test]
fn every_policy_is_known() {
    for (keys, policy) in [
        (r#""policy" : "SCHED_BATCH""#, Policy::Batch),
        (r#""policy" : "SCHED_IDLE""#, Policy::Idle),
        (r#""policy" : "SCHED_FIFO", "priority" : 99"#, Policy::Fifo(99)),
        (r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 10, "dl-deadline" : 20, "dl-period" : 30"#, {
            Policy::Deadline { runtime: us(10), deadline: us(20), period: us(30) }
        }),
        (r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 10"#, {
            Policy::Deadline { runtime: us(10), deadline: us(10), period: us(10) }
        }),
        (r#""policy" : "SCHED_DEADLINE", "runtime" : 10, "period" : 30, "deadline" : 20"#, {
            // In the old grammar "runtime" is the event as well.
            Policy::Deadline { runtime: us(10), deadline: us(20), period: us(30) }
        }),
    ] {
        let sets = task(&format!(r#"{keys}, "run" : 1"#)).tasks.remove(0).attributes;
        assert_eq!(sets[0].policy, Some(policy), "{keys}");
    }
}

#[test]
fn a_deadline_task_that_lists_all_cpus_is_not_bound() {
    let deadline = |cpus: &str| {
        task(&format!(
            r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 10, "dl-period" : 100, "cpus" : {cpus}, "loop" : 1, "run" : 1"#
        ))
    };
    let all = deadline("[7, 0, 1, 2, 3, 4, 5, 6]");
    assert!(all.warnings.is_empty(), "{:?}", all.warnings);
    assert_eq!(all.tasks[0].attributes[0].affinity, None);
    assert!(has_warning(&deadline("[0, 1, 2, 3, 4, 5, 6]"), "Linux refuses"));
}

#[test]
fn warnings_that_only_differ_in_their_places_are_one() {
    let tasks: Vec<String> =
        (0..7).map(|i| format!("\"t{i}\":{{\"loop\":-2,\"nodes_membind\":[0],\"run\":1}}")).collect();
    let text = format!("{{\"global\":{{\"duration\":1}},\"tasks\":{{{}}}}}", tasks.join(",\n"));
    let warnings = workload(&text).warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().all(|warning| warning.starts_with("test.json:1:")), "{warnings:?}");
    assert!(warnings.iter().all(|warning| warning.ends_with("and 2 other places)")), "{warnings:?}");
    assert!(warnings[0].contains("(also at 2:") && warnings[0].contains(", 5:"), "{warnings:?}");
}

#[test]
fn what_a_policy_cannot_have_is_an_error_or_a_warning() {
    let with = |keys: &str| format!(r#"{keys}, "run" : 1"#);
    for (keys, part) in [
        (r#""priority" : 20"#, "-20..19"),
        (r#""policy" : "SCHED_FIFO", "priority" : 100"#, "1..99"),
        (r#""policy" : "SCHED_FIFO", "priority" : 0"#, "1..99"),
        (r#""policy" : "SCHED_DEADLINE""#, "dl-runtime"),
        (r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 30, "dl-period" : 20"#, "dl-runtime <= dl-deadline"),
        (r#""policy" : "SCHED_FAIR""#, "unknown policy"),
        (r#""util_min" : 800, "util_max" : 700"#, "above util_max"),
        (r#""util_min" : 1025"#, "0..1024"),
        (r#""util_max" : -2"#, "0..1024"),
        (r#""policy" : "SCHED_RR", "taskgroup" : "/g""#, "fair tasks only"),
        (r#""taskgroup" : "g""#, "does not begin with /"),
    ] {
        let error = task_error(&with(keys));
        assert!(error.text.contains(part), "{keys}: {error}");
    }
    for (keys, part) in [
        (r#""policy" : "SCHED_IDLE", "dl-runtime" : 3000"#, "has no effect on a task of SCHED_IDLE"),
        (r#""policy" : "SCHED_IDLE", "priority" : 3"#, "no effect"),
        (r#""policy" : "SCHED_FIFO", "dl-runtime" : 3000"#, "has no effect on a real-time task"),
        (r#""dl-period" : 100000"#, "\"dl-period\" has no effect without"),
        (r#""policy" : "SCHED_BATCH", "dl-deadline" : 100000"#, "\"dl-deadline\" has no effect without"),
        (r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 10, "dl-period" : 100, "priority" : 3"#, "no effect"),
        (r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 10, "dl-period" : 100, "util_min" : 3"#, "clamps"),
        (r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 10, "dl-period" : 100, "cpus" : [1]"#, "Linux refuses"),
        (r#""nodes_membind" : [0]"#, "nodes_membind"),
        (r#""period" : 5000"#, ": \"period\" has no effect without"),
        (r#""deadline" : 5000"#, ": \"deadline\" has no effect without"),
        (
            r#""policy" : "SCHED_DEADLINE", "dl-runtime" : 10, "dl-period" : 100, "period" : 90"#,
            "\"period\" has no effect beside \"dl-period\"",
        ),
        (r#""runtime" : 5000, "phases" : { "p" : { "run" : 1 } }"#, "\"runtime\" has no effect without"),
    ] {
        assert!(has_warning(&task(&with(keys)), part), "{keys}");
    }
}

#[test]
fn a_warning_about_a_deadline_key_is_at_the_key() {
    let warnings = task("\"policy\" : \"SCHED_BATCH\",\n\"dl-period\" : 100000, \"run\" : 1").warnings;
    assert!(warnings.iter().any(|warning| warning.contains(":2:15: \"dl-period\" has no effect")), "{warnings:?}");
}

#[test]
fn a_task_that_is_neither_started_nor_forked_is_a_warning() {
    let template = |more: &str| {
        format!(r#"{{ "tasks" : {{ "a" : {{ "run" : 1{more} }}, "z" : {{ "instance" : 0, "run" : 1 }} }} }}"#)
    };
    let warnings = |more: &str| {
        parse("t.json", &template(more), RtAppOptions::for_cpus(KernelSeries::V6_1, 4)).expect("valid").warnings
    };
    assert!(warnings("").iter().any(|warning| warning.contains("\"z\" has no instances and no task forks it")));
    assert!(!warnings(r#", "fork" : "z""#).iter().any(|warning| warning.contains("no instances")));
}

#[test]
fn the_runtime_of_a_fair_task_is_its_slice_until_a_new_policy() {
    let keys = r#""phases" : { "a" : { "dl-runtime" : 3000, "run" : 1 }, "b" : { "run" : 1 },
        "c" : { "policy" : "SCHED_BATCH", "run" : 1 }, "d" : { "dl-runtime" : 500, "run" : 1 },
        "e" : { "policy" : "SCHED_OTHER", "dl-runtime" : 500, "run" : 1 } }"#;
    let workload = task(keys);
    let sets: Vec<_> = workload.tasks[0].attributes.iter().map(|set| (set.policy, set.slice)).collect();
    let slice = |us| Some(Nanos::from_micros(us));
    let expected =
        [(None, slice(3000)), (Some(Policy::Batch), None), (None, slice(500)), (Some(Policy::Normal), slice(500))];
    assert_eq!(sets, expected);
}

#[test]
fn task_groups_bring_their_parents_and_stay_until_a_phase_names_another() {
    let keys = r#""phases" : { "a" : { "run" : 1, "taskgroup" : "/tg1/tg11" }, "b" : { "run" : 1 },
        "c" : { "run" : 1, "taskgroup" : "/" } }"#;
    let workload = task(keys);
    let group = |name: &str, parent| GroupSpec {
        name: name.to_owned(),
        parent,
        shares: 1024,
        quota: None,
        idle: false,
        uclamp: None,
    };
    assert_eq!(workload.groups, [group("/tg1", None), group("/tg1/tg11", Some(0))]);
    let groups: Vec<_> = workload.tasks[0].attributes.iter().map(|set| set.group).collect();
    assert_eq!(groups, [Some(Some(1)), Some(None)]);
    let first = [Step::SetAttributes(0), run(1), run(1), Step::SetAttributes(1), run(1), Step::SetAttributes(0)];
    assert_eq!(steps(&workload, 6), first);
}

#[test]
fn there_is_room_for_32_task_groups() {
    let tasks = |count: usize| {
        let tasks: Vec<String> =
            (0..count).map(|i| format!(r#""t{i}" : {{ "run" : 1, "taskgroup" : "/g{i}" }}"#)).collect();
        format!("{{ \"tasks\" : {{ {} }} }}", tasks.join(", "))
    };
    assert_eq!(workload(&tasks(32)).groups.len(), 32);
    assert!(error(&tasks(33)).text.contains("more than 32"));
}

#[test]
fn a_fork_starts_an_instance_of_a_template() {
    let text = r#"{ "tasks" : { "p" : { "loop" : 1, "fork" : "c", "fork2" : "p2" },
        "c" : { "instance" : 0, "delay" : 300, "loop" : 1, "run" : 1 }, "p2" : { "loop" : 1, "run" : 2 } } }"#;
    let workload = workload(text);
    // The threads p-0 and p2-1, then the templates of c and p2.
    assert_eq!(steps(&workload, 3), [Step::Fork(2), Step::Fork(3), Step::Exit]);
    assert_eq!(workload.fork_limit, Some(FORK_LIMIT));
    let template = &workload.tasks[2];
    assert_eq!((template.name.as_str(), template.start_at, template.timer_origin), ("c", None, us(300)));
    // A forked thread also waits for its delay, which counts from the start of the run.
    assert!(template.awaits_origin);
    assert_eq!(steps_of(template, 3), [Step::Mark(0), run(1), Step::Exit]);
    assert_eq!(steps_of(&workload.tasks[1], 2), steps_of(&workload.tasks[3], 2));
}

#[test]
fn memory_and_io_events_are_priced_work() {
    let keys = r#""mem" : 1000000, "iorun" : 10, "memrun" : { "type" : "chase", "size" : 1024, "count" : 1000 },
        "memrun2" : { "type" : "read", "count" : 100 }"#;
    assert_eq!(steps(&task(keys), 4), [run(10), Step::Run(Nanos(200)), Step::Run(Nanos(1100)), Step::Run(Nanos(27))]);
}

#[test]
fn who_writes_to_a_device_waits_for_it_and_who_writes_to_the_null_device_does_not() {
    let to = |device: &str| {
        let text = format!(
            r#"{{ "tasks" : {{ "t" : {{ "iorun" : 500000 }} }},
            "global" : {{ "io_device" : "{device}", "mem_buffer_size" : 500000, "duration" : 1 }} }}"#
        );
        steps(&workload(&text), 3)
    };
    let (call, copy) = (200, 500_000 * 75 / 1000);
    let (work, wait) = (Step::Run(Nanos(call + copy)), Step::WaitIo(Nanos::from_millis(1)));
    assert_eq!(to("/dev/sda"), [work, wait, work]);
    assert_eq!(to("/dev/null"), [Step::Run(Nanos(call)); 3]);
}

#[test]
fn the_global_section_sets_duration_policy_and_priority_inheritance() {
    let text = r#"{ "tasks" : { "t" : { "run" : 1 } }, "global" : { "duration" : 7, "default_policy" : "SCHED_FIFO",
        "pi_enabled" : true, "calibration" : "CPU3", "logdir" : "./", "gnuplot" : false, "frag" : 1 } }"#;
    let workload = workload(text);
    assert_eq!(workload.duration, Some(Nanos::from_secs(7)));
    assert!(workload.objects.priority_inheritance);
    assert_eq!(workload.tasks[0].attributes[0].policy, Some(Policy::Fifo(10)));
    assert!(has_warning(&workload, "ignored: logdir, gnuplot"));
    assert!(has_warning(&workload, "\"frag\""));
    assert_eq!(workload.warnings.len(), 2);
}

#[test]
fn an_endless_duration_is_none() {
    for duration in ["-1", "0", "null"] {
        let text = format!(
            r#"{{ "global" : {{ "duration" : {duration} }}, "tasks" : {{ "t" : {{ "loop" : 1, "run" : 1 }} }} }}"#
        );
        assert_eq!(workload(&text).duration, None);
    }
}

#[test]
fn that_nothing_ends_a_run_is_said_unless_it_is_given_elsewhere_how_long_it_lasts() {
    let endless = |global: &str| format!(r#"{{ "global" : {{ {global} }}, "tasks" : {{ "t" : {{ "run" : 1 }} }} }}"#);
    for (global, warnings_of) in
        [("", "\"global\" has no \"duration\""), (r#""duration" : -1"#, "a \"duration\" of -1 means no end")]
    {
        let text = endless(global);
        assert!(has_warning(&workload(&text), warnings_of) && has_warning(&workload(&text), "--for"));
        let given = RtAppOptions { is_duration_given: true, ..RtAppOptions::for_cpus(KernelSeries::V6_1, 8) };
        assert!(parse("test.json", &text, given).expect("well formed").warnings.is_empty());
    }
    assert!(workload(&endless(r#""duration" : 2"#)).warnings.is_empty());
    let fraction = error(&endless(r#""duration" : 0.05"#));
    assert!(fraction.help.expect("a hint").contains("whole seconds"));
}

#[test]
fn equal_keys_drop_events_with_a_warning_or_are_all_kept() {
    let text = "{ \"tasks\" : { \"t\" : { \"loop\" : 1, \"run\" : 1, \"sleep\" : 2,\n \"run\" : 3, \"run\" : 4 } } }";
    let lossy = workload(text);
    assert_eq!(steps(&lossy, 3), [run(4), sleep(2), Step::Exit]);
    assert_eq!(lossy.warnings.len(), 1);
    assert!(
        lossy.warnings[0].starts_with("test.json:2:2: equal keys in one object (\"run\")"),
        "{}",
        lossy.warnings[0]
    );
    assert!(lossy.warnings[0].contains("2 were dropped"));
    let options =
        RtAppOptions { duplicate_keys: DuplicateKeys::KeepAll, ..RtAppOptions::for_cpus(KernelSeries::V6_1, 1) };
    let all = parse("t", text, options).expect("well formed");
    assert_eq!(steps(&all, 5), [run(1), sleep(2), run(3), run(4), Step::Exit]);
}

#[test]
fn cpus_must_be_those_of_the_machine() {
    let error = task_error("\"run\" : 1,\n \"cpus\" : [0, 8]");
    assert_eq!((error.position().map(|at| at.0), error.text.as_str()), (Some(2), "the machine has no CPU 8"));
    assert!(error.help.expect("a hint").contains("8 CPUs are 0 to 7"));
    for cpus in ["[]", "0", "[-1]", "[\"0\"]", "[1.5]"] {
        let error = task_error(&format!(r#""run" : 1, "cpus" : {cpus}"#));
        assert!(error.text.to_lowercase().contains("cpu"), "{cpus}");
    }
}

#[test]
fn what_never_lets_time_pass_is_refused() {
    for keys in [
        r#""resume" : "x""#,
        r#""loop" : -1, "yield" : """#,
        r#""run" : 0"#,
        r#""timer" : { "ref" : "unique", "period" : 0 }"#,
        r#""barrier" : "alone""#,
        r#""phases" : { "a" : { "run" : 1 }, "b" : { "loop" : -1, "signal" : "c" } }"#,
    ] {
        assert!(task_error(keys).text.contains("takes no time"), "{keys}");
    }
    assert_eq!(steps(&task(r#""loop" : 2, "resume" : "x""#), 3), [Step::Resume(0), Step::Resume(0), Step::Exit]);
}

#[test]
fn unknown_keys_are_ignored_with_a_warning_that_suggests_the_right_one() {
    let text = r#"{ "tasks" : { "t" : { "run" : 1, "priorty" : 3, "phase" : 1 } }, "globl" : {} }"#;
    let workload = workload(text);
    assert!(has_warning(&workload, "did you mean \"priority\"?"));
    assert!(has_warning(&workload, "did you mean \"phases\"?"));
    assert!(has_warning(&workload, "did you mean \"global\"?"));
    assert!(has_warning(&task(r#""run" : 5, "rum" : 1000"#), "did you mean \"run\"?"));
    let beside = task(r#""run" : 5, "phases" : { "a" : { "run" : 1, "delay" : 3 } }"#);
    assert!(has_warning(&beside, "ignores \"run\" beside") && has_warning(&beside, "\"delay\""));
}

#[test]
fn tens_of_thousands_of_keys_are_read_with_their_places() {
    let keys: Vec<String> = (0..40_000).map(|key| format!("\"key{key}\":1")).collect();
    let file = format!("{{\"tasks\":{{\"t\":{{\"run\":1,{}}}}},\"global\":{{\"duration\":1}}}}", keys.join(","));
    let workload = workload(&file);
    assert_eq!(workload.warnings.len(), 40_000);
    let last = file.find("\"key39999\"").expect("it is there") + 1;
    assert!(workload.warnings[39_999].starts_with(&format!("test.json:1:{last}: ")), "{}", workload.warnings[39_999]);
}

#[test]
fn groups_nest_as_deep_as_a_path_may_be_long() {
    let nested = |levels: usize| format!("\"run\":1,\"sleep\":1,\"taskgroup\":\"{}\"", "/g".repeat(levels));
    assert_eq!(task(&nested(2047)).groups.len(), 2047);
    let error = task_error(&nested(100_000));
    assert!(error.to_string().contains("at most 4095"), "{error}");
}

#[test]
fn a_run_lasts_as_long_as_it_says_on_the_cpu_of_the_calibration() {
    let read = |global: &str, capacities: &[u64]| {
        let text = format!("{{\"tasks\":{{\"t\":{{\"run\":1000}}}},\"global\":{{\"duration\":1{global}}}}}");
        parse("test.json", &text, RtAppOptions::for_capacities(KernelSeries::V6_1, capacities)).expect("well formed")
    };
    let board = [462, 462, 1024, 1024];
    let work = |global: &str| {
        let workload = read(global, &board);
        (steps(&workload, 1)[0], workload.assumptions.join(""))
    };
    // 1000 us on CPU 0 are 1000 * 462 / 1024 us on a big CPU.
    let (little, big) = (Step::Run(Nanos(451_172)), run(1000));
    for (global, step, warnings_of) in [
        ("", little, "on CPU 0, as rt-app does"),
        (", \"calibration\" : \"CPU0\"", little, "on CPU 0, as the file says"),
        (", \"calibration\" : \"CPU3\"", big, "on CPU 3, as the file says"),
        (", \"calibration\" : 265", big, "on the biggest CPU"),
    ] {
        let (found, assumption) = work(global);
        assert_eq!(found, step, "{global}");
        assert!(assumption.contains(warnings_of), "{assumption}");
    }
    // With equal CPUs there is no assumption to report.
    assert!(read("", &[1024; 4]).assumptions.is_empty());
    let missing = read(", \"calibration\" : \"CPU9\"", &board);
    assert!(has_warning(&missing, "no CPU 9 to calibrate on"));
}

#[test]
fn a_run_of_minus_one_never_ends_and_a_buffer_may_be_large() {
    let workload = workload("{\"tasks\":{\"t\":{\"run\":-1}},\"global\":{\"mem_buffer_size\":8589934592}}");
    assert!(matches!(steps(&workload, 1)[0], Step::Run(time) if time > Nanos::from_secs(1_000_000_000)));
    assert!(task_error("\"run\" : -2").to_string().contains("must not be negative"));
}

/// Returns a file with a task `t` of these keys and these cgroups.
fn with_cgroups(task: &str, cgroups: &str) -> String {
    format!("{{\"tasks\":{{\"t\":{{{task}}}}},\"cgroups\":{{{cgroups}}},\"global\":{{\"duration\":1}}}}")
}

#[test]
fn cgroups_have_what_their_files_hold() {
    let workload = workload(&with_cgroups(
        r#""cgroup" : "/top/fg", "policy" : "SCHED_FIFO", "run" : 1000, "sleep" : 1000"#,
        r#""/top" : { "cpuset.cpus" : "0-2,5", "cpu.weight" : 50 },
           "/top/fg" : { "cpu.max" : "20000 50000", "cpu.max.burst" : 5000, "cpu.uclamp.min" : "20.50", "cpu.uclamp.max" : "max" },
           "/bg" : { "cpu.idle" : 1, "cpu.max" : "max", "cpu.uclamp.max" : 30 }"#,
    ));
    assert!(workload.warnings.iter().all(|warning| warning.contains("\"/bg\"")), "{:?}", workload.warnings);
    let group = |name: &str| workload.groups.iter().find(|group| group.name == name).expect("it is there").clone();
    assert_eq!((group("/top").shares, group("/top").quota, group("/top").uclamp), (512, None, None));
    let quota = crate::workload::Quota { quota_us: 20_000, period_us: 50_000, burst_us: 5_000 };
    assert_eq!((group("/top/fg").quota, group("/top/fg").uclamp), (Some(quota), Some((210, 1024))));
    assert!(group("/bg").idle && group("/bg").quota.is_none() && group("/bg").uclamp == Some((0, 307)));
    assert_eq!(workload.cpusets[workload.tasks[0].cpuset.expect("its parent has one")].cpus, [0, 1, 2, 5]);
}

#[test]
fn cgroups_without_tasks_are_reported_with_a_similar_path() {
    let warnings = |cgroups: &str, more: &str| {
        let task = r#""cgroup" : "/top/fg", "run" : 1, "sleep" : 1"#;
        let text = with_cgroups(task, cgroups).replace("\"global\"", &format!("{more}\"global\""));
        workload(&text).warnings
    };
    let limits = r#"{ "cpu.weight" : 50 }"#;
    let one = warnings(&format!(r#""/top/gf" : {limits}"#), "");
    assert!(one.len() == 1 && one[0].contains("no task is in the cgroup \"/top/gf\""), "{one:?}");
    assert!(one[0].starts_with("test.json:1:") && one[0].contains("did you mean \"/top/fg\"?"), "{one:?}");
    let far = warnings(&format!(r#""/elsewhere" : {limits}"#), "");
    assert!(far[0].contains("tasks are in /top, /top/fg"), "{far:?}");
    assert!(warnings(&format!(r#""/top" : {limits}, "/top/fg" : {limits}"#), "").is_empty(), "a parent counts");
}

#[test]
fn a_task_in_a_group_whose_name_resembles_a_limited_one_is_reported() {
    let warnings = |group: &str, limited: &str| {
        let text = format!(
            r#"{{"tasks":{{"a":{{"cgroup":"{limited}","run":1,"sleep":1}},"b":{{"cgroup":"{group}","run":1,"sleep":1}}}},
                "cgroups":{{"{limited}":{{"cpu.weight":50}}}},"global":{{"duration":1}}}}"#
        );
        workload(&text).warnings
    };
    let slip = warnings("/backgroud", "/background");
    assert!(slip.len() == 1 && slip[0].starts_with("test.json:1:"), "{slip:?}");
    assert!(slip[0].contains("nothing limits it; did you mean \"/background\"?"), "{slip:?}");
    assert_eq!(warnings("/gb", "/bg").len(), 1, "letters in another order");
    for (group, limited) in [("/bg", "/fg"), ("/camera2", "/camera1"), ("/background/mail", "/background")] {
        assert!(warnings(group, limited).is_empty(), "{group} beside {limited}");
    }
}

#[test]
fn what_a_cgroup_cannot_have_is_refused_with_its_place() {
    let task = "\"cgroup\" : \"/g\", \"run\" : 1, \"sleep\" : 1";
    for (files, warnings_of) in [
        (r#""cpu.max" : "500 100000""#, "quotas from 1000"),
        (r#""cpu.max" : "x""#, "neither a number nor max"),
        (r#""cpu.weight" : 0"#, "from 1 to 10000"),
        (r#""cpu.uclamp.min" : "120""#, "percentage from 0 to 100"),
        (r#""cpuset.cpus" : "0-8""#, "the CPUs 0 to 7"),
        (r#""cpu.max.burst" : 1"#, "needs a quota"),
        (r#""cpu.wieght" : 1"#, "cpu.weight"),
    ] {
        let error = error(&with_cgroups(task, &format!("\"/g\" : {{ {files} }}"))).to_string();
        assert!(error.contains(warnings_of) && error.starts_with("test.json:1:"), "{error}");
    }
    let phases = r#""phases" : { "a" : { "run" : 1, "sleep" : 1, "cgroup" : "/g" } }"#;
    let error = error(&with_cgroups(phases, r#""/g" : { "cpuset.cpus" : "0" }"#)).to_string();
    assert!(error.contains("other \"cpuset.cpus\" than its task's"), "{error}");
}

#[test]
fn waiting_for_a_signal_that_no_task_sends_is_reported() {
    let lonely = task(r#""sem_wait" : "s", "suspend" : "x", "wait" : { "ref" : "c", "mutex" : "m" }, "run" : 1"#);
    for warnings_of in [
        "semaphore \"s\", which no task posts",
        "condition \"c\", which no task signals",
        "\"x\", which no task resumes",
    ] {
        assert!(has_warning(&lonely, warnings_of), "{:?}", lonely.warnings);
    }
    let served =
        workload(r#"{"tasks":{"a":{"sem_wait":"s","run":1},"b":{"sem_post":"s","sleep":1}},"global":{"duration":1}}"#);
    assert!(served.warnings.is_empty(), "{:?}", served.warnings);
}
