// SPDX-License-Identifier: GPL-2.0-or-later
//! The lock of a runqueue, as something that one has or has not.
//!
//! Stands for `rq->__lock` (6.1). Verbs that change a runqueue ask to be shown its guard, so that a path which forgets the lock
//! does not compile. Whether a CPU has to wait for a lock is the machine's affair; see [`crate::paths::walks`].

use crate::types::ids::CpuId;

/// The lock of a runqueue, held.
#[derive(Debug)]
#[must_use = "a lock is taken for what is done under it"]
pub(crate) struct RqGuard {
    cpu: CpuId,
}

impl RqGuard {
    /// Taken by [`crate::track::lock`] only.
    pub(crate) const fn new(cpu: CpuId) -> Self {
        Self { cpu }
    }

    /// Whose runqueue it is.
    #[inline]
    pub(crate) const fn cpu(&self) -> CpuId {
        self.cpu
    }
}
