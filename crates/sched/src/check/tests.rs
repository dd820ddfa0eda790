// SPDX-License-Identifier: GPL-2.0-or-later
//! The checker finds each kind of damage.

use crate::check::InvariantChecker;
use crate::golden::{CPU, GoldenTestMachine};
use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::nohz::WiderDomains;
use crate::state::task::{Policy, TaskState};
use crate::types::ids::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::types::series::KernelSeries;
use std::string::{String, ToString};

/// Returns a machine whose CPU has a running task in a group and a waiting task in the root group.
fn busy() -> (GoldenTestMachine, TaskId, TaskId) {
    busy_in(KernelSeries::V6_1)
}

fn busy_in(series: KernelSeries) -> (GoldenTestMachine, TaskId, TaskId) {
    let mut rig = GoldenTestMachine::new();
    rig.sched.set_series(series);
    rig.sched.boot(crate::types::units::Nanos::ZERO);
    let (group, _) = rig.group();
    let fork = |sched: &mut Sched, ctx: &mut Ctx<'_>, group| {
        let new = crate::state::new_task::NewTask {
            pid: 1000,
            policy: Policy::Normal,
            nice: 0,
            group,
            cpus_allowed: crate::types::cpumask::CpuMask::full(1),
            uclamp: None,
            slice: None,
        };
        sched.handle_fork(ctx, new)
    };
    let (running, waiting) = rig.with(|sched, ctx| {
        let running = fork(sched, ctx, group);
        sched.handle_reschedule(ctx);
        (running, fork(sched, ctx, GroupId::ROOT))
    });
    assert_eq!(rig.sched.curr(CPU), running);
    assert_eq!(rig.sched.check_invariants(), Ok(()));
    (rig, running, waiting)
}

fn damage(what: impl FnOnce(&mut Sched, EntityId, EntityId)) -> String {
    damage_in(KernelSeries::V6_1, what)
}

fn damage_in(series: KernelSeries, what: impl FnOnce(&mut Sched, EntityId, EntityId)) -> String {
    let (mut rig, running, waiting) = busy_in(series);
    let (running, waiting) = (rig.sched.task(running).se, rig.sched.task(waiting).se);
    what(&mut rig.sched, running, waiting);
    rig.sched.check_invariants().expect_err("the damage is found").to_string()
}

#[test]
fn damaged_counts_and_sums_are_found() {
    assert!(
        damage(|sched, _, _| sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].h_nr_running += 1).contains("h_nr_running: 3")
    );
    assert!(
        damage(|sched, _, _| sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].load.weight -= 1)
            .contains("its entities add up to")
    );
    assert!(damage(|sched, _, _| sched.rqs[CpuId(0)].nr_running = 1).contains("nr_running of CpuId(0) is 1, not 2"));
    assert!(
        damage(|sched, _, _| sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].avg.util_est.enqueued = 7)
            .contains("estimated utilisation 7")
    );
    assert!(damage(|sched, _, _| sched.fair.groups[GroupId(1)].load_avg += 5).contains("its cfs_rqs contribute"));
}

#[test]
fn damaged_virtual_times_and_delays_are_found() {
    let damage =
        |what: fn(&mut Sched, EntityId)| damage_in(KernelSeries::V6_12, |sched, _, waiting| what(sched, waiting));
    let add_up = "waiting entities add up to";
    assert!(
        damage(|sched, _| sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].virtual_time.sum_w_vruntime += 1)
            .contains(add_up)
    );
    assert!(
        damage(|sched, _| sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].virtual_time.sum_weight -= 1).contains(add_up)
    );
    assert!(damage(|sched, se| sched.fair.entities[se].vruntime += 1).contains(add_up));
    assert!(damage(|sched, se| sched.fair.entities[se].deadline += 1).contains("waits on"));
    let without_slices = damage(|sched, se| {
        let slot = sched.fair.entities[se].slice_slot;
        sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].slice_tree.remove(slot);
    });
    assert!(without_slices.contains("the slices of"), "{without_slices}");
    let (rig, running, _) = busy_in(KernelSeries::V6_12);
    let mut sched = rig.sched;
    let se = sched.task(running).se;
    sched.fair.entities[se].is_delayed = true;
    sched.fair.entities[se].on_rq = false;
    assert!(sched.check_invariants().is_err());
}

