// SPDX-License-Identifier: GPL-2.0-or-later
//! States of tasks and CPUs, as the events of a run show them. All observers share these enumerations and
//! match them completely.

use fairlab_machine::observer::MachineEvent;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::Nanos;

/// State of a task, since a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskState {
    /// Not runnable since its fork.
    #[default]
    NotStarted,
    /// Blocked, on its last CPU.
    Blocked { since: Nanos, cpu: CpuId },
    /// Exited, on its last CPU.
    Ended { since: Nanos, cpu: CpuId },
    /// Runnable, but not running: the task waits for a CPU.
    Runnable { since: Nanos },
    /// Runnable, but the task waits for runtime of its group or class, which no CPU can give.
    Throttled { since: Nanos },
    /// Running.
    Running { since: Nanos, cpu: CpuId },
}

impl TaskState {
    /// Whether the task waits for a CPU or for runtime, or runs.
    #[inline]
    pub(crate) const fn is_runnable(self) -> bool {
        matches!(self, Self::Runnable { .. } | Self::Throttled { .. } | Self::Running { .. })
    }

    /// Returns the start of the wait for a CPU, if the task waits for one.
    #[inline]
    pub(crate) const fn waits_since(self) -> Option<Nanos> {
        match self {
            Self::Runnable { since } => Some(since),
            Self::NotStarted
            | Self::Blocked { .. }
            | Self::Ended { .. }
            | Self::Throttled { .. }
            | Self::Running { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskActivity {
    state: TaskState,
    is_throttled: bool,
}

impl TaskActivity {
    pub(crate) const NEW: Self = Self { state: TaskState::NotStarted, is_throttled: false };

    #[inline]
    pub(crate) const fn state(&self) -> TaskState {
        self.state
    }

    /// Returns the state of the task if it is runnable and does not run.
    #[inline]
    const fn waiting(&self, since: Nanos) -> TaskState {
        if self.is_throttled { TaskState::Throttled { since } } else { TaskState::Runnable { since } }
    }

    /// Records a wake-up. Returns whether a wait begins: a wake-up of a runnable task only cancels its sleep.
    #[inline]
    pub(crate) fn wake(&mut self, now: Nanos) -> bool {
        if self.state.is_runnable() {
            return false;
        }
        self.state = self.waiting(now);
        true
    }

    /// Records that the task is switched in. Returns its state up to now.
    #[inline]
    pub(crate) const fn switch_in(&mut self, now: Nanos, cpu: CpuId) -> TaskState {
        std::mem::replace(&mut self.state, TaskState::Running { since: now, cpu })
    }

    /// Records that the task is switched out. Returns its state up to now.
    #[inline]
    pub(crate) fn switch_out(&mut self, now: Nanos, cpu: CpuId, state: PrevState) -> TaskState {
        let next = match state {
            PrevState::Runnable => self.waiting(now),
            PrevState::Blocked => TaskState::Blocked { since: now, cpu },
            PrevState::Dead => TaskState::Ended { since: now, cpu },
        };
        std::mem::replace(&mut self.state, next)
    }

    /// Records the start or the end of throttling. Returns the state up to now, if the task waits.
    pub(crate) fn throttle(&mut self, now: Nanos, is_throttled: bool) -> Option<TaskState> {
        self.is_throttled = is_throttled;
        match self.state {
            TaskState::Runnable { .. } | TaskState::Throttled { .. } => {
                let next = self.waiting(now);
                Some(std::mem::replace(&mut self.state, next))
            }
            TaskState::NotStarted | TaskState::Blocked { .. } | TaskState::Ended { .. } | TaskState::Running { .. } => {
                None
            }
        }
    }

    /// Lets the present wait or run count from `now`.
    pub(crate) const fn restart(&mut self, now: Nanos) {
        match &mut self.state {
            TaskState::NotStarted | TaskState::Blocked { .. } | TaskState::Ended { .. } => {}
            TaskState::Runnable { since } | TaskState::Throttled { since } | TaskState::Running { since, .. } => {
                *since = now;
            }
        }
    }
}

/// State of a CPU.
///
/// Interrupts of devices and time that a hypervisor takes are reported when they end. They are shares of the
/// state that they interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CpuState {
    #[default]
    Idle,
    Stopper,
    /// A task of the workload or a kernel thread runs.
    Running,
    /// The CPU does not exist for the scheduler.
    Offline,
}

/// State of a CPU with what decides it: the class of its current task, and hotplug. A CPU that comes back may have
/// switched to a task before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuActivity {
    /// State while the CPU is online.
    current: CpuState,
    is_offline: bool,
}

impl CpuActivity {
    #[inline]
    pub(crate) const fn state(self) -> CpuState {
        if self.is_offline { CpuState::Offline } else { self.current }
    }

    /// Records a switch to a task. Idle tasks have the first IDs, followed by the stoppers, both in the order of
    /// the CPUs.
    #[inline]
    pub(crate) const fn switch(&mut self, next: TaskId, nr_cpus: usize) {
        let next = next.index();
        self.current = if next < nr_cpus {
            CpuState::Idle
        } else if next < 2 * nr_cpus {
            CpuState::Stopper
        } else {
            CpuState::Running
        };
    }

    pub(crate) const fn set_online(&mut self, online: bool) {
        self.is_offline = !online;
    }
}

/// Returns the CPU that goes offline or comes back, and whether it comes back; `None` for other events, and for
/// operations that the kernel rejects.
pub(crate) const fn hotplug(event: &MachineEvent) -> Option<(CpuId, bool)> {
    match *event {
        MachineEvent::Hotplug { cpu, online, result: 0 } => Some((cpu, online)),
        _ => None,
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
        assert_eq!(task.switch_out(Nanos(7), cpu, PrevState::Runnable), TaskState::Running { since: Nanos(5), cpu });
        assert_eq!(task.state().waits_since(), Some(Nanos(7)));
        task.restart(Nanos(8));
        assert_eq!(task.switch_in(Nanos(9), cpu).waits_since(), Some(Nanos(8)));
        task.switch_out(Nanos(10), cpu, PrevState::Dead);
        assert_eq!(task.state(), TaskState::Ended { since: Nanos(10), cpu });
        assert!(!task.state().is_runnable() && task.wake(Nanos(11)));
    }

    #[test]
    fn a_throttled_task_waits_for_no_cpu() {
        let (mut task, cpu) = (TaskActivity::default(), CpuId(0));
        task.wake(Nanos(1));
        assert_eq!(task.throttle(Nanos(3), true), Some(TaskState::Runnable { since: Nanos(1) }));
        assert_eq!(task.state(), TaskState::Throttled { since: Nanos(3) });
        assert_eq!(task.throttle(Nanos(7), false), Some(TaskState::Throttled { since: Nanos(3) }));
        assert_eq!(task.switch_in(Nanos(8), cpu).waits_since(), Some(Nanos(7)));
        assert_eq!(task.throttle(Nanos(9), true), None, "a running task is switched out first");
        task.switch_out(Nanos(9), cpu, PrevState::Runnable);
        assert_eq!(task.state(), TaskState::Throttled { since: Nanos(9) });
    }

    #[test]
    fn an_offline_cpu_is_not_idle() {
        let offline = MachineEvent::Hotplug { cpu: CpuId(1), online: false, result: 0 };
        assert_eq!(hotplug(&offline), Some((CpuId(1), false)));
        let rejected = MachineEvent::Hotplug { cpu: CpuId(1), online: false, result: -16 };
        assert_eq!(hotplug(&rejected), None);
        let mut cpu = CpuActivity::default();
        cpu.set_online(false);
        assert_eq!(cpu.state(), CpuState::Offline);
        cpu.switch(TaskId(4), 2);
        assert_eq!(cpu.state(), CpuState::Offline);
        cpu.set_online(true);
        assert_eq!(cpu.state(), CpuState::Running, "it has switched to a task while it came back");
        cpu.set_online(true);
        assert_eq!(cpu.state(), CpuState::Running, "it was online before");
        cpu.switch(TaskId(3), 2);
        assert_eq!(cpu.state(), CpuState::Stopper);
        cpu.switch(TaskId(1), 2);
        assert_eq!(cpu.state(), CpuState::Idle);
    }
}
