// SPDX-License-Identifier: GPL-2.0-or-later
//! What classes put off until their runqueue is consistent: it follows at the end of `schedule()` or of a change of policy.
//!
//! Models `queue_balance_callback()` and `__balance_callbacks()` (6.1).

/// Something that was put off.
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

/// Number of kinds.
const NR_KINDS: usize = BalanceCallback::DlPush as usize + 1;

/// The depth that says that the CPU goes offline: nothing is put off any more, and what it picks is pushed away.
const PUSHING: usize = NR_KINDS + 1;

/// What was put off on a CPU. The last one put off comes first; each kind is there once at the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceCallbacks {
    stack: [Option<BalanceCallback>; NR_KINDS],
    depth: usize,
}

impl BalanceCallbacks {
    /// Puts something off, unless it is put off already.
    pub(crate) fn queue(&mut self, callback: BalanceCallback) {
        if self.depth != PUSHING && !self.stack[..self.depth].contains(&Some(callback)) {
            self.stack[self.depth] = Some(callback);
            self.depth += 1;
        }
    }

    /// From now on each task that the CPU picks is pushed away: `balance_push_set()`.
    pub(crate) fn start_pushing(&mut self) {
        self.depth = PUSHING;
    }

    /// The CPU is back.
    pub(crate) fn stop_pushing(&mut self) {
        *self = Self::default();
    }

    /// Whether anything was put off, or the CPU goes offline.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.depth > 0
    }

    /// What was put off, the last one first. Not asked of a CPU that goes offline.
    pub(crate) fn iter_from_last(&self) -> impl Iterator<Item = BalanceCallback> + '_ {
        self.stack[..self.depth].iter().rev().copied().flatten()
    }

    /// Whether the CPU goes offline, or is.
    pub(crate) fn is_pushing(&self) -> bool {
        self.depth == PUSHING
    }
}
