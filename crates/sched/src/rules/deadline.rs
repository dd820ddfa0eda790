// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU selection for deadline tasks: the CPU of a woken task, and CPUs that would run a task at once.
//!
//! Models `select_task_rq_dl()`, `find_later_rq()` and `cpudl_find()` (6.1). The aim is that the deadline
//! tasks with the earliest deadlines of the whole machine run.

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::WakeFlags;
use crate::state::State;
use crate::state::deadline::entity::time_before;
use crate::state::task::SchedClass;
use crate::state::topology::SdFlags;
use crate::types::ids::{CpuId, TaskId};

/// Returns the first of `cpus` and stores it in `last` (`cpumask_any_and_distribute()`).
pub(crate) fn next_distributed(mut cpus: impl Iterator<Item = CpuId>, last: &mut CpuId) -> Option<CpuId> {
    let cpu = cpus.next()?;
    *last = cpu;
    Some(cpu)
}

impl State {
    /// Selects a CPU for a woken deadline task.
    ///
    /// Rules, in order:
    /// 1. The task stays on the previous CPU, unless the running task there is a deadline task that cannot
    ///    move or has no later deadline, or the CPU's capacity is too low for the task's density.
    /// 2. Otherwise it goes to another CPU if it would have the earliest deadline there.
    pub(crate) fn select_task_rq_dl(&mut self, ctx: &Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        if !flags.ttwu {
            return prev;
        }
        let (p, curr) = (&self.tasks[task], &self.tasks[self.rqs[prev].curr]);
        let must_give_way = curr.class == SchedClass::Deadline
            && (curr.nr_cpus_allowed < 2 || !p.dl.preempts(&curr.dl))
            && p.nr_cpus_allowed > 1;
        let is_too_slow = self.dl_minds_capacity() && !p.dl.fits_capacity(self.rqs[prev].cpu_capacity_orig);
        if !must_give_way && !is_too_slow {
            return prev;
        }
        match self.find_later_rq(ctx, task) {
            Some(target) if self.would_be_earliest(task, target) => target,
            _ => prev,
        }
    }

    /// Finds a CPU on which a task might run at once.
    ///
    /// Rules, in order:
    /// 1. Candidates are those of [`State::find_later_cpus`]; without one the result is `None`.
    /// 2. The task's own CPU.
    /// 3. In the narrowest domain with SD_WAKE_AFFINE that has a candidate: the executing CPU, otherwise a
    ///    different candidate each time.
    /// 4. The executing CPU, otherwise any candidate, a different one each time.
    pub(crate) fn find_later_rq(&mut self, ctx: &Ctx<'_>, task: TaskId) -> Option<CpuId> {
        let p = &self.tasks[task];
        if p.nr_cpus_allowed == 1 || !self.find_later_cpus(task) {
            return None;
        }
        let cpu = self.tasks[task].cpu;
        let later = &self.dl_root.later_mask;
        if later.contains(cpu) {
            return Some(cpu);
        }
        let this_cpu = Some(ctx.cpu).filter(|&this_cpu| later.contains(this_cpu));
        let start = self.distribution_start(ctx.cpu);
        let later = &self.dl_root.later_mask;
        let last = &mut self.rqs[ctx.cpu].distribute_prev;
        for sd in self.domains.chain(cpu) {
            let sd = &self.domains.domains[sd];
            if !sd.flags.contains(SdFlags::WAKE_AFFINE) {
                continue;
            }
            if let Some(this_cpu) = this_cpu.filter(|&this_cpu| sd.span.contains(this_cpu)) {
                return Some(this_cpu);
            }
            if let Some(best) = next_distributed(later.iter_and_wrap_from(&sd.span, start), last) {
                return Some(best);
            }
        }
        this_cpu.or_else(|| next_distributed(later.iter_wrap_from(start), last))
    }

    /// Fills the mask of CPUs on which a task might run at once (`cpudl_find()`). Returns whether there are
    /// any.
    ///
    /// Rules, in order:
    /// 1. CPUs without deadline tasks. With asymmetric capacities only those with enough capacity; if none
    ///    has, the one with the most. Among equals the task's own CPU wins.
    /// 2. The CPU with the latest deadline, if that is later than the task's.
    pub(crate) fn find_later_cpus(&mut self, task: TaskId) -> bool {
        let minds_capacity = self.dl_minds_capacity();
        let p = &self.tasks[task];
        let root = &mut self.dl_root;
        let cpudl = if self.rqs[p.cpu].online { &root.cpudl } else { &root.default_cpudl };
        root.later_mask.assign_and(cpudl.free_cpus(), &p.cpus_allowed);
        if root.later_mask.is_empty() {
            let (deadline, cpu) = cpudl.latest();
            let is_later = p.cpus_allowed.contains(cpu) && time_before(p.dl.deadline, deadline);
            if is_later {
                root.later_mask.set(cpu);
            }
            return is_later;
        }
        if minds_capacity {
            let mut fastest: Option<(u64, CpuId)> = None;
            for cpu in (0..self.rqs.len()).map(CpuId::from_index) {
                let capacity = self.rqs[cpu].cpu_capacity_orig;
                if !root.later_mask.contains(cpu) || p.dl.fits_capacity(capacity) {
                    continue;
                }
                root.later_mask.clear(cpu);
                let most = fastest.map_or(0, |(capacity, _)| capacity);
                if capacity > most || (cpu == p.cpu && capacity == most) {
                    fastest = Some((capacity, cpu));
                }
            }
            if let Some((_, cpu)) = fastest.filter(|_| root.later_mask.is_empty()) {
                root.later_mask.set(cpu);
            }
        }
        true
    }

    /// Whether CPU capacity matters for deadline tasks: not before 5.9 (tunable `dl_any_cpu`).
    fn dl_minds_capacity(&self) -> bool {
        self.domains.asym_cpucapacity && !self.tunables.changes.dl_any_cpu
    }

    /// Whether a task would have the earliest deadline on a CPU (`dl_task_is_earliest_deadline()`).
    pub(crate) fn would_be_earliest(&self, task: TaskId, cpu: CpuId) -> bool {
        let dl = &self.rqs[cpu].dl;
        dl.nr_running == 0 || time_before(self.tasks[task].dl.deadline, dl.earliest_curr)
    }
}
