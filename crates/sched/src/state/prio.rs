// SPDX-License-Identifier: GPL-2.0-or-later
//! Priorities across all classes, in the kernel's numbers: a lower number is more important.

use crate::state::task::{Policy, SchedClass, Task};

/// Priority, the kernel's `p->prio`: -1 for SCHED_DEADLINE, 0 to 98 for SCHED_FIFO and SCHED_RR, 100 to 139
/// for fair tasks.
pub(crate) type Prio = i32;

/// First priority below the real-time ones: `MAX_RT_PRIO`. A runqueue without real-time tasks has one less
/// ([`super::rt::NO_PRIO`]).
pub(crate) const MAX_RT_PRIO: Prio = 100;
/// Priority of nice 0: `DEFAULT_PRIO`.
const DEFAULT_PRIO: Prio = 120;
/// Priority of deadline tasks, above all others.
const DL_PRIO: Prio = -1;

/// Inherited priority of a task for which no other task waits.
pub(crate) const NOT_INHERITED: Prio = Prio::MAX;

/// Class that serves a priority.
pub(crate) const fn class_of(prio: Prio) -> SchedClass {
    match prio {
        ..0 => SchedClass::Deadline,
        0..MAX_RT_PRIO => SchedClass::RealTime,
        _ => SchedClass::Fair,
    }
}

/// Priority that a policy and a nice value give: `__normal_prio()`.
pub(crate) const fn normal_prio(policy: Policy, nice: i8) -> Prio {
    match policy {
        Policy::Normal | Policy::Batch | Policy::Idle => DEFAULT_PRIO + nice as Prio,
        Policy::Fifo(priority) | Policy::RoundRobin(priority) => MAX_RT_PRIO - 1 - priority as Prio,
        Policy::Deadline { .. } => DL_PRIO,
    }
}

impl Task {
    /// Priority of the task, inherited or its own. A stopper has the highest real-time one, because it was
    /// made a real-time task first.
    #[inline]
    pub fn prio(&self) -> Prio {
        match self.class {
            SchedClass::Stop => 0,
            _ => self.normal_prio().min(self.pi_prio),
        }
    }

    /// The task's own priority, without inheritance.
    #[inline]
    pub(crate) fn normal_prio(&self) -> Prio {
        normal_prio(self.policy, self.nice)
    }

    /// Whether the task's priority is above all fair ones: `rt_task()`. True of deadline tasks and stoppers
    /// too.
    #[inline]
    pub(crate) fn has_rt_prio(&self) -> bool {
        self.prio() < MAX_RT_PRIO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::units::Nanos;

    #[test]
    fn a_lower_number_is_more_important() {
        let deadline = Policy::Deadline { runtime: Nanos(1), deadline: Nanos(2), period: Nanos(2) };
        let prios = [deadline, Policy::Fifo(99), Policy::RoundRobin(1), Policy::Batch].map(|p| normal_prio(p, 0));
        assert_eq!(prios, [-1, 0, 98, 120]);
        assert_eq!((normal_prio(Policy::Idle, -20), normal_prio(Policy::Normal, 19)), (100, 139));
    }
}
