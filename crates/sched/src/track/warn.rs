// SPDX-License-Identifier: GPL-2.0-or-later
//! Warnings of the scheduler about itself, if they are enabled: LATENCY_WARN.
//!
//! Models `cpu_resched_latency()` (6.1); [`crate::track::clock`] has the check of clock updates. The kernel prints;
//! here the observer receives an event. Nothing else depends on it.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::interface::warning::Warning;
use crate::state::rq::Rq;
use crate::state::warn::WarnState;
use crate::types::tunables::Tunables;

impl Rq {
    /// Reports at the tick, with LATENCY_WARN, that the CPU should have rescheduled long ago.
    ///
    /// Rules, in order:
    /// 1. With `latency_warn_once` there is at most one warning. With `latency_warn_ms` 0 there is none.
    /// 2. The first tick that sees a CPU which has to reschedule records the time.
    /// 3. A later tick reports if that is more than `latency_warn_ms` ago. `schedule()` clears the record.
    pub(crate) fn check_resched_latency(&mut self, ctx: &mut Ctx<'_>, tunables: &Tunables, warn: &mut WarnState) {
        let limit_ms = tunables.latency_warn_ms;
        let is_done = tunables.latency_warn_once && warn.has_warned_latency;
        if is_done || limit_ms == 0 || !self.need_resched {
            return;
        }
        let Some((latency_ns, ticks)) = self.warn.see_resched(self.clock) else { return };
        if latency_ns > limit_ms * 1_000_000 {
            warn.has_warned_latency = true;
            let warning = Warning::ReschedLatency { latency_ns, ticks };
            ctx.report(Event::Warning { cpu: self.cpu, on: ctx.cpu, warning });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::ctx::Ctx;
    use crate::interface::probe::{Event, SchedObserver};
    use crate::interface::warning::Warning;
    use crate::paths::sched::Sched;
    use crate::test_machine::{TestMachine, flat};
    use crate::types::features::Feature;
    use crate::types::ids::CpuId;
    use crate::types::units::Nanos;
    use std::vec::Vec;

    /// Observer that keeps the warnings.
    #[derive(Default)]
    struct WarningLog(Vec<(u32, Warning)>);

    impl SchedObserver for WarningLog {
        fn event(&mut self, _now: Nanos, event: &Event<'_>) {
            if let Event::Warning { cpu, warning, .. } = *event {
                self.0.push((cpu.0, warning));
            }
        }
    }

    fn collect_warnings(machine: &mut TestMachine, act: impl FnOnce(&mut Sched, &mut Ctx<'_>)) -> Vec<(u32, Warning)> {
        let mut heard = WarningLog::default();
        machine.on(0, |sched, ctx| {
            let (cpu, now, ahead) = (ctx.cpu, ctx.now, ctx.clock_offset);
            let (effects, work) = (&mut *ctx.effects, &mut *ctx.op_counts);
            act(
                sched,
                &mut Ctx {
                    cpu,
                    now,
                    clock_offset: ahead,
                    self_timed: None,
                    effects,
                    observer: &mut heard,
                    wants_accounting: false,
                    wants_lags: false,
                    op_counts: work,
                    policy: None,
                },
            );
        });
        heard.0
    }

    #[test]
    fn a_clock_that_is_updated_twice_under_one_lock_is_complained_of() {
        let mut machine = flat(2);
        let twice = |sched: &mut Sched, ctx: &mut Ctx<'_>| {
            let rq = sched.rq_lock_clocked(ctx, CpuId(1));
            let _other = sched.rq_lock_second(ctx, &rq, CpuId(0));
            sched.update_rq_clock(ctx, &rq);
        };
        assert_eq!(collect_warnings(&mut machine, twice), [], "the feature is off");
        machine.sched.features_mut().set(Feature::WarnDoubleClock, true);
        assert_eq!(collect_warnings(&mut machine, twice), [(1, Warning::DoubleClock)]);
        let apart = |sched: &mut Sched, ctx: &mut Ctx<'_>| {
            for _ in 0..2 {
                let _rq = sched.rq_lock_clocked(ctx, CpuId(1));
            }
        };
        assert_eq!(collect_warnings(&mut machine, apart), []);
    }

    #[test]
    fn a_cpu_that_does_not_reschedule_is_complained_of_once_or_at_each_tick() {
        for (once, complaints) in [(true, 1), (false, 3)] {
            let mut machine = flat(2);
            machine.task(0, &[0]);
            machine.sched.features_mut().set(Feature::LatencyWarn, true);
            machine.sched.tunables.latency_warn_ms = 10;
            machine.sched.tunables.latency_warn_once = once;
            machine.sched.rqs[CpuId(0)].need_resched = true;
            let mut all = Vec::new();
            // Ticks at 4, 8, ... ms: the first one sees it, the fourth one sees it for 12 ms.
            for _ in 0..6 {
                machine.wait_ms(4);
                machine.sched.rqs[CpuId(0)].need_resched = true;
                all.extend(collect_warnings(&mut machine, |sched, ctx| sched.handle_tick(ctx)));
            }
            assert_eq!(all.len(), complaints, "{all:?}");
            assert_eq!(all[0], (0, Warning::ReschedLatency { latency_ns: 12_000_000, ticks: 3 }));
            machine.on(0, |sched, ctx| sched.handle_reschedule(ctx));
            assert_eq!(machine.sched.rqs[CpuId(0)].warn.see_resched(1), None);
        }
    }
}
