// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of runqueues and tasks: the CPU and state of each task, and the counts of the runqueues.

use crate::check::{CheckResult, ensure};
use crate::paths::sched::Sched;
use crate::state::rq::Rq;
use crate::state::stop_work::StopWork;
use crate::state::task::{OnRq, SchedClass, Task, TaskState};
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId, TaskId};

/// Counts and sums of a runqueue, recomputed from the tasks that are queued there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuRecount {
    nr_stop: u32,
    nr_rt: u32,
    nr_dl: u32,
    nr_fair: u32,
    util_est: u32,
    on_cpu: u32,
}

pub(crate) fn check(sched: &Sched, recounts: &mut alloc::vec::Vec<CpuRecount>) -> CheckResult {
    recounts.clear();
    recounts.resize(sched.rqs.len(), CpuRecount::default());
    for (index, task) in sched.tasks.iter().enumerate() {
        let id = TaskId::from_index(index);
        check_task(sched, id, task)?;
        count(sched, id, task, &mut recounts[task.cpu.index()]);
    }
    for (rq, recount) in sched.rqs.iter().zip(&*recounts) {
        check_rq(sched, rq, recount)?;
    }
    Ok(())
}

fn count(sched: &Sched, id: TaskId, task: &Task, recount: &mut CpuRecount) {
    recount.on_cpu += u32::from(task.on_cpu);
    if !task.is_queued() {
        return;
    }
    match task.class {
        SchedClass::Stop => recount.nr_stop += 1,
        SchedClass::RealTime => recount.nr_rt += 1,
        SchedClass::Fair => {
            recount.nr_fair += 1;
            // A task whose dequeue is delayed sleeps, and does not count.
            if !sched.fair.entities[task.se].is_delayed {
                recount.util_est = recount.util_est.wrapping_add(sched.entity(id).avg.util_est.estimate() as u32);
            }
        }
        // A throttled task is queued as a task, but not in the queue of its class.
        SchedClass::Deadline => recount.nr_dl += u32::from(task.dl.is_queued),
        // The idle task stands for the fair server.
        SchedClass::Idle => recount.nr_dl += u32::from(task.dl.is_queued),
    }
}

fn check_task(sched: &Sched, id: TaskId, task: &Task) -> CheckResult {
    let se = &sched.fair.entities[task.se];
    let cfs_rq = &sched.fair.cfs_rqs[se.cfs_rq];
    ensure!(se.task() == Some(id), "{id:?} has an entity of {:?}", se.owner);
    ensure!(
        (cfs_rq.cpu, cfs_rq.group) == (task.cpu, task.group),
        "{id:?} belongs to {:?}, {:?}, but its entity is on a cfs_rq of {:?}, {:?}",
        task.cpu,
        task.group,
        cfs_rq.cpu,
        cfs_rq.group
    );
    let is_on_its_way = task.on_rq == OnRq::Migrating && sched.is_between_runqueues(id);
    ensure!(task.on_rq != OnRq::Migrating || is_on_its_way, "{id:?} was left between two runqueues: {task:?}");
    let rq = &sched.rqs[task.cpu];
    ensure!(!task.on_cpu || rq.curr == id, "{id:?} is on_cpu, but {:?} runs on {:?}", rq.curr, task.cpu);
    if task.class == SchedClass::Idle {
        return Ok(());
    }
    ensure!(
        !task.is_queued() || task.reported_throttled_by == sched.state.fair.throttled_by(&sched.state.rqs, task),
        "{id:?} is throttled or not, and the last event says the opposite: {task:?}"
    );
    let is_fair_queued = task.is_queued() && task.class == SchedClass::Fair;
    ensure!(se.on_rq == is_fair_queued, "{id:?} is {:?}, but its entity has on_rq {}", task.on_rq, se.on_rq);
    let is_rt_queued = task.is_queued() && task.class == SchedClass::RealTime;
    ensure!(task.rt.on_rq == is_rt_queued, "{id:?} is {:?}, but has rt.on_rq {}", task.on_rq, task.rt.on_rq);
    ensure!(
        !task.dl.is_queued || (task.is_queued() && task.class == SchedClass::Deadline),
        "{id:?} is marked as a queued deadline task, but is {task:?}"
    );
    let is_delayed = sched.fair.entities[task.se].is_delayed;
    let is_left = sched.is_in_newidle(task.cpu);
    ensure!(!task.on_cpu || task.is_queued() || is_left, "{id:?} runs without being queued: {task:?}");
    ensure!(
        task.is_queued() == ((is_delayed || task.state == TaskState::Running && !task.in_wakeup) && !is_on_its_way),
        "{id:?} is {:?} and {:?} between two handlers",
        task.state,
        task.on_rq
    );
    let is_leaving = rq.callbacks.is_pushing() && rq.nr_running > 0;
    ensure!(
        // A throttled deadline task leaves when its timer expires.
        !task.is_queued() || sched.is_cpu_usable(id, task.cpu) || task.dl.is_throttled || is_leaving,
        "{id:?} is queued on {:?}, which is offline",
        task.cpu
    );
    check_affinity(rq, id, task)
}

