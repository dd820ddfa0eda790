// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of the deadline class: counts, orders and sums, recomputed from its tasks.

use crate::check::{CheckResult, ensure};
use crate::paths::sched::Sched;
use crate::state::deadline::queue::DeadlineQueue;
use crate::state::deadline::time_before;
use crate::state::task::{SchedClass, Task, TaskState};
use crate::types::ids::CpuId;

/// Counts and sums of a runqueue, recomputed from its tasks.
#[derive(Debug, Default)]
struct DlRecount {
    nr_queued: u32,
    nr_migratory: u32,
    nr_pushable: usize,
    /// Bandwidth of all tasks, and of the active ones.
    bw: (u64, u64),
    /// Bandwidth of tasks that are just being woken, which count at their source or nowhere.
    waking_bw: u64,
}

pub(crate) fn check(sched: &Sched) -> CheckResult {
    for cpu in sched.cpu_ids() {
        check_rq(sched, cpu)?;
    }
    let of_class: u64 = deadline_tasks(sched).map(|p| p.dl.dl_bw).sum();
    let admitted = sched.dl_root.bw_in_use();
    ensure!(admitted >= of_class, "deadline tasks have a bandwidth of {of_class}, but only {admitted} is admitted");
    ensure!(
        sched.dl_root.cpudl.is_heap(),
        "the heap of the CPUs' deadlines is not in order: {:?}",
        sched.dl_root.cpudl
    );
    Ok(())
}

/// Deadline tasks, and the idle tasks that stand for fair servers. A server may have parameters before it starts.
fn deadline_tasks(sched: &Sched) -> impl Iterator<Item = &Task> {
    let is_server = |p: &Task| p.dl.server.is_server || (p.class == SchedClass::Idle && p.dl.dl_bw > 0);
    sched.tasks.iter().filter(move |p| p.class == SchedClass::Deadline || is_server(p))
}

fn recount(sched: &Sched, cpu: CpuId) -> DlRecount {
    let curr = &sched.tasks[sched.rqs[cpu].curr];
    let here = deadline_tasks(sched).filter(|p| p.cpu == cpu);
    here.fold(DlRecount::default(), |mut recount, p| {
        if p.dl.is_queued {
            recount.nr_queued += 1;
            let may_leave = p.nr_cpus_allowed > 1;
            recount.nr_migratory += u32::from(may_leave);
            recount.nr_pushable += usize::from(may_leave && !core::ptr::eq(p, curr));
        }
        if p.state == TaskState::Waking {
            recount.waking_bw += p.dl.dl_bw;
        } else {
            recount.bw.0 += p.dl.dl_bw;
            let is_contending = if p.class == SchedClass::Idle { p.dl.server.is_active } else { p.is_queued() };
            recount.bw.1 += if is_contending || p.dl.is_non_contending { p.dl.dl_bw } else { 0 };
        }
        recount
    })
}

fn check_rq(sched: &Sched, cpu: CpuId) -> CheckResult {
    let rq = &sched.rqs[cpu];
    let (dl, recount) = (&rq.dl, recount(sched, cpu));
    check_order(sched, cpu, &dl.tasks, |p| p.dl.is_queued)?;
    check_order(sched, cpu, dl.pushable(), |p| p.dl.is_pushable && !p.on_cpu && p.nr_cpus_allowed > 1)?;
    ensure!(
        dl.tasks.iter().count() == recount.nr_queued as usize
            && dl.pushable().iter().count() == recount.nr_pushable
            && (dl.nr_running(), dl.nr_migratory) == (recount.nr_queued, recount.nr_migratory),
        "{cpu:?} has miscounted its deadline tasks: they are {recount:?}, but it has {dl:?}"
    );
    let earliest = dl.tasks.first().map(|(deadline, _)| deadline);
    ensure!(
        dl.earliest_curr() == earliest.unwrap_or(0)
            && sched.dl_root.cpudl.deadline_of(cpu) == earliest.filter(|_| rq.online),
        "the earliest deadline of {cpu:?} is {earliest:?}, but its runqueue has {:?} and the heap {:?}",
        dl.earliest_curr(),
        sched.dl_root.cpudl.deadline_of(cpu)
    );
    let is_overloaded = if sched.rules.dl_overload_by_pushable {
        recount.nr_pushable > 0
    } else {
        recount.nr_migratory > 0 && recount.nr_queued > 1
    };
    ensure!(
        dl.overloaded() == is_overloaded && sched.dl_root.overloaded_cpus.contains(cpu) == (is_overloaded && rq.online),
        "{cpu:?} is marked as overloaded: {}, {recount:?}",
        dl.overloaded()
    );
    let (all, active) = recount.bw;
    ensure!(
        (all..=all + recount.waking_bw).contains(&dl.this_bw())
            && (active..=active + recount.waking_bw).contains(&dl.running_bw()),
        "this_bw of {cpu:?} is {} and running_bw is {}: {recount:?}",
        dl.this_bw(),
        dl.running_bw()
    );
    Ok(())
}

fn check_order(sched: &Sched, cpu: CpuId, queue: &DeadlineQueue, belongs: impl Fn(&Task) -> bool) -> CheckResult {
    let mut before = None;
    for (deadline, id) in queue.entries() {
        let p = &sched.tasks[id];
        let is_in_order = before.is_none_or(|before| !time_before(deadline, before));
        ensure!(
            p.cpu == cpu
                && (p.class == SchedClass::Deadline || p.dl.server.is_server)
                && p.is_queued()
                && p.dl.deadline == deadline
                && is_in_order
                && belongs(p),
            "{id:?} is queued on {cpu:?} with {deadline} behind {before:?}, but is {p:?}"
        );
        // A governor's thread is the first pushable task, whatever its deadline.
        before = if p.dl.is_special { before } else { Some(deadline) };
    }
    Ok(())
}
