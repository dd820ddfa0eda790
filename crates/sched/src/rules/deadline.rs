// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a deadline task wakes up, and which CPU would run it at once.
//!
//! Models `select_task_rq_dl()`, `find_later_rq()` and `cpudl_find()` (6.1). The aim is that, of all deadline tasks of the machine,
//! those with the earliest deadlines run.

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::WakeFlags;
use crate::state::State;
use crate::state::deadline::entity::time_before;
use crate::state::task::SchedClass;
use crate::state::topology::SdFlags;
use crate::types::ids::{CpuId, TaskId};

/// The first of some CPUs, which is remembered: `cpumask_any_and_distribute()`.
pub(crate) fn next_distributed(mut cpus: impl Iterator<Item = CpuId>, last: &mut CpuId) -> Option<CpuId> {
    let cpu = cpus.next()?;
    *last = cpu;
    Some(cpu)
}

impl State {
    /// Where a woken task is to run.
    ///
    /// Rules: where it was, unless a deadline task runs there that cannot leave or has no later deadline, or the CPU is too
    /// slow for its density. Then another CPU, if it would have the earliest deadline there.
    pub(crate) fn select_task_rq_dl(&mut self, ctx: &Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        if !flags.ttwu {
            return prev;
        }
        let (p, curr) = (&self.tasks[task.index()], &self.tasks[self.rqs[prev.index()].curr.index()]);
        let must_give_way = curr.class == SchedClass::Deadline
            && (curr.nr_cpus_allowed < 2 || !p.dl.preempts(&curr.dl))
            && p.nr_cpus_allowed > 1;
        let is_too_slow = self.dl_minds_capacity() && !p.dl.fits_capacity(self.rqs[prev.index()].cpu_capacity_orig);
        if !must_give_way && !is_too_slow {
            return prev;
        }
        match self.find_later_rq(ctx, task) {
            Some(target) if self.would_be_earliest(task, target) => target,
            _ => prev,
        }
    }

    /// A CPU that a task might run on at once.
    ///
    /// Rules, in order:
    /// 1. No CPU without deadline tasks and none with a later deadline: none.
    /// 2. Where it was.
    /// 3. In the narrowest domain that allows affine wake-ups and has one: this CPU, or else one of them, each time another.
    /// 4. This CPU, or else any, each time another.
    pub(crate) fn find_later_rq(&mut self, ctx: &Ctx<'_>, task: TaskId) -> Option<CpuId> {
        let p = &self.tasks[task.index()];
        if p.nr_cpus_allowed == 1 || !self.find_later_cpus(task) {
            return None;
        }
        let cpu = self.tasks[task.index()].cpu;
        let later = &self.dl_root.later_mask;
        if later.contains(cpu) {
            return Some(cpu);
        }
        let this_cpu = Some(ctx.cpu).filter(|&this_cpu| later.contains(this_cpu));
        let start = self.distribution_start(ctx.cpu);
        let later = &self.dl_root.later_mask;
        let last = &mut self.rqs[ctx.cpu.index()].distribute_prev;
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

    /// Fills the mask of CPUs that a task might run on at once: `cpudl_find()`. Returns whether there are any.
    ///
    /// Rules, in order:
    /// 1. Those without deadline tasks; if CPUs differ in capacity only those that are fast enough, or else the fastest,
    ///    and where it was rather than another as fast.
    /// 2. The one with the latest deadline, if that is later than the task's.
    pub(crate) fn find_later_cpus(&mut self, task: TaskId) -> bool {
        let minds_capacity = self.dl_minds_capacity();
        let p = &self.tasks[task.index()];
        let root = &mut self.dl_root;
        let cpudl = if self.rqs[p.cpu.index()].online { &root.cpudl } else { &root.default_cpudl };
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
                let capacity = self.rqs[cpu.index()].cpu_capacity_orig;
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

    /// Whether it matters how fast a CPU is: not before 5.9.
    fn dl_minds_capacity(&self) -> bool {
        self.domains.asym_cpucapacity && !self.tunables.changes.dl_any_cpu
    }

    /// Whether a task would have the earliest deadline of a CPU: `dl_task_is_earliest_deadline()`.
    pub(crate) fn would_be_earliest(&self, task: TaskId, cpu: CpuId) -> bool {
        let dl = &self.rqs[cpu.index()].dl;
        dl.nr_running == 0 || time_before(self.tasks[task.index()].dl.deadline, dl.earliest_curr)
    }
}