/// Checks that a task is queued only where it may run, unless a stopper is to move it.
fn check_affinity(rq: &Rq, id: TaskId, task: &Task) -> CheckResult {
    let (nr_allowed, weight) = (task.nr_cpus_allowed as usize, task.cpus_allowed.weight());
    ensure!(nr_allowed == weight, "{id:?} may use {weight} CPUs, not {nr_allowed}");
    let is_moved = |work: &StopWork| matches!(*work, StopWork::Migrate { task, .. } if task == id);
    ensure!(
        !task.is_queued() || task.cpus_allowed.contains(task.cpu) || rq.stop_works.iter().any(is_moved),
        "{id:?} is queued on {:?}, which it may not use, and no stopper is to move it: {task:?}",
        task.cpu
    );
    Ok(())
}

fn check_rq(sched: &Sched, rq: &Rq, recount: &CpuRecount) -> CheckResult {
    let cpu = rq.cpu;
    let root = &sched.fair.cfs_rqs[CfsRqId::root(cpu)];
    ensure!(recount.on_cpu == 1, "{} tasks are on {cpu:?}", recount.on_cpu);
    ensure!(sched.tasks[rq.curr].cpu == cpu, "{:?} runs on {cpu:?}, but belongs to another CPU", rq.curr);
    let nr_running = root.h_nr_running + recount.nr_stop + rq.rt.nr_counted() + recount.nr_dl;
    ensure!(rq.nr_running == nr_running, "nr_running of {cpu:?} is {}, not {nr_running}: {recount:?}", rq.nr_running);
    ensure!(
        rq.rt.nr_running() == recount.nr_rt,
        "rt.nr_running() of {cpu:?} is {}, not {}",
        rq.rt.nr_running(),
        recount.nr_rt
    );
    if sched.features.has(Feature::UtilEst) {
        let kept = root.avg.util_est.enqueued;
        // 6.12 subtracts a task's estimate twice if the task leaves the class while its dequeue is delayed.
        let is_right = kept == recount.util_est || (sched.rules.delays_dequeue && kept < recount.util_est);
        ensure!(is_right, "{cpu:?} has estimated utilisation {kept}, but that of its tasks is {}", recount.util_est);
    }
    ensure!(
        rq.clock_task <= rq.clock && (!rq.clock_skip_active() || sched.is_in_newidle(cpu)),
        "{cpu:?} has clock {}, clock_task {} and skips updates: {}",
        rq.clock,
        rq.clock_task,
        rq.clock_skip_active()
    );
    check_task_list(sched, cpu, rq, recount)
}

/// Checks that the list of fair tasks contains each of them once.
fn check_task_list(sched: &Sched, cpu: CpuId, rq: &Rq, recount: &CpuRecount) -> CheckResult {
    let mut nr_listed = 0;
    for id in rq.cfs_tasks.iter_from_oldest(&sched.tasks).take(sched.tasks.len() + 1) {
        let task = &sched.tasks[id];
        ensure!(
            task.cpu == cpu && task.is_queued() && task.class == SchedClass::Fair,
            "{id:?} is in the list of {cpu:?}, but is {task:?}"
        );
        nr_listed += 1;
    }
    ensure!(
        nr_listed == recount.nr_fair,
        "the list of fair tasks of {cpu:?} has length {nr_listed}, not {}",
        recount.nr_fair
    );
    Ok(())
}
