// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of attribute changes of running and waiting tasks.

use crate::classes::fair::enqueue::DequeueFlags;
use crate::test_machine::{TestMachine, flat};
use crate::types::ids::{CpuId, TaskId};

const CPU0: CpuId = CpuId(0);

/// Builds a CPU with two tasks and returns the running one.
fn runner_and_waiter() -> (TestMachine, TaskId) {
    let mut machine = flat(1);
    machine.task(0, &[0]);
    machine.task(0, &[0]);
    let runs = machine.sched.curr(CPU0);
    assert!(!machine.sched.need_resched(CPU0));
    (machine, runs)
}

fn gives_way(nice: i8) -> bool {
    let (mut machine, runs) = runner_and_waiter();
    machine.on(0, |sched, ctx| sched.set_nice(ctx, runs, nice));
    machine.sched.need_resched(CPU0)
}

#[test]
fn who_runs_gives_way_when_it_becomes_less_important_and_not_when_more() {
    assert!(gives_way(5));
    assert!(!gives_way(-5));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is changed under the lock of CpuId(1)")]
fn a_task_is_not_dequeued_under_the_lock_of_another_runqueue() {
    let mut machine = flat(2);
    let task = machine.task(0, &[0, 1]);
    machine.on(0, |sched, ctx| {
        let rq = sched.rq_lock_clocked(ctx, CpuId(1));
        sched.dequeue_task(ctx, &rq, task, DequeueFlags::default());
    });
}
