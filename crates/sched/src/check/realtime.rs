// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of the real-time class: counts, orders and flags, recomputed from its tasks.

use crate::check::{CheckResult, ensure};
use crate::paths::sched::Sched;
use crate::state::prio::Prio;
use crate::state::rt::NO_PRIO;
use crate::state::rt::cpupri::CpuLevel;
use crate::state::task::SchedClass;
use crate::types::ids::{CpuId, TaskId};

/// Counts and priorities of a runqueue, recomputed from its tasks.
#[derive(Debug)]
struct RtRecount {
    nr_running: u32,
    nr_migratory: u32,
    nr_pushable: usize,
    highest: Prio,
    highest_pushable: Prio,
}

pub(crate) fn check(sched: &Sched) -> CheckResult {
    for cpu in sched.cpu_ids() {
        check_rq(sched, cpu)?;
    }
    let overload = &sched.rt_root.overload;
    let (counted, marked) = (overload.count() as usize, overload.cpus().weight());
    ensure!(counted == marked, "rto_count is {counted}, but the number of CPUs in rto_mask is {marked}");
    Ok(())
}

/// Real-time tasks of a CPU, in the order of its queues.
fn queued_tasks(sched: &Sched, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
    sched.rqs[cpu].rt.queues.iter(&sched.tasks).take(sched.tasks.len() + 1)
}

fn recount(sched: &Sched, cpu: CpuId) -> RtRecount {
    let curr = sched.rqs[cpu].curr;
    let none =
        RtRecount { nr_running: 0, nr_migratory: 0, nr_pushable: 0, highest: NO_PRIO, highest_pushable: NO_PRIO };
    queued_tasks(sched, cpu).fold(none, |mut recount, id| {
        let p = &sched.tasks[id];
        recount.nr_running += 1;
        recount.highest = recount.highest.min(p.prio());
        if p.nr_cpus_allowed > 1 {
            recount.nr_migratory += 1;
            if id != curr {
                recount.nr_pushable += 1;
                recount.highest_pushable = recount.highest_pushable.min(p.prio());
            }
        }
        recount
    })
}

fn check_rq(sched: &Sched, cpu: CpuId) -> CheckResult {
    let rq = &sched.rqs[cpu];
    let rt = &rq.rt;
    for id in queued_tasks(sched, cpu) {
        let p = &sched.tasks[id];
        ensure!(
            p.cpu == cpu && p.class == SchedClass::RealTime && p.is_queued() && p.rt.on_rq,
            "{id:?} is in a real-time queue of {cpu:?}, but is {p:?}"
        );
    }
    let recount = recount(sched, cpu);
    let (nr_running, highest) = (recount.nr_running, recount.highest);
    ensure!(
        (rt.nr_running(), rt.nr_migratory()) == (nr_running, recount.nr_migratory),
        "rt.nr_running() of {cpu:?} is {} and nr_migratory is {}: {recount:?}",
        rt.nr_running(),
        rt.nr_migratory()
    );
    ensure!(
        (rt.highest_curr(), rt.highest_next()) == (highest, recount.highest_pushable),
        "highest_curr of {cpu:?} is {} and highest_next is {}: {recount:?}",
        rt.highest_curr(),
        rt.highest_next()
    );
    let is_overloaded = if sched.rules.rt_overload_by_pushable {
        rt.pushable().first().is_some()
    } else {
        recount.nr_migratory > 0 && nr_running > 1
    };
    ensure!(
        rt.overloaded() == is_overloaded && sched.rt_root.overload.cpus().contains(cpu) == (is_overloaded && rq.online),
        "{cpu:?} is marked as overloaded: {}, {recount:?}",
        rt.overloaded()
    );
    let may_run = nr_running > 0 && !rt.throttled();
    ensure!(
        rt.is_runnable() == may_run,
        "{cpu:?} has queued {}, throttled {}: {recount:?}",
        rt.is_runnable(),
        rt.throttled()
    );
    let level = sched.rt_root.cpupri.level(cpu);
    ensure!(
        rq.dl.nr_running() > 0 || level == if rq.online { CpuLevel::from_prio(highest) } else { CpuLevel::INVALID },
        "{cpu:?} has {level:?} as its level: {recount:?}"
    );
    check_pushable(sched, cpu, &recount)
}

fn check_pushable(sched: &Sched, cpu: CpuId, recount: &RtRecount) -> CheckResult {
    let rq = &sched.rqs[cpu];
    let (mut nr, mut before) = (0, Prio::MIN);
    for (prio, id) in rq.rt.pushable().iter() {
        let p = &sched.tasks[id];
        ensure!(
            p.cpu == cpu && p.rt.on_rq && p.nr_cpus_allowed > 1 && id != rq.curr && p.prio() == prio && before <= prio,
            "{id:?} is pushable on {cpu:?} with {prio} behind {before}, but is {p:?}"
        );
        (nr, before) = (nr + 1, prio);
    }
    ensure!(nr == recount.nr_pushable, "the number of pushable tasks of {cpu:?} is {nr}: {recount:?}");
    Ok(())
}