#[test]
fn a_change_that_is_not_marked_dirty_is_found() {
    let silently = |sched: &mut Sched, change: fn(&mut Sched)| {
        sched.refresh_lb_cache();
        change(sched);
    };
    assert!(
        damage(|sched, _, _| silently(sched, |s| s.fair.cfs_rqs[CfsRqId::root(CpuId(0))].avg.load_avg += 1))
            .contains("not marked dirty")
    );
    assert!(damage(|sched, _, _| silently(sched, |s| s.max_balance_interval += 1)).contains("longest interval"));
    let wider = WiderDomains { due: 1, decays_after: 0 };
    assert!(damage(|sched, _, _| sched.nohz.cpus[CpuId(0)].wider = wider).contains("wider domains of CpuId(0)"));
    let (mut rig, _, _) = busy();
    rig.sched.refresh_lb_cache();
    rig.sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].avg.load_avg += 1;
    rig.sched.lb_cache.mark_dirty(CPU);
    assert_eq!(rig.sched.check_invariants(), Ok(()));
}

#[test]
fn damaged_orders_and_lists_are_found() {
    assert!(damage(|sched, _, waiting| sched.fair.entities[waiting].vruntime += 1).contains("waits on"));
    assert!(
        damage(|sched, _, _| sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].curr = None)
            .contains("2 entities, but 1 wait and 0 run")
    );
    assert!(
        damage(|sched, running, _| sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].next = Some(running))
            .contains("the buddy next of")
    );
    let unlisted = damage(|sched, _, _| {
        let cfs_rq = sched.fair.cfs_rq_of_group(GroupId(1), CPU);
        let State { rqs, fair, .. } = &mut sched.state;
        rqs[CPU].leaf_list.remove(&mut fair.cfs_rqs, cfs_rq);
    });
    assert!(unlisted.contains("is not in the list"), "{unlisted}");
    let without_parent = damage(|sched, _, _| {
        let State { rqs, fair, .. } = &mut sched.state;
        rqs[CPU].leaf_list.remove(&mut fair.cfs_rqs, CfsRqId::root(CPU));
    });
    assert!(without_parent.contains("is not behind it"), "{without_parent}");
}

#[test]
fn damaged_marks_are_found() {
    assert!(damage(|sched, _, _| sched.rqs[CpuId(0)].ttwu_pending = true).contains("queued wake-ups of CpuId(0) is 0"));
    assert!(damage(|sched, _, _| sched.rqs[CpuId(0)].nohz_tick_stopped = true).contains("in the mask: false"));
    let task = |sched: &Sched, entity: EntityId| sched.fair.entities[entity].task().expect("a task's");
    let asleep = damage(|sched, _, waiting| {
        let waiting = task(sched, waiting);
        sched.tasks[waiting].state = TaskState::Interruptible;
    });
    assert!(asleep.contains("Interruptible and Queued"), "{asleep}");
    let misplaced = damage(|sched, _, waiting| {
        let waiting = task(sched, waiting);
        sched.tasks[waiting].cpus_allowed.clear(CPU);
        sched.tasks[waiting].nr_cpus_allowed = 0;
    });
    assert!(misplaced.contains("may not use"), "{misplaced}");
}

#[test]
fn virtual_time_that_goes_back_is_found() {
    let (mut rig, _, _) = busy();
    let mut checker = InvariantChecker::default();
    assert_eq!(checker.check(&rig.sched), Ok(()));
    rig.sched.fair.cfs_rqs[CfsRqId::root(CpuId(0))].min_vruntime -= 1;
    assert!(checker.check(&rig.sched).expect_err("it is found").to_string().contains("went back"));
}
