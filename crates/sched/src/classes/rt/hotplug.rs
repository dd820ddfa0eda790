// SPDX-License-Identifier: GPL-2.0-or-later
//! The real-time class on CPUs that go offline.
//!
//! Models `rq_offline_rt()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::rt::rq::reclaim_lent_runtime;
use crate::types::ids::CpuId;

impl State {
    /// Takes a runqueue offline. In 6.1 its tasks have no runtime limit from then on, so that they can leave.
    pub(crate) fn rt_rq_offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let Self { rqs, rt_root, domains, tunables, .. } = self;
        if rqs[cpu].rt.overloaded() {
            rt_root.overload.set(cpu, false);
        }
        if self.rules.lifts_rt_throttling {
            return;
        }
        if tunables.rt_runtime_us >= 0 {
            reclaim_lent_runtime(rqs, cpu, &domains.root.span, tunables);
        }
        rqs[cpu].rt.remove_limit();
        self.report_rt_throttling(ctx, cpu);
        if self.rqs[cpu].rt.nr_running() > 0 {
            self.enqueue_top_rt_rq(ctx, cpu);
            self.resched_curr(ctx, cpu);
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
            let runtime = machine.sched.rqs[CPU].rt.runtime(&machine.sched.tunables);
            assert_eq!(runtime == u64::MAX, has_limit, "{series}");
        }
    }
}
