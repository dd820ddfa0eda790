// SPDX-License-Identifier: GPL-2.0-or-later
use crate::test_machine::flat;
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId};

/// Returns whether a task that wakes up, or is forked, beside others becomes the next buddy although
/// rescheduling is due anyway.
fn is_next(nr_tasks: u32, next_buddy: bool, is_fork: bool) -> bool {
    let mut machine = flat(1);
    let tasks: std::vec::Vec<_> = (0..nr_tasks).map(|_| machine.task(0, &[0])).collect();
    machine.sched.tunables.nr_latency = 3;
    machine.sched.features.set(Feature::NextBuddy, next_buddy);
    let curr = machine.sched.curr(CpuId(0));
    let woken = tasks.into_iter().find(|&task| task != curr).expect("one of them runs");
    machine.sched.rqs[CpuId(0)].need_resched = true;
    machine.on(0, |sched, ctx| sched.check_preempt_wakeup(ctx, CpuId(0), woken, is_fork));
    machine.sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].next == Some(machine.sched.tasks[woken].se)
}

#[test]
fn with_next_buddy_who_wakes_up_among_many_is_next() {
    assert!(is_next(3, true, false));
    assert!(!is_next(3, false, false));
    assert!(!is_next(2, true, false), "these are not many");
    assert!(!is_next(3, true, true), "a forked task waits");
}
