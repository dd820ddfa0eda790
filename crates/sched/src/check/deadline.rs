// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of the deadline class: what is counted, ordered and summed of its tasks, computed anew from them.

use crate::check::{Checked, ensure};
use crate::paths::sched::Sched;
use crate::state::deadline::queue::ByDeadline;
use crate::state::deadline::time_before;
use crate::state::task::{SchedClass, Task, TaskState};
use crate::types::ids::CpuId;

/// What a runqueue must have counted and summed.
#[derive(Debug, Default)]
struct DlRecount {
    nr_queued: u32,
    nr_migratory: u32,
    nr_pushable: usize,
    /// Bandwidth of all tasks, and of those that are active.
    bw: (u64, u64),
    /// Bandwidth of tasks that are just being woken, which count where they come from, or nowhere.
    waking_bw: u64,
}

pub(crate) fn check(sched: &Sched) -> Checked {
    for cpu in sched.cpu_ids() {
        check_rq(sched, cpu)?;
    }
    let of_class: u64 = deadline_tasks(sched).map(|p| p.dl.dl_bw).sum();
    let admitted = sched.dl_root.total_bw;
    ensure!(admitted >= of_class, "deadline tasks have a bandwidth of {of_class}, but only {admitted} was admitted");
    ensure!(sched.dl_root.cpudl.is_heap(), "deadlines of CPUs are not in order: {:?}", sched.dl_root.cpudl);
    Ok(())
}

fn deadline_tasks(sched: &Sched) -> impl Iterator<Item = &Task> {
    sched.tasks.iter().filter(|p| p.class == SchedClass::Deadline)
}

fn tally(sched: &Sched, cpu: CpuId) -> DlRecount {
    let curr = &sched.tasks[sched.rqs[cpu.index()].curr.index()];
    let here = deadline_tasks(sched).filter(|p| p.cpu == cpu);
    here.fold(DlRecount::default(), |mut tally, p| {
        if p.dl.is_queued {
            tally.nr_queued += 1;
            let may_leave = p.nr_cpus_allowed > 1;
            tally.nr_migratory += u32::from(may_leave);
            tally.nr_pushable += usize::from(may_leave && !core::ptr::eq(p, curr));
        }
        if p.state == TaskState::Waking {
            tally.waking_bw += p.dl.dl_bw;
        } else {
            tally.bw.0 += p.dl.dl_bw;
            tally.bw.1 += if p.is_queued() || p.dl.is_non_contending { p.dl.dl_bw } else { 0 };
        }
        tally
    })
}

fn check_rq(sched: &Sched, cpu: CpuId) -> Checked {
    let rq = &sched.rqs[cpu.index()];
    let (dl, tally) = (&rq.dl, tally(sched, cpu));
    check_order(sched, cpu, &dl.tasks, |p| p.dl.is_queued)?;
    check_order(sched, cpu, &dl.pushable, |p| p.dl.is_pushable && !p.on_cpu && p.nr_cpus_allowed > 1)?;
    ensure!(
        dl.tasks.iter().count() == tally.nr_queued as usize
            && dl.pushable.iter().count() == tally.nr_pushable
            && (dl.nr_running, dl.nr_migratory) == (tally.nr_queued, tally.nr_migratory),
        "{cpu:?} has miscounted its deadline tasks: {tally:?}, but it has {dl:?}"
    );
    let earliest = dl.tasks.first().map(|(deadline, _)| deadline);
    ensure!(
        dl.earliest_curr == earliest.unwrap_or(0)
            && sched.dl_root.cpudl.deadline_of(cpu) == earliest.filter(|_| rq.online),
        "{cpu:?} has {earliest:?} as its earliest deadline, but is known for {:?} and {:?}",
        dl.earliest_curr,
        sched.dl_root.cpudl.deadline_of(cpu)
    );
    let is_overloaded = tally.nr_migratory > 0 && tally.nr_queued > 1;
    ensure!(
        dl.overloaded == is_overloaded && sched.dl_root.overloaded_cpus.contains(cpu) == (is_overloaded && rq.online),
        "{cpu:?} is marked as overloaded: {}, {tally:?}",
        dl.overloaded
    );
    let (all, active) = tally.bw;
    ensure!(
        (all..=all + tally.waking_bw).contains(&dl.this_bw)
            && (active..=active + tally.waking_bw).contains(&dl.running_bw),
        "{cpu:?} has bandwidths {} and {}: {tally:?}",
        dl.this_bw,
        dl.running_bw
    );
    Ok(())
}

fn check_order(sched: &Sched, cpu: CpuId, queue: &ByDeadline, belongs: impl Fn(&Task) -> bool) -> Checked {
    let mut before = None;
    for (deadline, id) in queue.entries() {
        let p = &sched.tasks[id.index()];
        let is_in_order = before.is_none_or(|before| !time_before(deadline, before));
        ensure!(
            p.cpu == cpu
                && p.class == SchedClass::Deadline
                && p.is_queued()
                && p.dl.deadline == deadline
                && is_in_order
                && belongs(p),
            "{id:?} is queued on {cpu:?} with {deadline} behind {before:?}, but is {p:?}"
        );
        before = Some(deadline);
    }
    Ok(())
}
