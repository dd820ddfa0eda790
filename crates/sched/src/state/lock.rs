// SPDX-License-Identifier: GPL-2.0-or-later
//! The lock of a runqueue, as a value that a path holds.
//!
//! Stands for `rq->__lock` (6.1). Functions that change a runqueue take its guard as an argument, so that a
//! path which forgets the lock does not compile. The machine decides how long a CPU waits for a lock; see
//! [`crate::paths::resumable`].

use crate::types::ids::CpuId;

/// Proof that the lock of a runqueue is held. It names the CPU, so functions take a guard instead of a CPU.
#[derive(Debug)]
#[must_use = "a lock is taken for what is done under it"]
pub(crate) struct RqGuard {
    cpu: CpuId,
}

impl RqGuard {
    /// Called by [`crate::track::lock`] only.
    pub(crate) const fn new(cpu: CpuId) -> Self {
        Self { cpu }
    }

    /// CPU whose runqueue is locked.
    #[inline]
    pub(crate) const fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Asserts, in builds with assertions, that the guard is that of a CPU which is known from elsewhere.
    #[inline]
    pub(crate) fn assert_is_of(&self, cpu: CpuId) {
        debug_assert!(self.cpu == cpu, "{cpu:?} is changed under the lock of {:?}", self.cpu);
    }
}
