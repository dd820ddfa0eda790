// SPDX-License-Identifier: GPL-2.0-or-later
//! States of CPUs, as the events of a run show them. All observers share these enumerations and match them
//! completely.

use fairlab_machine::observer::MachineEvent;
use fairlab_sched::ids::{CpuId, TaskId};

/// State of a CPU.
///
/// Interrupts of devices and time that a hypervisor takes are reported when they end. They are shares of the
/// state that they interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuState {
    /// The idle task runs.
    #[default]
    Idle,
    /// The stopper runs.
    Stopper,
    /// A task of the workload or a kernel thread runs.
    Running,
    /// The CPU does not exist for the scheduler.
    Offline,
}

/// State of a CPU with what decides it: the class of its current task, and hotplug. A CPU that comes back may have
/// switched to a task before.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuActivity {
    /// State while the CPU is online.
    current: CpuState,
    is_offline: bool,
}

impl CpuActivity {
    /// State of the CPU.
    #[inline]
    pub const fn state(self) -> CpuState {
        if self.is_offline { CpuState::Offline } else { self.current }
    }

    /// Records a switch to a task. Idle tasks have the first IDs, followed by the stoppers, both in the order of
    /// the CPUs.
    #[inline]
    pub const fn switch(&mut self, next: TaskId, nr_cpus: usize) {
        let next = next.index();
        self.current = if next < nr_cpus {
            CpuState::Idle
        } else if next < 2 * nr_cpus {
            CpuState::Stopper
        } else {
            CpuState::Running
        };
    }

    /// Records that the CPU goes offline or comes back.
    pub const fn set_online(&mut self, online: bool) {
        self.is_offline = !online;
    }
}

/// Returns the CPU that goes offline or comes back, and whether it comes back; `None` for other events, and for
/// operations that the kernel rejects.
pub const fn hotplug(event: &MachineEvent) -> Option<(CpuId, bool)> {
    match *event {
        MachineEvent::Hotplug { cpu, online, result: 0 } => Some((cpu, online)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
