// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a real-time task goes when it wakes, and which CPU runs at a lower priority.
//!
//! Models `select_task_rq_rt()`, `find_lowest_rq()` and `rt_task_fits_capacity()` (6.1).

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::WakeFlags;
use crate::state::State;
use crate::state::rt::RtRoot;
use crate::state::rt::cpupri::CpuLevel;
use crate::state::task::Uclamp;
use crate::state::topology::SdFlags;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::Capacity;

impl State {
    /// Selects a CPU for a real-time task that may use more than one.
    ///
    /// Rules, in order:
    /// 1. Only a wake-up or a fork looks further than the previous CPU.
    /// 2. It does so if what runs there is as important or cannot leave, or if the CPU is too small.
    /// 3. It goes to a CPU of the lowest priority, if that is below its own. If size was the only reason, then not to one
    ///    that is too small as well.
    pub(crate) fn select_task_rq_rt(&mut self, ctx: &Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        if !flags.ttwu && !flags.fork {
            return prev;
        }
        let is_blocked = self.is_curr_in_the_way(prev, task);
        if !is_blocked && self.rt_task_fits_capacity(task, prev) {
            return prev;
        }
        let Some(target) = self.find_lowest_rq(ctx, task) else { return prev };
        if !is_blocked && !self.rt_task_fits_capacity(task, target) {
            return prev;
        }
        let has_lower = self.tasks[task.index()].prio() < self.rqs[target.index()].rt.highest_curr;
        if has_lower { target } else { prev }
    }

    /// Whether the running task of a CPU is a real-time one (or above) that `task` cannot or should not drive away.
    pub(crate) fn is_curr_in_the_way(&self, cpu: CpuId, task: TaskId) -> bool {
        let curr = &self.tasks[self.rqs[cpu.index()].curr.index()];
        curr.has_rt_prio() && (curr.nr_cpus_allowed < 2 || curr.prio() <= self.tasks[task.index()].prio())
    }

    /// Finds a CPU that runs at a lower priority than a task.
    ///
    /// Rules, in order:
    /// 1. A task that may use one CPU only stays.
    /// 2. Candidates are the allowed CPUs of the lowest priority; where CPUs differ, those that are big enough.
    /// 3. The task's own CPU is best, because its cache is warm.
    /// 4. Then the narrowest domain around that CPU that has a candidate, and of it the CPU that executes this, or else
    ///    another one each time.
    /// 5. Then the CPU that executes this, then any, another one each time.
    pub(crate) fn find_lowest_rq(&mut self, ctx: &Ctx<'_>, task: TaskId) -> Option<CpuId> {
        let p = &self.tasks[task.index()];
        if p.nr_cpus_allowed == 1 {
            return None;
        }
        let (level, prev) = (CpuLevel::of_prio(p.prio()), p.cpu);
        let minds_capacity = self.rt_minds_capacity();
        let clamps = self.uclamp_eff(task);
        let RtRoot { cpupri, lowest, .. } = &mut self.rt_root;
        let found = if minds_capacity {
            let rqs = &self.rqs;
            cpupri.find_fitting(level, &p.cpus_allowed, lowest, |cpu| fits(clamps, rqs[cpu.index()].cpu_capacity_orig))
        } else {
            cpupri.find(level, &p.cpus_allowed, lowest)
        };
        if !found {
            return None;
        }
        if lowest.contains(prev) {
            return Some(prev);
        }
        let this_cpu = Some(ctx.cpu).filter(|&cpu| lowest.contains(cpu));
        let start = self.distribution_start(ctx.cpu);
        let lowest = &self.rt_root.lowest;
        for sd in self.domains.chain(prev) {
            let domain = &self.domains.domains[sd];
            if !domain.flags.contains(SdFlags::WAKE_AFFINE) {
                continue;
            }
            if let Some(cpu) = this_cpu.filter(|&cpu| domain.span.contains(cpu)) {
                return Some(cpu);
            }
            if let Some(cpu) = lowest.iter_and_wrap_from(&domain.span, start).next() {
                self.rqs[ctx.cpu.index()].distribute_prev = cpu;
                return Some(cpu);
            }
        }
        if this_cpu.is_some() {
            return this_cpu;
        }
        let cpu = lowest.iter_wrap_from(start).next()?;
        self.rqs[ctx.cpu.index()].distribute_prev = cpu;
        Some(cpu)
    }

    /// Where the search for another CPU each time begins: `cpumask_any_distribute()`. The first one skips CPU 0.
    pub(crate) fn distribution_start(&self, cpu: CpuId) -> CpuId {
        let next = CpuId(self.rqs[cpu.index()].distribute_prev.0 + 1);
        if next.index() < self.rqs.len() { next } else { CpuId(0) }
    }

    /// Whether it matters how big a CPU is: not before 5.6.
    fn rt_minds_capacity(&self) -> bool {
        self.domains.asym_cpucapacity && !self.tunables.changes.rt_any_cpu
    }

    /// Whether a CPU is big enough for what a real-time task asks for; each is where CPUs do not differ.
    fn rt_task_fits_capacity(&self, task: TaskId, cpu: CpuId) -> bool {
        !self.rt_minds_capacity() || fits(self.uclamp_eff(task), self.rqs[cpu.index()].cpu_capacity_orig)
    }
}

/// Whether a capacity is enough for a real-time task with these clamps.
fn fits(clamps: Uclamp, capacity: Capacity) -> bool {
    capacity >= Capacity::from(clamps.min.min(clamps.max))
}
