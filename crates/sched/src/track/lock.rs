// SPDX-License-Identifier: GPL-2.0-or-later
//! Locking of runqueues.
//!
//! Models `rq_lock()`, `task_rq_lock()` and `double_rq_lock()` (6.1) as far as the scheduler's state shows
//! them. Rules:
//! 1. Taking a lock begins a section, in which the runqueue's clock may be updated once (WARN_DOUBLE_CLOCK).
//! 2. A lock that is taken under another lock belongs to the section of that lock.
//! 3. The cost of a path's own lock is mostly part of the operation that stands for the path. An additional
//!    lock, such as that of a busiest runqueue, is charged.

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

    /// Takes the lock of a runqueue and updates its clock.
    #[inline]
    pub(crate) fn rq_lock_clocked(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> RqGuard {
        let rq = self.rq_lock(cpu);
        self.update_rq_clock(ctx, &rq);
        rq
    }

    /// Takes a lock whose cost is part of no other operation.
    pub(crate) fn rq_lock_charged(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> RqGuard {
        ctx.charge(KernelOp::RqLock);
        self.rq_lock(cpu)
    }

    /// Takes the lock of a second runqueue beside a held one, and updates the clock of the second.
    pub(crate) fn rq_lock_second(&mut self, ctx: &mut Ctx<'_>, held: &RqGuard, cpu: CpuId) -> RqGuard {
        debug_assert!(held.cpu() != cpu, "{cpu:?} is locked already");
        let rq = RqGuard::new(cpu);
        self.update_rq_clock(ctx, &rq);
        rq
    }
}
