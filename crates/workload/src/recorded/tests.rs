// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::step::{Behaviour, Step};

fn small() -> RecordedWorkload {
    let task = |name: &str, ops: &[RecordedOp]| RecordedTask {
        name: name.to_owned(),
        family: "f".to_owned(),
        start_at: Some(Nanos(5)),
        ops: ops.to_vec(),
        ..RecordedTask::default()
    };
    let fifo = RecordedPriority { policy: Policy::Fifo(3), nice: 0 };
    let mut tasks = vec![
        task(
            "a-1",
            &[
                RecordedOp::Run(Nanos(7)),
                RecordedOp::Wake(1),
                RecordedOp::Fork(2),
                RecordedOp::Until(Nanos(50)),
                RecordedOp::Until(Nanos(80)),
                RecordedOp::Exec,
                RecordedOp::Group(None),
            ],
        ),
        task(
            "b",
            &[
                RecordedOp::Wait,
                RecordedOp::Priority(fifo),
                RecordedOp::Sleep(Nanos(9)),
                RecordedOp::Group(Some(0)),
                RecordedOp::Exit,
            ],
        ),
        task(
            "c:2/d",
            &[
                RecordedOp::Priority(RecordedPriority { nice: -3, ..RecordedPriority::default() }),
                RecordedOp::Run(Nanos(1)),
            ],
        ),
    ];
    (tasks[1].is_placed, tasks[1].cpu, tasks[1].mask) = (true, 1, Some((0, 1)));
    (tasks[2].start_at, tasks[2].priority.nice) = (None, 4);
    tasks[2].group = Some(1);
    RecordedWorkload {
        groups: vec!["/a".to_owned(), "/a/b.slice".to_owned()],
        nr_cpus: 3,
        capacities: vec![512, 1024, 1024],
        frequency_steps: vec![(Nanos(3), 2, 700)],
        end: Nanos(1000),
        tasks,
        notes: vec!["two words: and a colon".to_owned()],
    }
}

#[test]
fn what_is_written_is_read_again() {
    let recorded = small();
    let text = recorded.to_text();
    assert_eq!(parse("x", &text).unwrap_or_else(|error| panic!("{error}\n{text}")), recorded);
}

#[test]
fn steps_follow_the_operations_and_the_timer_keeps_its_times() {
    let workload = small().into_workload(3);
    let steps = |task: usize, nr: usize| {
        let mut behaviour: Box<dyn Behaviour> = (workload.tasks[task].behaviour)(0);
        (0..nr).map(|_| behaviour.next()).collect::<Vec<Step>>()
    };
    let timer = |period| Step::Timer {
        timer: crate::step::TimerRef::Own(0),
        period: Nanos(period),
        mode: crate::step::TimerMode::Absolute,
    };
    let expected = vec![
        Step::Run(Nanos(7)),
        Step::SemPost(1),
        Step::Fork(2),
        timer(45),
        timer(30),
        Step::Exec,
        Step::SetAttributes(0),
    ];
    assert_eq!(steps(0, 7), expected, "it starts at 5 ns");
    assert_eq!(steps(1, 3), [Step::SetAttributes(0), Step::SemWait(1), Step::SetAttributes(1)]);
    let spec = &workload.tasks[1];
    assert_eq!(spec.start.affinity, Some(Affinity::Cpus(vec![1])), "it begins where it was");
    assert_eq!(spec.attributes[0].affinity, Some(Affinity::Cpus(vec![0, 1])));
    assert_eq!(spec.attributes[1].policy, Some(Policy::Fifo(3)));
    assert_eq!(workload.tasks[2].start_at, None);
    assert_eq!(workload.tasks[2].start.group, Some(Some(1)));
    assert_eq!((workload.groups[1].name.as_str(), workload.groups[1].parent), ("/a/b.slice", Some(0)));
    assert_eq!(steps(1, 5)[4], Step::SetAttributes(2));
    assert_eq!(spec.attributes[2].group, Some(Some(0)));
}

#[test]
fn governors_threads_keep_their_places_and_never_start() {
    let mut recorded = small();
    recorded.tasks[1].family = "sugov:0".to_owned();
    assert_eq!((recorded.remove_governor_threads(), recorded.tasks.len()), (1, 3));
    assert_eq!((recorded.tasks[1].start_at, recorded.tasks[1].ops.len()), (None, 0));
    assert!(recorded.notes[1].contains("1 thread of schedutil"), "{:?}", recorded.notes);
    assert!(!is_governor_thread("sugov:") && !is_governor_thread("sugov:x") && is_governor_thread("sugov:12"));
}

#[test]
fn a_smaller_machine_drops_masks_and_says_so() {
    let workload = small().into_workload(1);
    assert_eq!(workload.warnings.len(), 1);
    assert!(workload.tasks.iter().all(|task| task.start_cpu == 0));
    assert_eq!(workload.tasks[1].start.affinity, Some(Affinity::Cpus(vec![0])));
}

#[test]
fn wrong_files_are_refused_with_place_and_remedy() {
    let refused = |text: &str| parse("x", text).expect_err(text).to_string();
    let head = "recorded 1\ncpus 2\n";
    for (text, expected) in [
        ("recorded 2\n", "x:1:10"),
        ("recorded 1\nend 1s\n", "x:2:1: `cpus N` must stand first"),
        (&format!("{head}tusk a\n"), "did you mean `task`?"),
        (&format!("{head}do run 1\n"), "`do` without a task"),
        (&format!("{head}task a cpu=2\n"), "2 CPUs, numbered from 0"),
        (&format!("{head}task a\ntask a\n"), "two tasks have the name `a`"),
        (&format!("{head}task ab\ndo wake ac\n"), "did you mean `ab`?"),
        (&format!("{head}task a\ntask b\ndo fork a\n"), "has the option `forked`"),
        (&format!("{head}task a\ndo rum 1\n"), "did you mean `run`?"),
        (&format!("{head}task a dl=2048/3000/4000\n"), "cannot have a deadline"),
        (&format!("{head}group /a/b\n"), "a parent stands before its children"),
        (&format!("{head}task a group=/b\n"), "no group `/b`"),
        ("recorded 1\n", "no `cpus`"),
    ] {
        let message = refused(text);
        assert!(message.contains(expected) && message.contains("help:"), "{text}: {message}");
    }
}
