// SPDX-License-Identifier: GPL-2.0-or-later
//! Activity of a task, as its wake-ups and switches show it: whether it sleeps, waits for a CPU or runs, and
//! since when.
//!
//! Observers keep one [`TaskActivity`] per task beside their own data.

use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

/// Activity of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskActivity {
    /// Not runnable since its fork.
    #[default]
    New,
    /// Blocked or exited, on its last CPU.
    Off { since: Nanos, cpu: CpuId, ended: bool },
    /// Runnable, but not running.
    Waits { since: Nanos },
    /// Running.
    Runs { since: Nanos, cpu: CpuId },
}

impl TaskActivity {
    /// Whether the task waits or runs.
    #[inline]
    pub(crate) const fn is_runnable(self) -> bool {
        matches!(self, Self::Waits { .. } | Self::Runs { .. })
    }

    /// Returns the start of the wait for a CPU, if the task waits.
    #[inline]
    pub(crate) const fn waits_since(self) -> Option<Nanos> {
        match self {
            Self::Waits { since } => Some(since),
            _ => None,
        }
    }

    /// Records a wake-up. Returns whether a wait begins: a wake-up of a runnable task only cancels its sleep.
    #[inline]
    pub(crate) fn wake(&mut self, now: Nanos) -> bool {
        if self.is_runnable() {
            return false;
        }
        *self = Self::Waits { since: now };
        true
    }

    /// Records that the task is switched in. Returns its activity up to now.
    #[inline]
    pub(crate) const fn switch_in(&mut self, now: Nanos, cpu: CpuId) -> Self {
        std::mem::replace(self, Self::Runs { since: now, cpu })
    }

    /// Records that the task is switched out. Returns its activity up to now.
    #[inline]
    pub(crate) fn switch_out(&mut self, now: Nanos, cpu: CpuId, state: PrevState) -> Self {
        let next = match state {
            PrevState::Runnable => Self::Waits { since: now },
            PrevState::Blocked | PrevState::Dead => Self::Off { since: now, cpu, ended: state == PrevState::Dead },
        };
        std::mem::replace(self, next)
    }

    /// Lets the present wait or run count from `now`.
    pub(crate) const fn restart(&mut self, now: Nanos) {
        match self {
            Self::New | Self::Off { .. } => {}
            Self::Waits { since } | Self::Runs { since, .. } => *since = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_begins_with_a_wake_up_or_a_preemption_and_ends_on_a_cpu() {
        let (mut task, cpu) = (TaskActivity::default(), CpuId(1));
        assert!(task.wake(Nanos(1)) && !task.wake(Nanos(2)), "a wake-up of a waiting task begins no wait");
        assert_eq!(task.switch_in(Nanos(5), cpu).waits_since(), Some(Nanos(1)));
        assert!(!task.wake(Nanos(6)), "nor does that of a running task");
        assert_eq!(task.switch_out(Nanos(7), cpu, PrevState::Runnable), TaskActivity::Runs { since: Nanos(5), cpu });
        assert_eq!(task.waits_since(), Some(Nanos(7)));
        task.restart(Nanos(8));
        assert_eq!(task.switch_in(Nanos(9), cpu).waits_since(), Some(Nanos(8)));
        task.switch_out(Nanos(10), cpu, PrevState::Dead);
        assert_eq!(task, TaskActivity::Off { since: Nanos(10), cpu, ended: true });
        assert!(!task.is_runnable() && task.wake(Nanos(11)));
    }
}
