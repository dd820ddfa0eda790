// SPDX-License-Identifier: GPL-2.0-or-later
use super::kicks::Kicks;
use super::moves::Moves;
use super::*;
use fairlab_machine::engine::Setup;
use fairlab_workload::scn;

fn machine(scenario: &str) -> Machine {
    let scenario = scn::parse("test.scn", scenario).unwrap_or_else(|error| panic!("{error}"));
    Machine::new(Setup::from_scenario(scenario)).expect("a possible machine")
}

/// What is found in a scenario with limits of a millisecond.
fn found(scenario: &str) -> Vec<Finding> {
    let mut machine = machine(scenario);
    let ms = Nanos::from_millis;
    let limits = Limits { idle: ms(1), latency: ms(1), starvation: ms(50), ..Limits::of(&machine) };
    find(&mut machine, limits, &mut |_| {}).expect("the tasks make progress").0
}

fn of<'a>(findings: &'a [Finding], rule: &str) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.rule == rule)
}

#[test]
fn a_task_that_waits_while_a_cpu_idles_is_found_once_it_may_run_there() {
    let pinned = "cpus 2\nend 300ms\ntask a mask=0-0 cpu=0 run 10s\ntask b mask=0-0 cpu=0 run 10s\n";
    let findings = found(pinned);
    assert!(of(&findings, "idle-while-waiting").is_none(), "it may not run there: {findings:?}");
    let findings = found(&format!("{pinned}affinity 101ms b 0-1\n"));
    let finding = of(&findings, "idle-while-waiting").unwrap_or_else(|| panic!("{findings:?}"));
    assert!((100_000_000..120_000_000).contains(&finding.at_ns), "{finding:?}");
    assert_eq!(finding.question, Question::Cpu(1));
    assert!(finding.sentence.contains("CPU 1 idled"), "{}", finding.sentence);
}

#[test]
fn a_task_that_gets_no_cpu_starves_and_one_that_gets_it_late_is_late() {
    let findings =
        found("cpus 1\nend 300ms\ntask hog fifo=10 cpu=0 run 10s\ntask poor cpu=0 loop run 100us sleep 1ms\n");
    let finding = of(&findings, "starvation").unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!((finding.severity, finding.question.clone()), (Severity::High, Question::Task("poor".to_owned())));
    assert!(finding.worst_ns > 250_000_000, "{finding:?}");
    let findings = found("cpus 1\nend 300ms\ntask hog cpu=0 run 10s\ntask late batch cpu=0 loop run 100us sleep 5ms\n");
    let finding = of(&findings, "late-wakeup").unwrap_or_else(|| panic!("{findings:?}"));
    assert!(finding.count > 5 && finding.worst_ns > 1_000_000, "{finding:?}");
}

#[test]
fn a_task_that_goes_to_and_fro_is_found_if_it_does_so_often() {
    let mut machine = machine("cpus 2\nend 100ms\ntask a cpu=0 run 1ms\n");
    let limits = Limits::of(&machine);
    machine.run(&mut fairlab_machine::observer::NoObserver).expect("the tasks make progress");
    let moved = |every_us: u64| {
        let mut moves = Moves::default();
        for step in 0..100_u64 {
            let (from, to) = (CpuId((step % 2) as u32), CpuId((step % 2) as u32 ^ 1));
            moves.moved(START + Nanos(every_us * 1000 * step), 0, 0, from, to, limits.back_within);
        }
        moves.findings(&machine, &["a".to_owned()], limits)
    };
    assert_eq!(moved(500).first().map(|finding| finding.count), Some(99));
    assert!(moved(2_000).is_empty(), "it stays for longer than the limit");
}

#[test]
fn kicks_after_which_nothing_moves_are_found_if_they_are_many() {
    use fairlab_sched::probe::{KickDecision, KickReason};
    let mut kicks = Kicks::new(2);
    let kick = KickDecision {
        cpu: CpuId(0),
        reason: KickReason::ManyTasks,
        flags: fairlab_sched::told::balance::NOHZ_BALANCE_KICK,
        target: Some(CpuId(1)),
        kicked: true,
    };
    for at in 0..99 {
        kicks.kicked(START + Nanos(at), &kick);
    }
    assert!(kicks.findings().is_empty());
    kicks.kicked(START + Nanos(99), &kick);
    assert_eq!(kicks.findings().first().map(|finding| (finding.count, finding.at_ns)), Some((100, 99)));
}

#[test]
fn nothing_is_found_on_a_machine_that_is_well() {
    let mut machine =
        machine("cpus 4\nend 500ms\ntask a cpu=0 loop run 1ms sleep 3ms\ntask b cpu=1 loop run 2ms sleep 9ms\n");
    let limits = Limits::of(&machine);
    let (findings, _) = find(&mut machine, limits, &mut |_| {}).expect("the tasks make progress");
    assert!(findings.is_empty(), "{findings:?}");
}
