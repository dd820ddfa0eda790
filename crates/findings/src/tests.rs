// SPDX-License-Identifier: GPL-2.0-or-later
//! Helpers of the rules' tests, and tests that concern several rules. A scenario that triggers a rule has a near twin that
//! does not.

use super::*;
use fairlab_machine::observer::Observers;
use fairlab_machine::sim::{START, Setup};
use fairlab_measure::summary::{RunSubject, RunSummary};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_traces::import::event::{Recording, TraceEvent};
use fairlab_workload::scenario;

/// Returns a recording of two CPUs.
fn recording(events: Vec<TraceEvent>) -> Recording {
    let mut recording = Recording::default();
    (recording.events, recording.nr_cpus) = (events, 2);
    recording
}

/// Runs a machine and returns its findings, the worst first, and its summary.
pub(super) fn find(machine: &mut Machine, limits: Limits) -> (Vec<Finding>, RunSummary) {
    let (mut summary, mut findings) = (SummaryObserver::new(machine), Findings::new(machine, limits));
    let step = Nanos((machine.duration().0 / 1000).clamp(1, 10_000_000));
    machine.start(&mut Observers(vec![&mut summary, &mut findings])).expect("the tasks make progress");
    for nr in 1.. {
        let until = START + Nanos(step.0 * nr);
        let observers = &mut Observers(vec![&mut summary, &mut findings]);
        let has_more = machine.advance(observers, until).expect("the tasks make progress");
        findings.read_attributes(machine);
        findings.sample(machine, machine.now());
        if !has_more {
            break;
        }
    }
    machine.finish(&mut Observers(vec![&mut summary, &mut findings]));
    let summary = RunSummary::new(RunSubject::default(), machine, &summary);
    (findings.finish(machine, &summary.families), summary)
}

/// Returns the sentence of a finding with 2 occurrences, 3 ms in total and 2 ms at most.
pub(super) fn sentence(evidence: impl Into<Evidence>) -> String {
    printed(evidence).to_string()
}

/// Returns the finding that [`sentence`] prints.
pub(super) fn printed(evidence: impl Into<Evidence>) -> Finding {
    let finding = RULES[0].finding(evidence, Question::Cpu(0));
    Finding { count: 2, total_ns: 3_000_000, worst_ns: 2_000_000, ..finding }
}

/// Returns names of a family and of a task in it, for evidence.
pub(super) fn family_and_task() -> (String, String) {
    ("f".to_owned(), "f0".to_owned())
}

pub(super) fn machine(scenario: &str) -> Machine {
    let scenario = scenario::parse("test.scn", scenario, KernelSeries::V6_1).unwrap_or_else(|error| panic!("{error}"));
    Machine::new(Setup::from_scenario(scenario)).expect("a possible machine")
}

/// Returns the findings of a scenario, with limits of a millisecond.
pub(super) fn found(scenario: &str) -> Vec<Finding> {
    let mut machine = machine(scenario);
    let ms = Nanos::from_millis;
    let limits = Limits { idle: ms(1), latency: ms(1), starvation: ms(50), ..Limits::of(&machine) };
    find(&mut machine, limits).0
}

/// Returns the findings of a scenario in a kernel series, with the usual limits.
pub(super) fn found_in_series(series: KernelSeries, text: &str) -> Vec<Finding> {
    let scenario = scenario::parse("test.scn", text, series).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new(Setup::from_scenario(scenario)).expect("a possible machine");
    let limits = Limits::of(&machine);
    find(&mut machine, limits).0
}

pub(super) fn found_in_6_12(text: &str) -> Vec<Finding> {
    found_in_series(KernelSeries::V6_12, text)
}

/// Returns the first finding of a rule.
pub(super) fn of<'a>(findings: &'a [Finding], rule: &str) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.rule == rule)
}

/// Returns the context of a trace without families.
pub(super) fn context<'a>(now: Nanos) -> FindingContext<'a> {
    FindingContext {
        name: &|_| String::new(),
        families: &[],
        lifetimes: &[],
        groups: &[],
        summaries: &[],
        machine: None,
        since: START,
        now,
    }
}

/// Returns the names of the rules with findings, and the summaries of the families.
pub(super) fn rules_and_families(scenario: &str) -> (Vec<&'static str>, Vec<FamilySummary>) {
    let mut machine = machine(scenario);
    let limits = Limits::of(&machine);
    let (findings, summary) = find(&mut machine, limits);
    (findings.iter().map(|finding| finding.rule).collect(), summary.families)
}

/// Returns the findings of a file in `scenarios/`, after a change to its text, with tunables set to 1.
pub(super) fn found_in(file: &str, change: impl Fn(String) -> String, tunables: &[&str]) -> Vec<Finding> {
    let path = format!("{}/../../scenarios/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = change(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")));
    let mut setup = Setup::from_scenario(
        scenario::parse(file, &text, KernelSeries::V6_1).unwrap_or_else(|error| panic!("{error}")),
    );
    setup.tunables.extend(tunables.iter().map(|name| ((*name).into(), 1)));
    let mut machine = Machine::new(setup).expect("a possible machine");
    let limits = Limits { idle: Nanos::from_millis(1), ..Limits::of(&machine) };
    find(&mut machine, limits).0
}

