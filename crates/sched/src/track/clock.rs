// SPDX-License-Identifier: GPL-2.0-or-later
//! Clocks of a runqueue.
//!
//! Models `update_rq_clock()`, `update_rq_clock_task()` and `rq_clock_skip_update()` (6.1), with WARN_DOUBLE_CLOCK. `clock` follows
//! the machine's clock, `clock_task` leaves out interrupt time and steal time, and the clock of load tracking
//! follows `clock_task` ([`crate::track::pelt::clock`]).

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::interface::warning::Warning;
use crate::state::State;
use crate::state::lock::RqGuard;
use crate::types::features::Feature;

impl State {
    /// Updates the clocks of a runqueue, unless `schedule()` was asked to skip the update.
    pub(crate) fn update_rq_clock(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard) {
        let cpu = rq.cpu();
        // Code that updates the clock then changes the runqueue.
        ctx.op_counts.touch_write(cpu);
        let rq = &mut self.rqs[cpu];
        if rq.clock_skip_active() {
            return;
        }
        if self.features.has(Feature::WarnDoubleClock) && rq.warn.is_second_update(self.warn.lock_section()) {
            ctx.report(Event::Warning { cpu, on: ctx.cpu, warning: Warning::DoubleClock });
        }
        let Some(delta) = ctx.sched_clock().checked_sub(rq.clock) else { return };
        // A second update at the same instant changes nothing, except that steal time is dropped.
        if delta == 0 && !rq.is_idle_task_running() && rq.steal_time == rq.prev_steal_time {
            return;
        }
        rq.clock += delta;
        let irq_delta = (rq.irq_time - rq.prev_irq_time).min(delta);
        rq.prev_irq_time += irq_delta;
        // Steal time that does not fit into the rest is dropped, unlike interrupt time, which is kept for
        // later.
        let stolen = (rq.steal_time - rq.prev_steal_time).min(delta - irq_delta);
        rq.prev_steal_time = rq.steal_time;
        let lost = irq_delta + stolen;
        rq.clock_task += delta - lost;
        if lost > 0 && self.features.has(Feature::NontaskCapacity) {
            self.rqs[cpu].update_irq_load_avg(ctx, &self.tunables, lost);
        }
        self.rqs[cpu].advance_clock_pelt(ctx, self.tunables.pelt_scaling, delta - lost);
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::ctx::Ctx;
    use crate::interface::probe::NoSchedObserver;
    use crate::paths::sched::{Sched, SchedConfig};
    use crate::state::topology::{CpuPlace, MachineTopology, TopologyLevel};
    use crate::types::ids::CpuId;
    use crate::types::series::KernelSeries;
    use crate::types::units::Nanos;
    use crate::types::work::OpCounts;
    use alloc::vec;
    use alloc::vec::Vec;

    const CPU: CpuId = CpuId(0);
    const MS: u64 = 1_000_000;

    /// Returns the task clock `ms` after the start of the test, relative to that start.
    fn clock_task_at(sched: &mut Sched, ms: u64) -> u64 {
        let ctx = &mut Ctx {
            cpu: CPU,
            now: Nanos(1_000 * MS + ms * MS),
            clock_offset: Nanos::ZERO,
            self_timed: None,
            effects: &mut Vec::new(),
            observer: &mut NoSchedObserver,
            wants_accounting: false,
            wants_lags: false,
            op_counts: &mut OpCounts::default(),
            policy: None,
        };
        let _rq = sched.rq_lock_clocked(ctx, CPU);
        sched.rqs[CPU].clock_task - 1_000 * MS
    }

    fn sched() -> Sched {
        let topology = MachineTopology {
            cpus: vec![CpuPlace { core: 0, cluster: 0, llc: 0, package: 0, node: 0 }],
            capacity: vec![1024],
            levels: vec![TopologyLevel::All],
            distances: vec![vec![10]],
        };
        let mut sched = Sched::new(SchedConfig { topology, tick_ns: 4 * MS, jiffies: 250, series: KernelSeries::V6_1 })
            .expect("a machine");
        assert_eq!(clock_task_at(&mut sched, 0), 0);
        sched
    }

    #[test]
    fn stolen_time_is_no_task_time() {
        let mut sched = sched();
        sched.handle_steal_time(CPU, Nanos(3 * MS));
        assert_eq!(clock_task_at(&mut sched, 10), 7 * MS);
        assert_eq!(clock_task_at(&mut sched, 20), 17 * MS);
        assert!(sched.rqs[CPU].avg_irq.util_avg > 0, "it counts as interrupts do");
    }

    #[test]
    fn interrupt_time_that_does_not_fit_waits_and_stolen_time_is_dropped() {
        let mut sched = sched();
        sched.handle_irq_time(CPU, Nanos(3 * MS));
        assert_eq!([1, 2, 3, 4].map(|ms| clock_task_at(&mut sched, ms)), [0, 0, 0, MS]);
        sched.handle_steal_time(CPU, Nanos(3 * MS));
        assert_eq!([5, 6, 7].map(|ms| clock_task_at(&mut sched, ms)), [MS, 2 * MS, 3 * MS]);
    }

    #[test]
    fn interrupts_come_first_and_what_they_leave_may_be_stolen() {
        let mut sched = sched();
        sched.handle_irq_time(CPU, Nanos(6 * MS));
        sched.handle_steal_time(CPU, Nanos(6 * MS));
        assert_eq!(clock_task_at(&mut sched, 10), 0);
        assert_eq!(clock_task_at(&mut sched, 12), 2 * MS);
    }
}
