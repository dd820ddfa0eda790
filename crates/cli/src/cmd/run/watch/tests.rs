// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the display, drawn in memory, and of keys, which only decide when the run continues.

use super::view::{CpuLine, DomainLine};
use super::*;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{START, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyEvent;

const SCENARIO: &str = include_str!("../../../../../../scenarios/eight-cpus.scn");

fn machine() -> Machine {
    let scenario =
        scenario::parse("eight-cpus.scn", SCENARIO, KernelSeries::V6_1).unwrap_or_else(|error| panic!("{error}"));
    Machine::new(Setup::from_scenario(scenario)).expect("a possible machine")
}

/// Returns a started run with its observers.
fn watched(run: &mut RunObservers) -> (Machine, WatchedRun<'_>, WatchSession) {
    let mut machine = machine();
    let mut listeners = WatchedRun { run, watcher: Watcher::new(&machine) };
    machine.start(&mut listeners).expect("it starts");
    let session = WatchSession::new(&machine, "eight-cpus.scn on scenario, 6.1");
    (machine, listeners, session)
}

/// Returns the lines of a drawn view.
fn drawn(view: &mut View, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory is a screen");
    terminal.draw(|frame| draw::draw(frame, view)).expect("it can be drawn");
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(line).collect()
}

fn key(code: char) -> Option<KeyCommand> {
    key_command(&Event::Key(KeyEvent::from(KeyCode::Char(code))))
}

fn a_view() -> View {
    let cpu = |cpu| CpuLine {
        cpu,
        task: (cpu != 1).then(|| format!("worker-{cpu}")),
        nr_running: u32::from(cpu != 1) * 3,
        util_avg: 512,
        capacity: 446,
        frequency: "1844".to_owned(),
        idle: if cpu == 1 { "cluster-sleep".to_owned() } else { String::new() },
    };
    let mut view = View::new(&machine(), "app.json on hikey960, 6.1", DEFAULT_SPEED);
    view.now = Nanos(12_345_678);
    view.cpus = (0..64).map(cpu).collect();
    view.queue = (vec!["worker-10".to_owned(), "worker-11".to_owned()], 4);
    view.domains = vec![DomainLine { name: "MC", span: "0-3".to_owned(), interval_ms: 8, last_ms: 3 }];
    view.rates = vec![("switch", 123_456), ("wakeup", 99)];
    view.decisions = vec!["   12.345678 ms  worker-3: CPU 1 -> 2 TargetIdle".to_owned()];
    view
}

#[test]
fn eighty_columns_and_twenty_four_lines_have_room_for_all() {
    let lines = drawn(&mut a_view(), 80, 24);
    let text = lines.join("\n");
    assert!(
        lines[0].starts_with(" app.json on hikey960, 6.1") && lines[0].ends_with("12.345678ms of 2s  10ms/s  paused "),
        "{text}"
    );
    let line =
        |words: &str| lines.iter().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}:\n{text}"));
    assert!(line(" worker-3 ").contains(" 3   512   446   1844"), "{text}");
    assert!(line("cluster-sleep").contains("   1  cluster-sleep"), "{text}");
    assert!(line("domains of CPU 0").contains("CPUs 0-"), "the title shows that not all CPUs fit:\n{text}");
    assert!(line("MC   0-3").contains("   8      3"), "{text}");
    assert!(text.contains("worker-10 worker-11 and 4") && text.contains("switch  123K"), "{text}");
    assert!(line("TargetIdle").contains("worker-3: CPU 1 -> 2 TargetIdle"), "{text}");
    assert!(lines[23].contains("space run/pause") && lines[23].contains("q quit"), "{text}");
}

