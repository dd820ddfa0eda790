// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of idle CPUs and of requests between CPUs.

use crate::check::{CheckResult, ensure};
use crate::interface::ctx::IpiKind;
use crate::paths::sched::Sched;
use crate::state::calls::CallFunction;
use crate::state::task::{SchedClass, TaskState};
use crate::types::ids::{CpuId, TaskId};

pub(crate) fn check(sched: &Sched) -> CheckResult {
    let mut nr_tickless = 0;
    for cpu in sched.cpu_ids() {
        let rq = &sched.rqs[cpu];
        let in_mask = sched.nohz.idle_cpus_mask.contains(cpu);
        ensure!(
            in_mask == rq.nohz_tick_stopped,
            "{cpu:?} is in the mask: {in_mask}, but nohz_tick_stopped is {}",
            rq.nohz_tick_stopped
        );
        nr_tickless += u32::from(in_mask);
        check_calls(sched, cpu)?;
        check_busy_count(sched, cpu)?;
    }
    let kept = sched.nohz.nr_cpus;
    ensure!(kept == nr_tickless, "nohz.nr_cpus is {kept}, but the number of CPUs in the mask is {nr_tickless}");
    check_wakeups(sched)
}

/// Checks that a CPU's flags agree with its call queue, and that an interrupt is on its way if the queue is
/// not empty.
fn check_calls(sched: &Sched, cpu: CpuId) -> CheckResult {
    let rq = &sched.rqs[cpu];
    let count = |call: fn(&CallFunction) -> bool| rq.call_queue.iter().filter(|other| call(other)).count();
    let nr_wakeups = count(|call| matches!(call, CallFunction::Wake(_)));
    let nr_hrticks = count(|call| matches!(call, CallFunction::HrtickStart));
    ensure!(
        rq.ttwu_pending == (nr_wakeups > 0),
        "the number of queued wake-ups of {cpu:?} is {nr_wakeups}, but ttwu_pending is {}",
        rq.ttwu_pending
    );
    ensure!(
        nr_hrticks == usize::from(rq.hrtick_csd_pending),
        "the number of queued slice timers of {cpu:?} is {nr_hrticks}, but hrtick_csd_pending is {}",
        rq.hrtick_csd_pending
    );
    ensure!(
        rq.call_queue.is_empty() || rq.ipi_pending[IpiKind::CallFunction as usize],
        "the call queue of {cpu:?} has {:?}, but no interrupt is on its way",
        rq.call_queue
    );
    Ok(())
}

/// Checks the number of busy CPUs of a last-level cache: the CPUs whose domain is not marked idle, and those
/// that were about to go offline when the domains were built.
///
/// The latter are in the weight with which the count begins, and are never marked idle.
fn check_busy_count(sched: &Sched, cpu: CpuId) -> CheckResult {
    let of_cpu = &sched.domains.cpus[cpu];
    let (Some(sd), Some(shared)) = (of_cpu.sd_llc, of_cpu.sd_llc_shared) else { return Ok(()) };
    if of_cpu.sd_llc_id != cpu {
        return Ok(());
    }
    let is_busy = |&cpu: &CpuId| {
        let llc = sched.domains.cpus[cpu].sd_llc.expect("all CPUs of a cache have its domain");
        !sched.domains.domains[llc].nohz_idle
    };
    let llc = &sched.domains.domains[sd];
    let nr_gone = llc.min_interval_ms.saturating_sub(llc.span_weight) as usize;
    let nr_busy = llc.span.iter().filter(is_busy).count() + nr_gone;
    let kept = sched.domains.shared[shared].nr_busy_cpus;
    ensure!(kept == nr_busy as i32, "nr_busy_cpus of the cache of {cpu:?} is {kept}, not {nr_busy}");
    Ok(())
}

/// Checks that a task whose wake-up is left to its CPU is in the call queue there, and that the idle task
/// never waits.
fn check_wakeups(sched: &Sched) -> CheckResult {
    for (index, task) in sched.tasks.iter().enumerate() {
        let id = TaskId::from_index(index);
        let queue = &sched.rqs[task.cpu].call_queue;
        let nr_queued = queue.iter().filter(|&&call| call == CallFunction::Wake(id)).count();
        let expected = usize::from(task.state == TaskState::Waking && !task.in_wakeup && !task.is_migrating());
        ensure!(
            nr_queued == expected,
            "{id:?} is {:?}, but its number of entries in the call queue is {nr_queued}",
            task.state
        );
        ensure!(
            task.class != SchedClass::Idle || task.state == TaskState::Running,
            "the idle task {id:?} is {:?}",
            task.state
        );
    }
    Ok(())
}
