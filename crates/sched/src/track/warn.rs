// SPDX-License-Identifier: GPL-2.0-or-later
//! Complaints of the scheduler about itself, for who switches them on: WARN_DOUBLE_CLOCK and LATENCY_WARN.
//!
//! Models the check in `update_rq_clock()` and `cpu_resched_latency()` (6.1). The kernel prints; here the probe hears of it.
//! Nothing else depends on it.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::interface::warning::Warning;
use crate::state::State;
use crate::types::features::Feature;
use crate::types::ids::CpuId;

impl State {
    /// The clock of a runqueue is being updated: with WARN_DOUBLE_CLOCK, complains if that is the second time under one lock.
    #[inline]
    pub(crate) fn check_double_clock(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if !self.features.has(Feature::WarnDoubleClock) {
            return;
        }
        let before = core::mem::replace(&mut self.rqs[cpu.index()].warn.clock_section, self.warn.lock_section);
        if before == self.warn.lock_section && before > 0 {
            ctx.report(Event::Warning { cpu, on: ctx.cpu, warning: Warning::DoubleClock });
        }
    }

    /// At the tick, with LATENCY_WARN: complains if the CPU should have rescheduled long ago.
    ///
    /// Rules, in order:
    /// 1. With `latency_warn_once`, one complaint is enough. With `latency_warn_ms` 0 there is none.
    /// 2. The first tick that sees a CPU that has to reschedule notes the time.
    /// 3. A later one complains if that is more than `latency_warn_ms` ago. `schedule()` makes it forgotten.
    pub(crate) fn check_resched_latency(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let limit_ms = self.tunables.latency_warn_ms;
        let is_done = self.tunables.latency_warn_once && self.warn.has_warned_latency;
        let rq = &mut self.rqs[cpu.index()];
        if !self.features.has(Feature::LatencyWarn) || is_done || limit_ms == 0 || !rq.need_resched {
            return;
        }
        if rq.warn.resched_seen_ns == 0 {
            (rq.warn.resched_seen_ns, rq.warn.ticks) = (rq.clock, 0);
            return;
        }
        rq.warn.ticks += 1;
        let (latency_ns, ticks) = (rq.clock - rq.warn.resched_seen_ns, rq.warn.ticks);
        if latency_ns > limit_ms * 1_000_000 {
            self.warn.has_warned_latency = true;
            let warning = Warning::ReschedLatency { latency_ns, ticks };
            ctx.report(Event::Warning { cpu, on: ctx.cpu, warning });
        }
    }

    /// `schedule()` has picked: the CPU does what it should.
    #[inline]
    pub(crate) fn clear_resched_latency(&mut self, cpu: CpuId) {
        self.rqs[cpu.index()].warn.resched_seen_ns = 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::ctx::Ctx;
    use crate::interface::probe::{Event, Probe};
    use crate::interface::warning::Warning;
    use crate::paths::sched::Sched;
    use crate::test_machine::{TestMachine, flat};
    use crate::types::features::Feature;
    use crate::types::ids::CpuId;
    use crate::types::units::Nanos;
    use std::vec::Vec;

    /// Keeps the complaints.
    #[derive(Default)]
    struct WarningLog(Vec<(u32, Warning)>);

    impl Probe for WarningLog {
        fn event(&mut self, _now: Nanos, event: &Event<'_>) {
            if let Event::Warning { cpu, warning, .. } = *event {
                self.0.push((cpu.0, warning));
            }
        }
    }

    fn heard(lab: &mut TestMachine, act: impl FnOnce(&mut Sched, &mut Ctx<'_>)) -> Vec<(u32, Warning)> {
        let mut heard = WarningLog::default();
        lab.on(0, |sched, ctx| {
            let (cpu, now, ahead) = (ctx.cpu, ctx.now, ctx.clock_offset);
            let (effects, work) = (&mut *ctx.effects, &mut *ctx.work);
            act(
                sched,
                &mut Ctx {
                    cpu,
                    now,
                    clock_offset: ahead,
                    self_timed: None,
                    effects,
                    probe: &mut heard,
                    work,
                    policy: None,
                },
            );
        });
        heard.0
    }

    #[test]
    fn a_clock_that_is_updated_twice_under_one_lock_is_complained_of() {
        let mut lab = flat(2);
        let twice = |sched: &mut Sched, ctx: &mut Ctx<'_>| {
            let rq = sched.rq_lock_clocked(ctx, CpuId(1));
            let _other = sched.rq_lock_second(ctx, &rq, CpuId(0));
            sched.update_rq_clock(ctx, &rq);
        };
        assert_eq!(heard(&mut lab, twice), [], "the feature is off");
        lab.sched.features_mut().set(Feature::WarnDoubleClock, true);
        assert_eq!(heard(&mut lab, twice), [(1, Warning::DoubleClock)]);
        let apart = |sched: &mut Sched, ctx: &mut Ctx<'_>| {
            for _ in 0..2 {
                let _rq = sched.rq_lock_clocked(ctx, CpuId(1));
            }
        };
        assert_eq!(heard(&mut lab, apart), []);
    }

    #[test]
    fn a_cpu_that_does_not_reschedule_is_complained_of_once_or_at_each_tick() {
        for (once, complaints) in [(true, 1), (false, 3)] {
            let mut lab = flat(2);
            lab.task(0, &[0]);
            lab.sched.features_mut().set(Feature::LatencyWarn, true);
            lab.sched.tunables.latency_warn_ms = 10;
            lab.sched.tunables.latency_warn_once = once;
            lab.sched.rqs[0].need_resched = true;
            let mut all = Vec::new();
            // Ticks at 4, 8, ...: seen at the first, 12 ms ago at the fourth.
            for _ in 0..6 {
                lab.wait_ms(4);
                lab.sched.rqs[0].need_resched = true;
                all.extend(heard(&mut lab, |sched, ctx| sched.handle_tick(ctx)));
            }
            assert_eq!(all.len(), complaints, "{all:?}");
            assert_eq!(all[0], (0, Warning::ReschedLatency { latency_ns: 12_000_000, ticks: 3 }));
            lab.on(0, |sched, ctx| sched.handle_reschedule(ctx));
            assert_eq!(lab.sched.rqs[0].warn.resched_seen_ns, 0);
        }
    }
}
