// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the rules `unfair-group` and `quota-exceeded`.

use super::*;

/// Returns a scenario in which `crowded` groups, each with one task, begin on CPU 0, and two groups have a CPU each.
/// All may use all CPUs, but load balancing moves none of their tasks if `nr_migrate` is 0.
fn crowd(crowded: usize, group_options: &str, nr_migrate: u32) -> String {
    let mut text = "cpus 3\nend 900ms\n".to_owned();
    for index in 0..crowded + 2 {
        let cpu = (index + 1).saturating_sub(crowded);
        let options = if index == 0 { group_options } else { "" };
        text.push_str(&format!("group g{index} {options}\n"));
        text.push_str(&format!("task t{index} group=g{index} cpu={cpu} mask={cpu}-{cpu} run 10s\n"));
    }
    (0..crowded + 2).for_each(|index| text.push_str(&format!("affinity 1ms t{index} 0-2\n")));
    if nr_migrate == 0 { text + "tune nr_migrate 0\n" } else { text }
}

#[test]
fn groups_that_get_less_than_half_of_their_share_are_found() {
    let findings = found(&crowd(5, "", 0));
    let unfair: Vec<&Finding> = findings.iter().filter(|finding| finding.rule == "unfair-group").collect();
    assert_eq!(unfair.len(), 5, "{findings:?}");
    let finding = unfair[0];
    assert!(finding.sentence.contains("40ms of 85.7") && finding.count == 4, "{}", finding.sentence);
    assert!(of(&found(&crowd(5, "", 1)), "unfair-group").is_none(), "balancing makes it fair");
}

#[test]
fn groups_get_shares_by_their_present_weight_and_not_more_than_a_cpu_for_each_task() {
    let one_cpu = |options: &str, changes: &str| {
        found(&format!(
            "cpus 1\nend 900ms\ngroup a {options}\ngroup b\ntask a group=a n=3 cpu=0 run 10s\ntask b group=b cpu=0 run 10s\n\
             {changes}"
        ))
    };
    assert!(of(&one_cpu("shares=64", ""), "unfair-group").is_none(), "a light group gets little");
    let changed = one_cpu("", "shares 150ms a 64\nshares 450ms a 1024\n");
    assert!(of(&changed, "unfair-group").is_none(), "{changed:?}");
    let two = "cpus 2\nend 900ms\ngroup a\ngroup b shares=4096\ntask a group=a n=8 cpu=0 run 10s\ntask b group=b cpu=1 run 10s\n";
    assert!(of(&found(two), "unfair-group").is_none(), "one task cannot use more than one CPU");
}

#[test]
fn a_group_whose_tasks_slept_or_came_late_could_not_have_used_the_window() {
    // The tasks of `a` run for a sixth of the time, but no longer than they need.
    let text = "cpus 1\nend 900ms\ngroup a\ngroup b\ntask a group=a cpu=0 run 10ms sleep 90ms\n\
                task late group=a cpu=0 start=790ms run 10s\ntask b group=b cpu=0 run 10s\n";
    assert!(of(&found(text), "unfair-group").is_none(), "{:?}", found(text));
}

#[test]
fn time_of_tasks_that_sleep_counts_for_their_group() {
    let text = "cpus 1\nend 900ms\ngroup a\ngroup b\ntask hog group=a cpu=0 nice=10 run 10s\n\
                task most group=a cpu=0 nice=-10 run 30ms sleep 4ms\ntask b group=b cpu=0 run 10s\n";
    let mut machine = machine(text);
    let limits = Limits::of(&machine);
    let (findings, summary) = find(&mut machine, limits);
    let families = summary.families;
    assert!(
        families[0].run_ns * 5 < families[1].run_ns,
        "most time of the group is that of the other task: {families:?}"
    );
    assert!(of(&findings, "unfair-group").is_none(), "{findings:?}");
}

#[test]
fn a_throttled_group_is_not_unfair_and_does_not_exceed_its_quota() {
    let findings = found(&crowd(5, "quota=5ms period=50ms", 0));
    let names: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    assert!(names.contains(&"throttled") && !names.contains(&"quota-exceeded"), "{findings:?}");
    let unfair: Vec<&Finding> = findings.iter().filter(|finding| finding.rule == "unfair-group").collect();
    assert!(unfair.iter().all(|finding| !finding.sentence.contains("group /g0")), "{unfair:?}");
}

#[test]
fn what_the_kernel_allows_beyond_a_quota_is_not_reported() {
    // Slices of eight CPUs, bursts after idle time, nested quotas, changes.
    for scenario in [
        "cpus 8\nend 2s\ngroup g quota=40ms period=100ms\ntask hog group=g n=16 run 10s\n",
        "cpus 8\nend 2s\ngroup g quota=5ms period=10ms\ntask hog group=g n=16 loop run 700us sleep 300us\n",
        "cpus 4\nend 2s\ngroup g quota=20ms period=100ms burst=20ms\ntask t group=g n=4 loop run 15ms sleep 150ms\n",
        "cpus 4\nend 2s\ngroup g quota=50ms period=100ms\ngroup c parent=g quota=20ms period=50ms\ntask t group=c n=4 run 10s\n\
         quota 700ms c 10000 100000\nquota 1300ms g none 100ms\n",
    ] {
        let findings = found(scenario);
        assert!(of(&findings, "quota-exceeded").is_none(), "{scenario}: {findings:?}");
    }
}

#[test]
fn usage_counts_fair_tasks_of_the_group_and_of_those_below() {
    // The quota is used within 5 ms on eight CPUs, with a slice and a tick on each of them; the rate allows 2 ms.
    let furthest = |tasks: &str| {
        let text = format!("cpus 8\nend 30ms\ngroup g quota=40ms period=100ms\ngroup below parent=g\n{tasks}\n");
        let mut machine = machine(&text);
        let mut findings = Findings::new(&machine, Limits::of(&machine));
        machine.start(&mut findings).expect("the tasks make progress");
        let mut largest = 0;
        for ms in 1..=30 {
            machine.advance(&mut findings, START + Nanos::from_millis(ms)).expect("the tasks make progress");
            findings.sample(&machine, machine.now());
            largest = largest.max(findings.rules.quotas.furthest());
        }
        largest / 1_000_000
    };
    assert!((40..=65).contains(&furthest("task a n=8 group=below run 10s")));
    assert!((40..=65).contains(&furthest("task a n=4 group=below run 10s\ntask b n=4 group=g run 10s")));
    assert_eq!(furthest("task a n=8 group=g fifo=5 run 10s"), 0, "real-time tasks use no quota");
    assert_eq!(furthest("task a n=8 run 10s"), 0, "tasks of the root group");
}
