// SPDX-License-Identifier: GPL-2.0-or-later
//! Group uclamp, compared with numbers worked out by hand.

use crate::common::run;
use fairlab_sched::ids::{CpuId, GroupId};

/// Returns the frequency of a CPU at a time, as a fraction of 1024.
fn frequency_at(run: &crate::common::TestRun, cpu: u32, ms: f64) -> u64 {
    let mut changes = run.log.frequencies.iter().filter(|change| change.1 == CpuId(cpu) && change.0 <= ms);
    changes.next_back().map_or(1024, |change| change.2)
}

#[test]
fn the_scenario_gives_the_figures_worked_out_in_it() {
    let run = run(include_str!("../../../../scenarios/group-clamps.scn"));
    for ms in [100.0, 150.0, 199.0] {
        assert_eq!(frequency_at(&run, 0, ms), 512, "{ms}");
    }
    for ms in [204.0, 300.0, 500.0] {
        assert_eq!(frequency_at(&run, 0, ms), 1024, "{ms}");
    }
    let of_nap = |from: f64, to: f64| {
        let changes = run.log.frequencies.iter();
        changes.filter(|c| c.1 == CpuId(1) && c.0 > from && c.0 <= to).map(|c| c.2).collect::<Vec<_>>()
    };
    // By then the governor has seen how little the task uses. Later the frequency rises when the task runs,
    // and falls when it sleeps.
    assert_eq!((frequency_at(&run, 1, 200.0), of_nap(200.0, 400.0)), (256, vec![]));
    let later = of_nap(400.0, 600.0);
    assert!(later[0] == 1024 && later.iter().all(|&part| part != 512) && later.len() > 8, "{later:?}");
}

#[test]
fn a_group_has_no_more_than_the_one_above_and_protects_no_more_than_it_allows() {
    let effective = |groups: &str| {
        let run = run(&format!("cpus 1\nend 1ms\n{groups}\ntask t group=c run 1ms"));
        let clamps = run.machine.sched().group(GroupId(2)).uclamp.expect("it has clamps");
        (clamps.min, clamps.max)
    };
    assert_eq!(effective("group p umin=100 umax=400\ngroup c parent=p umin=600 umax=800"), (100, 400));
    assert_eq!(effective("group p umin=900\ngroup c parent=p umin=600 umax=500"), (500, 500));
    assert_eq!(effective("group p umin=100 umax=400\ngroup c parent=p"), (0, 400));
    assert_eq!(effective("group p\ngroup c parent=p umin=600"), (0, 1024), "the parent group has no minimum");
}

#[test]
fn a_task_counts_with_its_clamps_within_those_of_its_group() {
    let counted = |group: &str, task: &str, change: &str| {
        let run = run(&format!("cpus 1\nend 20ms\ngroup g {group}\ntask t group=g {task} run 50ms\n{change}"));
        let clamps = run.task("t").uclamp_active.expect("it runs");
        assert_eq!(run.machine.sched().snapshot(CpuId(0)).uclamp, clamps);
        (clamps.min, clamps.max)
    };
    assert_eq!(counted("umin=200 umax=600", "umin=100 umax=800", ""), (200, 600));
    assert_eq!(counted("umin=200 umax=600", "umin=300 umax=500", ""), (300, 500));
    assert_eq!(counted("umin=200 umax=600", "umin=300 umax=500", "groupclamp 10ms g 400 450"), (400, 450));
    assert_eq!(counted("umin=200 umax=600", "umin=300 umax=500", "move 10ms t /"), (300, 500));
}
