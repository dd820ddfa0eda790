// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU selection for deadline tasks: the CPU of a woken task, and CPUs that would run a task at once.
//!
//! Models `select_task_rq_dl()` and `find_later_rq()` (6.1). The aim is that the deadline
//! tasks with the earliest deadlines of the whole machine run.

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::WakeFlags;
use crate::state::State;
use crate::state::task::SchedClass;
use crate::state::topology::{SchedDomains, SdFlags};
use crate::types::ids::{CpuId, TaskId};
use crate::types::tunables::Tunables;

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
        let is_too_slow =
            self.domains.dl_minds_capacity(&self.tunables) && !p.dl.fits_capacity(self.rqs[prev].cpu_capacity_orig);
        if !must_give_way && !is_too_slow {
            return prev;
        }
        match self.find_later_rq(ctx, task) {
            Some(target) if self.rqs[target].dl.would_be_earliest(&self.tasks[task].dl) => target,
            _ => prev,
        }
    }

    /// Finds a CPU on which a task might run at once.
    ///
    /// Rules, in order:
    /// 1. Candidates are those of [`find_later_cpus()`](crate::state::deadline::DlRoot::find_later_cpus); without one the result is `None`.
    /// 2. The task's own CPU.
    /// 3. In the narrowest domain with SD_WAKE_AFFINE that has a candidate: the executing CPU, otherwise a
    ///    different candidate each time.
    /// 4. The executing CPU, otherwise any candidate, a different one each time.
    pub(crate) fn find_later_rq(&mut self, ctx: &Ctx<'_>, task: TaskId) -> Option<CpuId> {
        let p = &self.tasks[task];
        let minds_capacity = self.domains.dl_minds_capacity(&self.tunables);
        if p.nr_cpus_allowed == 1 || !self.dl_root.find_later_cpus(p, &self.rqs, minds_capacity) {
            return None;
        }
        let (cpu, later) = (p.cpu, self.dl_root.later_mask());
        if later.contains(cpu) {
            return Some(cpu);
        }
        let this_cpu = Some(ctx.cpu).filter(|&this_cpu| later.contains(this_cpu));
        let nr_cpus = self.rqs.len();
        let this_rq = &mut self.rqs[ctx.cpu];
        let start = this_rq.distribution_start(nr_cpus);
        let last = &mut this_rq.distribute_prev;
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
}

impl SchedDomains {
    /// Whether CPU capacity matters for deadline tasks: not before 5.9 (tunable `dl_any_cpu`).
    fn dl_minds_capacity(&self, tunables: &Tunables) -> bool {
        self.asym_cpucapacity && !tunables.changes.dl_any_cpu
    }
}
