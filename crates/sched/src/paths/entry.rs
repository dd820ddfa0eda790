// SPDX-License-Identifier: GPL-2.0-or-later
//! First lock of each entry into the scheduler.
//!
//! A yielded path reports the lock that it needs next ([`super::resumable`]). Before the first phase of a
//! path nothing has yielded yet; this module reports the lock of that phase.

use crate::interface::ctx::IpiKind;
use crate::paths::resumable::PhaseLock;
use crate::paths::sched::Sched;
use crate::types::ids::CpuId;

/// Entry into the scheduler: a method that the machine calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Tick of the CPU: [`Sched::handle_tick`].
    Tick,
    /// Expiry of the CPU's timer: [`Sched::handle_timer`].
    Timer,
    /// Inter-processor interrupt of this kind: [`Sched::handle_ipi`].
    Ipi(IpiKind),
    /// Wake-up by a task or an interrupt: [`Sched::handle_wakeup`] and [`Sched::handle_wakeup_interrupt`].
    Wakeup,
    /// Rescheduling because need_resched is set: [`Sched::handle_reschedule`].
    Reschedule,
    /// Running task blocks: [`Sched::handle_block`] and [`Sched::handle_block_io`].
    Block,
    /// Running task calls `sched_yield()`: [`Sched::handle_yield`].
    Yield,
    /// Running task calls exec: [`Sched::handle_exec`].
    Exec,
    /// Running task ends: [`Sched::handle_exit`].
    Exit,
    /// Stopper runs its queued work: [`Sched::handle_stopper`].
    Stopper,
}

impl Sched {
    /// Returns the lock that an entry takes first on `cpu`, and holds during its first phase.
    ///
    /// Most entries take the CPU's own lock. A wake-up selects a CPU without a lock, and a reschedule
    /// interrupt changes nothing.
    pub const fn first_lock(cpu: CpuId, entry: Entry) -> PhaseLock {
        match entry {
            Entry::Wakeup | Entry::Ipi(IpiKind::Reschedule) => PhaseLock::None,
            Entry::Tick
            | Entry::Timer
            | Entry::Ipi(IpiKind::CallFunction)
            | Entry::Reschedule
            | Entry::Block
            | Entry::Yield
            | Entry::Exec
            | Entry::Exit
            | Entry::Stopper => PhaseLock::Rq(cpu),
        }
    }
}
