// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU selection for real-time tasks: the CPU of a woken task, and the CPU with the lowest priority.
//!
//! Models `select_task_rq_rt()`, `find_lowest_rq()` and `rt_task_fits_capacity()` (6.1).

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::WakeFlags;
use crate::state::State;
use crate::state::rq::Rq;
use crate::state::rt::RtRoot;
use crate::state::rt::cpupri::CpuLevel;
use crate::state::task::{SchedClass, Task, Uclamp};
use crate::state::topology::{SchedDomains, SdFlags};
use crate::types::ids::{CpuId, TaskId};
use crate::types::tunables::Tunables;
use crate::types::units::Capacity;

impl State {
    /// Selects a CPU for a real-time task that may use more than one.
    ///
    /// Rules, in order:
    /// 1. Except at a wake-up or fork, the task stays on the previous CPU.
    /// 2. It also stays if it can preempt the running task of that CPU, or need not, and the CPU has enough
    ///    capacity.
    /// 3. Otherwise it goes to a CPU of the lowest priority, if that is below the task's own. If capacity was
    ///    the only reason, that CPU must have enough.
    pub(crate) fn select_task_rq_rt(&mut self, ctx: &Ctx<'_>, task: TaskId, prev: CpuId, flags: WakeFlags) -> CpuId {
        if !flags.ttwu && !flags.fork {
            return prev;
        }
        // Since 6.12 a deadline task does not count here.
        let curr = &self.tasks[self.rqs[prev].curr];
        let counts = !self.rules.rt_task_excludes_dl || curr.class != SchedClass::Deadline;
        let is_blocked = counts && is_curr_in_the_way(curr, &self.tasks[task]);
        if !is_blocked && self.rt_task_fits_capacity(task, prev) {
            return prev;
        }
        let Some(target) = self.find_lowest_rq(ctx, task) else { return prev };
        if !is_blocked && !self.rt_task_fits_capacity(task, target) {
            return prev;
        }
        let has_lower = self.tasks[task].prio() < self.rqs[target].rt.highest_curr();
        if has_lower { target } else { prev }
    }

    /// Finds a CPU that runs at a lower priority than the task.
    ///
    /// Rules, in order:
    /// 1. A task that may use only one CPU stays. A task of an offline CPU has no candidates.
    /// 2. Candidates are the allowed CPUs of the lowest priority; with asymmetric capacities, only those with
    ///    enough capacity.
    /// 3. The task's own CPU is preferred, because its cache is warm.
    /// 4. Then the narrowest domain around that CPU that has a candidate: the executing CPU if it is one,
    ///    otherwise a different candidate each time.
    /// 5. Then the executing CPU, then any candidate, a different one each time.
    pub(crate) fn find_lowest_rq(&mut self, ctx: &Ctx<'_>, task: TaskId) -> Option<CpuId> {
        let p = &self.tasks[task];
        // The runqueue of a CPU that is offline is in a root domain without CPUs.
        if p.nr_cpus_allowed == 1 || !self.hotplug.active.contains(p.cpu) {
            return None;
        }
        let (level, prev) = (CpuLevel::from_prio(p.prio()), p.cpu);
        let minds_capacity = self.domains.rt_minds_capacity(&self.tunables);
        let clamps = self.uclamp_eff(task);
        let RtRoot { cpupri, lowest, .. } = &mut self.rt_root;
        let found = if minds_capacity {
            let rqs = &self.rqs;
            cpupri.find_fitting(level, &p.cpus_allowed, lowest, |cpu| fits(clamps, rqs[cpu].cpu_capacity_orig))
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
        let nr_cpus = self.rqs.len();
        let this_rq = &mut self.rqs[ctx.cpu];
        let start = this_rq.distribution_start(nr_cpus);
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
                this_rq.distribute_prev = cpu;
                return Some(cpu);
            }
        }
        if this_cpu.is_some() {
            return this_cpu;
        }
        let cpu = lowest.iter_wrap_from(start).next()?;
        this_rq.distribute_prev = cpu;
        Some(cpu)
    }

    /// Whether a CPU has the capacity that a real-time task requests. Always true if all capacities are
    /// equal.
    fn rt_task_fits_capacity(&self, task: TaskId, cpu: CpuId) -> bool {
        !self.domains.rt_minds_capacity(&self.tunables) || fits(self.uclamp_eff(task), self.rqs[cpu].cpu_capacity_orig)
    }
}

impl SchedDomains {
    /// Whether CPU capacity matters for real-time tasks: not before 5.6 (tunable `rt_any_cpu`).
    fn rt_minds_capacity(&self, tunables: &Tunables) -> bool {
        self.asym_cpucapacity && !tunables.changes.rt_any_cpu
    }
}

impl Rq {
    /// Returns the CPU at which a distributed search begins (`cpumask_any_distribute()`). The first search
    /// skips CPU 0.
    pub(crate) fn distribution_start(&self, nr_cpus: usize) -> CpuId {
        let next = CpuId(self.distribute_prev.0 + 1);
        if next.index() < nr_cpus { next } else { CpuId(0) }
    }
}

/// Whether the running task of a CPU has real-time priority or above and `p` cannot or should not displace it.
pub(crate) fn is_curr_in_the_way(curr: &Task, p: &Task) -> bool {
    curr.has_rt_prio() && (curr.nr_cpus_allowed < 2 || curr.prio() <= p.prio())
}

/// Whether a capacity is enough for a real-time task with these clamps.
fn fits(clamps: Uclamp, capacity: Capacity) -> bool {
    capacity >= Capacity::from(clamps.min.min(clamps.max))
}