#[test]
fn the_chosen_cpu_is_always_in_the_list_and_small_screens_break_nothing() {
    let mut view = a_view();
    view.chosen = 63;
    assert!(drawn(&mut view, 80, 24).iter().any(|line| line.contains(" worker-63 ")));
    view.chosen = 0;
    assert!(drawn(&mut view, 80, 24).iter().any(|line| line.contains(" worker-0 ")));
    for (width, height) in [(1, 1), (20, 5), (40, 10), (300, 100)] {
        view.why = Some(vec!["Because.".to_owned()]);
        drawn(&mut view, width, height);
    }
}

#[test]
fn keys_mean_what_the_last_line_says() {
    assert_eq!(
        [' ', 's', 'n', 'w', '+', '-', 'q', 'x'].map(key),
        [
            Some(KeyCommand::Pause),
            Some(KeyCommand::Next(None)),
            Some(KeyCommand::Next(Some(DecisionKind::Wakeup))),
            Some(KeyCommand::Why),
            Some(KeyCommand::Faster),
            Some(KeyCommand::Slower),
            Some(KeyCommand::Quit),
            None,
        ]
    );
    let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(key_command(&Event::Key(control)), Some(KeyCommand::Quit));
    assert_eq!(key_command(&Event::Key(KeyEvent::from(KeyCode::Enter))), Some(KeyCommand::Why));
}

#[test]
fn a_step_ends_at_the_next_decision_and_why_is_what_explain_says() {
    let mut run = RunObservers::default();
    let (mut machine, mut listeners, mut session) = watched(&mut run);
    session.handle_key(key('n'), &machine, &listeners);
    session.advance_frame(&mut machine, &mut listeners).expect("the tasks make progress");
    assert_eq!(session.view.mode, Mode::Paused);
    assert!(listeners.watcher.nr_seen(Some(DecisionKind::Wakeup)) > 0);
    session.handle_key(key('w'), &machine, &listeners);
    let why = session.view.why.clone().expect("there is an answer");
    let question = listeners.watcher.question().expect("there was a decision");
    let (mut again, at) = (self::machine(), session.at);
    let moment = at.saturating_since(START);
    let explained = fairlab_run::explain::explain_moment(&mut again, &question, moment).expect("it is answered");
    assert_eq!(why, explained.sentences().collect::<Vec<_>>());
    session.view.update(&machine, &listeners.watcher);
    let text = drawn(&mut session.view, 80, 24).join("\n");
    assert!(text.contains("why? (w: close)") && text.contains("task "), "{text}");
    session.handle_key(key('w'), &machine, &listeners);
    assert_eq!(session.view.why, None);
    session.handle_key(key('+'), &machine, &listeners);
    assert_eq!(session.view.speed, Nanos(2 * DEFAULT_SPEED.0));
}

#[test]
fn a_watched_run_is_identical_to_an_unwatched_one() {
    let mut plain = machine();
    plain.run(&mut NoObserver).expect("the tasks make progress");
    let mut run = RunObservers::default();
    let (mut machine, mut listeners, mut session) = watched(&mut run);
    let keys = ['s', 's', 'w', 'n', ' ', '+', '+', ' ', 's'];
    for code in keys {
        session.handle_key(key(code), &machine, &listeners);
        session.advance_frame(&mut machine, &mut listeners).expect("the tasks make progress");
        session.view.update(&machine, &listeners.watcher);
        drawn(&mut session.view, 80, 24);
    }
    session.view.speed = MAX_SPEED;
    session.view.mode = Mode::Goes;
    while session.view.mode != Mode::Over {
        session.advance_frame(&mut machine, &mut listeners).expect("the tasks make progress");
    }
    machine.finish(&mut listeners);
    assert_eq!((plain.digest(), plain.counters()), (machine.digest(), machine.counters()));
    session.view.update(&machine, &listeners.watcher);
    let text = drawn(&mut session.view, 80, 24).join("\n");
    assert!(text.contains("END: q shows the summary"), "{text}");
    assert!(session.view.decisions.len() > 10 && session.view.rates.iter().any(|(_, rate)| *rate > 0), "{text}");
}
