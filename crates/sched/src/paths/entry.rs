// SPDX-License-Identifier: GPL-2.0-or-later
//! With which lock each way into the scheduler begins.
//!
//! A path that pauses says at each pause which lock comes next ([`super::walks`]). Before its first phase nothing is paused yet;
//! what that phase locks is said here, so that the machine need not guess.

use crate::interface::ctx::IpiKind;
use crate::paths::resumable::PhaseLock;
use crate::paths::sched::Sched;
use crate::types::ids::CpuId;

/// A way into the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// [`Sched::handle_tick`].
    Tick,
    /// [`Sched::handle_timer`].
    Timer,
    /// [`Sched::handle_ipi`].
    Ipi(IpiKind),
    /// [`Sched::handle_wakeup`] and [`Sched::handle_wakeup_interrupt`].
    Wakeup,
    /// [`Sched::handle_reschedule`].
    Reschedule,
    /// [`Sched::handle_block`] and [`Sched::handle_block_io`].
    Block,
    /// [`Sched::handle_yield`].
    Yield,
    /// [`Sched::handle_exec`].
    Exec,
    /// [`Sched::handle_exit`].
    Exit,
    /// [`Sched::handle_stopper`].
    Stopper,
}

impl Sched {
    /// The lock that a call on a CPU takes first, and holds for as long as its first phase takes.
    ///
    /// Rules: the CPU's own, but for two. A wake-up selects without a lock; an interrupt that only says to reschedule changes
    /// nothing.
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
