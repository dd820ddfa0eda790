// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing work that a class defers until its runqueue is consistent.
//!
//! It runs at the end of `schedule()` or of a change of policy. Models `queue_balance_callback()` and
//! `__balance_callbacks()` (6.1).

/// Kind of deferred balancing work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceCallback {
    /// Pull real-time tasks to this CPU: `pull_rt_task()`.
    RtPull,
    /// Push real-time tasks to other CPUs: `push_rt_tasks()`.
    RtPush,
    /// Pull deadline tasks to this CPU: `pull_dl_task()`.
    DlPull,
    /// Push deadline tasks to other CPUs: `push_dl_tasks()`.
    DlPush,
}

/// Number of kinds, and so the most callbacks that can be queued on a CPU.
const NR_KINDS: usize = BalanceCallback::DlPush as usize + 1;

/// Value of `depth` while the CPU goes offline or is offline: nothing is queued, and each task that it picks
/// is pushed away.
const PUSHING: usize = NR_KINDS + 1;

/// Deferred work of a CPU. The callback that was queued last runs first; each kind is queued at most once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceCallbacks {
    stack: [Option<BalanceCallback>; NR_KINDS],
    depth: usize,
}

impl BalanceCallbacks {
    /// Queues a callback, unless it is queued already or the CPU goes offline.
    pub(crate) fn queue(&mut self, callback: BalanceCallback) {
        if self.depth != PUSHING && !self.stack[..self.depth].contains(&Some(callback)) {
            self.stack[self.depth] = Some(callback);
            self.depth += 1;
        }
    }

    /// Starts to push away each task that the CPU picks: `balance_push_set()`.
    pub(crate) fn start_pushing(&mut self) {
        self.depth = PUSHING;
    }

    /// Stops pushing tasks away, because the CPU is active again.
    pub(crate) fn stop_pushing(&mut self) {
        *self = Self::default();
    }

    /// Whether a callback is queued, or the CPU goes offline.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.depth > 0
    }

    /// Queued callbacks, the last one first. Must not be called for a CPU that goes offline.
    pub(crate) fn iter_from_last(&self) -> impl Iterator<Item = BalanceCallback> + '_ {
        self.stack[..self.depth].iter().rev().copied().flatten()
    }

    /// Whether the CPU goes offline or is offline.
    pub(crate) fn is_pushing(&self) -> bool {
        self.depth == PUSHING
    }
}
