// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPUs are overloaded with real-time tasks, and how they are asked to push (feature RT_PUSH_IPI).
//!
//! Models `rt_set_overload()`, `rt_clear_overload()`, `tell_cpu_to_push()`, `rto_next_cpu()` and
//! `rto_push_irq_work_func()` (6.1).

use crate::check::{Checked, ensure};
use crate::cpumask::CpuMask;
use crate::ctx::Ctx;
use crate::ids::CpuId;
use crate::ipi::CallFunction;
use crate::sched::Sched;

/// CPUs with real-time tasks that others could run, and the round of requests to push.
#[derive(Clone, Debug)]
pub(crate) struct RtOverload {
    /// `rto_mask`.
    cpus: CpuMask,
    /// `rto_count`.
    count: u32,
    /// The CPU that is asked now: `rto_cpu`. One request at a time is under way.
    asked: Option<CpuId>,
    /// How often somebody wanted to pull: `rto_loop_next`.
    nr_wanted: u32,
    /// How many of those the present round serves: `rto_loop`.
    nr_served: u32,
}

impl RtOverload {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self { cpus: CpuMask::new(nr_cpus), count: 0, asked: None, nr_wanted: 0, nr_served: 0 }
    }

    pub(super) fn set(&mut self, cpu: CpuId, overloaded: bool) {
        if overloaded {
            self.cpus.set(cpu);
            self.count += 1;
        } else {
            self.count -= 1;
            self.cpus.clear(cpu);
        }
    }

    /// Whether a CPU other than this one is overloaded.
    pub(super) fn has_other(&self, cpu: CpuId) -> bool {
        self.count > u32::from(self.cpus.contains(cpu))
    }

    pub(super) fn cpus(&self) -> &CpuMask {
        &self.cpus
    }

    /// The number of overloaded CPUs is that of those marked.
    pub(super) fn check(&self) -> Checked {
        let marked = self.cpus.weight();
        ensure!(
            self.count as usize == marked,
            "{} CPUs are overloaded with real-time tasks, marked {marked}",
            self.count
        );
        Ok(())
    }

    /// The next CPU to ask, in ascending order; again from the first if somebody wanted to pull since the round began.
    fn next(&mut self, this_cpu: CpuId) -> Option<CpuId> {
        loop {
            let start = self.asked.map_or(CpuId(0), |cpu| CpuId(cpu.0 + 1));
            self.asked = self.cpus.next_from(start);
            match self.asked {
                Some(cpu) if cpu == this_cpu => {}
                Some(_) => return self.asked,
                None if self.nr_served == self.nr_wanted => return None,
                None => self.nr_served = self.nr_wanted,
            }
        }
    }
}

impl Sched {
    /// Asks the first overloaded CPU to push, unless a round of requests is under way: that will go on.
    pub(super) fn tell_cpu_to_push(&mut self, ctx: &mut Ctx<'_>) {
        let overload = &mut self.rt_root.overload;
        overload.nr_wanted = overload.nr_wanted.wrapping_add(1);
        if overload.asked.is_none()
            && let Some(cpu) = overload.next(ctx.cpu)
        {
            self.queue_call(ctx, cpu, CallFunction::RtPush);
        }
    }

    /// The CPU that executes this pushes its waiting tasks and asks the next one.
    pub(crate) fn rto_push_irq_work(&mut self, ctx: &mut Ctx<'_>) {
        self.push_if_waiting(ctx);
        if let Some(cpu) = self.rt_root.overload.next(ctx.cpu) {
            self.queue_call(ctx, cpu, CallFunction::RtPush);
        }
    }
}
