// SPDX-License-Identifier: GPL-2.0-or-later
//! The real-time class on CPUs that go offline and come back.
//!
//! Models `rq_offline_rt()`, `rq_online_rt()`, `__disable_runtime()` and `__enable_runtime()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::rt::cpupri::CpuLevel;
use crate::types::ids::CpuId;

impl State {
    /// Takes a runqueue offline. In 6.1 its tasks have no runtime limit from then on, so that they can leave.
    pub(crate) fn rt_rq_offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.rqs[cpu].rt.overloaded {
            self.rt_root.overload.set(cpu, false);
        }
        if self.rules.lifts_rt_throttling {
            return;
        }
        if self.tunables.rt_runtime_us >= 0 && !self.rqs[cpu].rt.unlimited {
            self.reclaim_lent_runtime(cpu);
        }
        let rt = &mut self.rqs[cpu].rt;
        (rt.unlimited, rt.throttled, rt.borrowed) = (true, false, 0);
        self.report_rt_throttling(ctx, cpu);
        if self.rqs[cpu].rt.nr_running > 0 {
            self.enqueue_top_rt_rq(ctx, cpu);
            self.resched_curr(ctx, cpu);
        }
    }

    /// Brings a runqueue back online, with its own runtime.
    pub(crate) fn rt_rq_online(&mut self, cpu: CpuId) {
        let rt = &mut self.rqs[cpu].rt;
        (rt.unlimited, rt.throttled, rt.borrowed, rt.rt_time) = (false, false, 0, 0);
        let (overloaded, highest) = (rt.overloaded, rt.highest_curr);
        if overloaded {
            self.rt_root.overload.set(cpu, true);
        }
        self.rt_root.cpupri.set(cpu, CpuLevel::from_prio(highest));
    }

    /// Reclaims lent runtime from any CPU that has some, or returns borrowed runtime.
    fn reclaim_lent_runtime(&mut self, cpu: CpuId) {
        let mut lent = -self.rqs[cpu].rt.borrowed;
        for other in self.cpu_ids() {
            let is_partner = other != cpu && self.domains.root.span.contains(other);
            if lent == 0 || !is_partner || self.rqs[other].rt.unlimited {
                continue;
            }
            let back = lent.min(self.rt_runtime(other) as i64);
            self.rqs[other].rt.borrowed -= back;
            lent -= back;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::golden::{CPU, GoldenTestMachine};
    use crate::types::series::KernelSeries;

    #[test]
    fn in_6_12_hotplug_has_no_runtime_limit_to_remove() {
        for (series, has_limit) in [(KernelSeries::V6_1, true), (KernelSeries::V6_12, false)] {
            let mut machine = GoldenTestMachine::new();
            machine.sched.set_series(series);
            machine.with(|sched, ctx| sched.rt_rq_offline(ctx, CPU));
            assert_eq!(machine.sched.rqs[CPU].rt.unlimited, has_limit, "{series}");
        }
    }
}
