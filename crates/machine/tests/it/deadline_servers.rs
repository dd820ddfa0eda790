// SPDX-License-Identifier: GPL-2.0-or-later
//! Deadline tasks of 6.12, beside fair servers: smallest scenarios of differences from the reference.

use crate::common::run_series;
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;

/// The CPU that pulls finds another CPU idle, with two deadline tasks that have just arrived. The deadline of that CPU's
/// fair server is earlier than both, but it is not that of a running task.
#[test]
fn a_deadline_task_is_pulled_from_a_cpu_that_is_still_idle() {
    let machine = "cpus 4\ntopo smt=1 llc=4 pkg=4 node=4\nlevels MP\nend 5ms\nscale 1\n";
    let tasks = "task a n=3 dl=1706us/6020us/6035us cpu=2 sleep 210000 sleepr 483000 2128627 run 713437\n\
                 task f cpu=2 run 10335 sleep 110000 run 10001 run 95000\n\
                 task b n=3 dl=857us/1912us/8419us cpu=3 sleepr 1010000 1747141 sleep 10001 run 3001000\n";
    let run = run_series(&format!("{machine}{tasks}"), KernelSeries::V6_12);
    let b1 = run.machine.tasks().iter().position(|task| task.name == "b1").expect("there is such a task");
    let is_pulled = |cpu| run.log.switches.iter().any(|s| (s.ms, s.cpu, s.task) == (0.0, CpuId(cpu), Some(b1)));
    assert!(is_pulled(1), "{:?}", run.log.switches);
    assert!(!is_pulled(0));
}

/// A fair server has an earlier deadline than the task whose clamps change, and a fair task runs.
#[test]
fn a_change_of_a_deadline_task_that_waits_reschedules_for_its_deadline() {
    let machine = "cpus 1\ntopo smt=2 llc=16 pkg=16 node=16\nlevels SMPA\nend 12ms\nipi 20000\n";
    let tasks = "task a runr 41000 1333639 run 1001\n\
                 task f runr 10001 1226427 run 3001000\n\
                 task d dl=1644us/17808us/25878us sleep 174494 run 1001\n\
                 task e dl=1258us/10095us/11241us run 10001 wakesync d run 1949676\n";
    let changes = "server 7788550 0-0 1594 129295\nclamp 8563447 e 883 933\npolicy 5837587 a fifo=46\n";
    let run = run_series(&format!("{machine}{tasks}{changes}"), KernelSeries::V6_12);
    let d = run.machine.tasks().iter().position(|task| task.name == "d").expect("there is such a task");
    let starts: Vec<f64> = run.log.switches.iter().filter(|s| s.task == Some(d)).map(|s| s.ms).collect();
    assert!(starts.contains(&8.563447), "{starts:?}");
}