#[test]
fn the_same_is_found_in_a_trace_as_far_as_its_events_tell() {
    use fairlab_sched::ctx::PrevState;
    use fairlab_traces::import::event::{Context, ThreadRef, TraceEventKind};
    let thread_ref = |pid| ThreadRef { pid, comm: Default::default(), prio: Some(120) };
    let event =
        |ms: u64, cpu, what| TraceEvent { at: ms * 1_000_000, cpu, pid: 0, context: Context::Thread, kind: what };
    let switch = |prev, state, next| TraceEventKind::Switch { prev: thread_ref(prev), state, next: thread_ref(next) };
    let wakeup = |pid| TraceEventKind::Wakeup { thread_ref: thread_ref(pid), cpu: 0, is_new: false };
    let events = vec![
        event(0, 0, switch(0, PrevState::Runnable, 7)),
        event(0, 1, switch(5, PrevState::Blocked, 0)),
        event(10, 0, wakeup(8)),
        event(50, 0, switch(7, PrevState::Blocked, 8)),
        event(900, 0, wakeup(7)),
        event(1500, 0, switch(8, PrevState::Blocked, 7)),
        event(1501, 1, switch(0, PrevState::Runnable, 5)),
    ];
    let findings = find_in_trace(&recording(events), Limits::of_tick(Nanos::from_millis(4)));
    let rules: Vec<(&str, u64)> = findings.iter().map(|finding| (finding.rule, finding.worst_ns / 1_000_000)).collect();
    assert_eq!(rules, [("idle-while-waiting", 600), ("starvation", 600), ("late-wakeup", 600)], "{findings:?}");
    assert!(findings[0].sentence.contains("not in the trace"), "{}", findings[0].sentence);
}

#[test]
fn a_thread_that_changes_its_cpu_and_returns_is_found_in_a_trace_of_switches_alone() {
    use fairlab_sched::ctx::PrevState;
    use fairlab_traces::import::event::{Context, ThreadRef, TraceEventKind};
    let thread_ref = |pid| ThreadRef { pid, comm: Default::default(), prio: Some(120) };
    let found = |cpu_of: fn(u64) -> u32| {
        let switch = |turn: u64| {
            let what = |prev, next| TraceEventKind::Switch {
                prev: thread_ref(prev),
                state: PrevState::Blocked,
                next: thread_ref(next),
            };
            let event = |us: u64, kind| TraceEvent {
                at: (turn * 400 + us) * 1000,
                cpu: cpu_of(turn),
                pid: 0,
                context: Context::Thread,
                kind,
            };
            [event(0, what(0, 9)), event(300, what(9, 0))]
        };
        let events = (0..60).flat_map(switch).collect();
        let recording = recording(events);
        let findings = find_in_trace(&recording, Limits::of_tick(Nanos::from_millis(4)));
        of(&findings, "ping-pong").map(|finding| finding.count)
    };
    // The first migration is no return.
    assert_eq!(found(|turn| (turn % 2) as u32), Some(58));
    assert_eq!(found(|_| 0), None, "it stays");
}

#[test]
fn nothing_is_found_on_a_machine_that_is_well() {
    let mut machine =
        machine("cpus 4\nend 500ms\ntask a cpu=0 loop run 1ms sleep 3ms\ntask b cpu=1 loop run 2ms sleep 9ms\n");
    let limits = Limits::of(&machine);
    let (findings, _) = find(&mut machine, limits);
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn rules_have_names_of_their_own_and_a_severity_as_text() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
    let timers = RuleInfo::from_name("timer-missed").expect("there is such a rule");
    assert_eq!(timers.severity.to_string(), "medium above 5 % of periods, else low");
    assert_eq!((timers.severity.of(false), timers.severity.max()), (Severity::Low, Severity::Medium));
}

#[test]
fn a_wake_up_of_a_running_task_is_no_wake_up_and_leaves_no_mark() {
    // The process that changes an affinity is woken by the stopper that moves the task. Here that process is `other`, which runs.
    let scenario = "cpus 2\nend 480ms\ntask mover cpu=0 run 10s\ntask other cpu=1 run 300ms sleep 100ms\n\
                    affinity 200ms mover 1-1\naffinity 201ms mover 0-0\n";
    let (rules, families) = rules_and_families(scenario);
    assert_eq!(rules, [""; 0]);
    let other = &families[1];
    assert_eq!((other.wakeups, other.wakeup_latency.map(|latency| latency.max_ns)), (1, Some(0)), "{other:?}");
}

#[test]
fn an_offline_cpu_is_neither_idle_nor_a_place_for_a_waiting_task() {
    let scenario = "cpus 2\ncaps 512 1024\nscale 1\nend 1s\ntask hog n=2 cpu=0 run 10s\noffline 10ms 1\n";
    let mut machine = machine(scenario);
    let limits = Limits::of(&machine);
    let (findings, summary) = find(&mut machine, limits);
    assert!(of(&findings, "idle-while-waiting").is_none() && of(&findings, "misfit-left").is_none(), "{findings:?}");
    let cpus = &summary.cpus;
    assert_eq!((cpus[1].offline_ns, cpus[1].idle_ns), (990_000_000, 0), "{:?}", cpus[1]);
}
