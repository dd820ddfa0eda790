// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of idleness and of what CPUs ask of each other.

use crate::check::{Checked, ensure};
use crate::interface::ctx::IpiKind;
use crate::paths::sched::Sched;
use crate::state::calls::CallFunction;
use crate::state::task::{SchedClass, TaskState};
use crate::types::ids::{CpuId, TaskId};

pub(crate) fn check(sched: &Sched) -> Checked {
    let mut nr_tickless = 0;
    for cpu in sched.cpu_ids() {
        let rq = &sched.rqs[cpu.index()];
        let in_mask = sched.nohz.idle_cpus_mask.contains(cpu);
        ensure!(in_mask == rq.nohz_tick_stopped, "{cpu:?} is in the mask: {in_mask}, marked: {}", rq.nohz_tick_stopped);
        nr_tickless += u32::from(in_mask);
        check_calls(sched, cpu)?;
        check_busy_count(sched, cpu)?;
    }
    let kept = sched.nohz.nr_cpus;
    ensure!(kept == nr_tickless, "{kept} CPUs are counted as tickless, {nr_tickless} are in the mask");
    check_wakeups(sched)
}

/// The marks of a CPU agree with what is in its queue, and something in the queue means that an interrupt is under way.
fn check_calls(sched: &Sched, cpu: CpuId) -> Checked {
    let rq = &sched.rqs[cpu.index()];
    let count = |call: fn(&CallFunction) -> bool| rq.call_queue.iter().filter(|other| call(other)).count();
    let nr_wakeups = count(|call| matches!(call, CallFunction::Wake(_)));
    let nr_hrticks = count(|call| matches!(call, CallFunction::HrtickStart));
    ensure!(
        rq.ttwu_pending == (nr_wakeups > 0),
        "{cpu:?} has {nr_wakeups} queued wake-ups and ttwu_pending {}",
        rq.ttwu_pending
    );
    ensure!(
        nr_hrticks == usize::from(rq.hrtick_csd_pending),
        "{cpu:?} has {nr_hrticks} queued slice timers and hrtick_csd_pending {}",
        rq.hrtick_csd_pending
    );
    ensure!(
        rq.call_queue.is_empty() || rq.ipi_pending[IpiKind::CallFunction as usize],
        "{cpu:?} has been asked for {:?}, but no interrupt is under way",
        rq.call_queue
    );
    Ok(())
}

/// A last-level cache counts as busy the CPUs whose domain says so, and those that were about to go offline when the domains were built: they are in the
/// weight with which the count begins, and never say that they idle.
fn check_busy_count(sched: &Sched, cpu: CpuId) -> Checked {
    let of_cpu = &sched.domains.cpus[cpu.index()];
    let (Some(sd), Some(shared)) = (of_cpu.sd_llc, of_cpu.sd_llc_shared) else { return Ok(()) };
    if of_cpu.sd_llc_id != cpu {
        return Ok(());
    }
    let is_busy = |&cpu: &CpuId| {
        let llc = sched.domains.cpus[cpu.index()].sd_llc.expect("all CPUs of a cache have its domain");
        !sched.domains.domains[llc].nohz_idle
    };
    let llc = &sched.domains.domains[sd];
    let nr_gone = llc.min_interval_ms.saturating_sub(llc.span_weight) as usize;
    let nr_busy = llc.span.iter().filter(is_busy).count() + nr_gone;
    let kept = sched.domains.shared[shared].nr_busy_cpus;
    ensure!(kept == nr_busy as i32, "the cache of {cpu:?} counts {kept} busy CPUs, {nr_busy} say so");
    Ok(())
}

/// A task whose wake-up was left to its CPU is in the queue there; the idle task never waits.
fn check_wakeups(sched: &Sched) -> Checked {
    for (index, task) in sched.tasks.iter().enumerate() {
        let id = TaskId::from_index(index);
        let queue = &sched.rqs[task.cpu.index()].call_queue;
        let nr_queued = queue.iter().filter(|&&call| call == CallFunction::Wake(id)).count();
        let expected = usize::from(task.state == TaskState::Waking && !task.in_wakeup);
        ensure!(nr_queued == expected, "{id:?} is {:?} and {nr_queued} times in its CPU's queue", task.state);
        ensure!(
            task.class != SchedClass::Idle || task.state == TaskState::Running,
            "the idle task {id:?} is {:?}",
            task.state
        );
    }
    Ok(())
}
