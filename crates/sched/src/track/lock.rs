// SPDX-License-Identifier: GPL-2.0-or-later
//! Taking the lock of a runqueue.
//!
//! Models `rq_lock()`, `task_rq_lock()` and `double_rq_lock()` (6.1) as far as the scheduler's state shows them. Rules:
//! 1. A lock that is taken begins a section: the runqueue's clock may be updated once in it (WARN_DOUBLE_CLOCK).
//! 2. A lock that is taken under another one is part of that one's section.
//! 3. Most paths have the price of their own lock in the operation that stands for them. A lock that comes on top, such as that
//!    of a busiest runqueue, is charged.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::lock::RqGuard;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;

impl State {
    /// Takes the lock of a runqueue.
    #[inline]
    pub(crate) fn rq_lock(&mut self, cpu: CpuId) -> RqGuard {
        self.warn.begin_section();
        RqGuard::new(cpu)
    }

    /// The same, and brings the runqueue's clock up to date.
    #[inline]
    pub(crate) fn rq_lock_clocked(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> RqGuard {
        let rq = self.rq_lock(cpu);
        self.update_rq_clock(ctx, &rq);
        rq
    }

    /// Takes a lock whose price is in no other operation.
    pub(crate) fn rq_lock_charged(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> RqGuard {
        ctx.charge(KernelOp::RqLock);
        self.rq_lock(cpu)
    }

    /// Takes the lock of another runqueue beside one that is held, and brings its clock up to date.
    pub(crate) fn rq_lock_second(&mut self, ctx: &mut Ctx<'_>, held: &RqGuard, cpu: CpuId) -> RqGuard {
        debug_assert!(held.cpu() != cpu, "{cpu:?} is locked already");
        let rq = RqGuard::new(cpu);
        self.update_rq_clock(ctx, &rq);
        rq
    }
}
