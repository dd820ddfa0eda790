// SPDX-License-Identifier: GPL-2.0-or-later
//! The only way into the scheduler's handlers.

use crate::engine::Engine;
use crate::interface::observation::KernelPath;
use crate::observer::Observer;
use crate::state::{CountingObserver, Machine};
use fairlab_sched::ctx::Ctx;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;

impl<E: Engine> Machine<E> {
    /// Calls the scheduler on a CPU and applies its effects. The call takes time if a cost model is set.
    #[inline]
    pub(crate) fn enter<R>(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        path: KernelPath,
        act: impl FnOnce(&mut E, &mut Ctx<'_>) -> R,
    ) -> R {
        let mut tap = CountingObserver {
            digest: &mut self.digest,
            counters: &mut self.counters,
            observer,
            interest: self.interest,
        };
        let mut ctx = Ctx {
            cpu,
            now: self.now,
            clock_offset: self.clock_offset,
            self_timed: Some((KernelOp::NewidlePass, self.hardware.newidle_cost)),
            effects: &mut self.effects,
            observer: &mut tap,
            wants_accounting: self.interest.accounting,
            wants_lags: self.interest.lags,
            op_counts: &mut self.op_counts,
            policy: self.policy_slot.as_mut(),
        };
        let result = act(&mut self.sched, &mut ctx);
        self.clock_offset = ctx.clock_offset;
        if self.wants_ops {
            self.report_ops(observer, cpu, path);
        }
        let took = if self.kernel_takes_time { self.charge(observer, cpu, path) } else { Nanos::ZERO };
        if !self.effects.is_empty() {
            self.apply_effects(took);
        }
        result
    }

    /// Reports the operation counts of a call. Without a cost model it also drains them, because no charge
    /// does.
    #[cold]
    fn report_ops(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, path: KernelPath) {
        observer.work(self.now, cpu, path, &self.op_counts);
        if !self.kernel_takes_time {
            self.op_counts.drain_into(&mut self.total_op_counts);
            self.op_counts.clear_touches();
        }
    }
}
