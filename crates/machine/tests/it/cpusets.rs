// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks in cpusets, compared with the behaviour of Linux 6.1, worked out by hand.

use crate::common::run;
use fairlab_sched::ids::CpuId;

/// Returns the CPUs that a task may use at the end.
fn allowed(run: &crate::common::TestRun, task: &str) -> Vec<u32> {
    run.task(task).cpus_allowed.iter().map(|cpu| cpu.0).collect()
}

#[test]
fn the_scenario_gives_the_figures_worked_out_in_it() {
    let run = run(include_str!("../../../../scenarios/cpusets.scn"));
    for guest in ["guest0", "guest1"] {
        assert_eq!(run.ran_ms(guest, 100.0, 200.0, |cpu| cpu != 3), 0.0);
        let shared = run.ran_ms(guest, 100.0, 200.0, |cpu| cpu == 3);
        // A slice of two equal tasks on a machine of four CPUs is 9 ms, checked at ticks of 4 ms.
        assert!((shared - 50.0).abs() <= 12.0, "{guest}: {shared}");
        assert_eq!(run.ran_ms(guest, 200.0, 300.0, |cpu| cpu < 2), 0.0);
        assert_eq!(allowed(&run, guest), [0, 1, 2, 3]);
    }
    let both = run.ran_ms("guest0", 100.0, 200.0, |_| true) + run.ran_ms("guest1", 100.0, 200.0, |_| true);
    assert!((99.0..=100.0).contains(&both), "{both}");
}

#[test]
fn a_task_may_use_what_it_asks_for_of_its_cpuset() {
    let base = "cpus 4\nend 20ms\ncpuset s cpus=1-2\ntask t cpuset=s run 50ms\n";
    let after = |changes: &str| allowed(&run(&format!("{base}{changes}")), "t");
    assert_eq!(after(""), [1, 2]);
    assert_eq!(after("affinity 5ms t 2-3"), [2]);
    assert_eq!(after("affinity 5ms t 3"), [1, 2], "no CPU is left, so the kernel rejects the change");
    assert_eq!(after("affinity 5ms t 2-3\nsetcpus 10ms s 0-1"), [0, 1], "a change of the cpuset resets the affinity");
    assert_eq!(
        after("affinity 5ms t 2-3\nsetcpus 10ms s 1-2"),
        [2],
        "a cpuset that does not change keeps the affinity"
    );
    assert_eq!(after("attach 5ms t /"), [0, 1, 2, 3]);
}

#[test]
fn a_task_begins_with_what_its_mask_and_its_cpuset_have_in_common() {
    let at_start =
        |mask: &str| allowed(&run(&format!("cpus 4\nend 5ms\ncpuset s cpus=1-2\ntask t cpuset=s {mask} run 1ms")), "t");
    assert_eq!(at_start("mask=2-3"), [2]);
    assert_eq!(at_start("mask=0"), [1, 2]);
}

#[test]
fn a_cpuset_whose_cpus_all_go_offline_has_those_of_its_parent_until_one_is_back() {
    let base = "cpus 4\nend 40ms\ncpuset s cpus=2-3\ntask t cpuset=s run 100ms\ntask u mask=3 cpu=3 run 100ms\n";
    let after = |changes: &str| {
        let run = run(&format!("{base}{changes}"));
        (allowed(&run, "t"), allowed(&run, "u"))
    };
    let all = vec![0, 1, 2, 3];
    assert_eq!(after("offline 10ms 3"), (vec![2], all.clone()));
    assert_eq!(after("offline 10ms 2-3"), (vec![0, 1], all.clone()));
    assert_eq!(after("offline 10ms 2-3\nonline 20ms 2"), (vec![2], all.clone()));
    assert_eq!(after("offline 10ms 2-3\nonline 20ms 2-3"), (vec![2, 3], all));
}

#[test]
fn a_running_task_is_moved_at_once() {
    let run = run("cpus 2\nend 20ms\ncpuset s cpus=1\ntask t run 50ms\nattach 5ms t s");
    assert_eq!(run.task("t").cpu, CpuId(1));
    let (before, after) = (run.ran_ms("t", 0.0, 20.0, |cpu| cpu == 0), run.ran_ms("t", 0.0, 20.0, |cpu| cpu == 1));
    assert_eq!((before, after), (5.0, 15.0));
}
