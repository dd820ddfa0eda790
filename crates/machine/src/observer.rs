// SPDX-License-Identifier: GPL-2.0-or-later
//! Who listens to a run. Observers see everything and change nothing.

use crate::engine::Machine;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::Nanos;

/// Something that happened in the machine rather than in the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineEvent {
    /// A task of the workload is about to be forked.
    Forked {
        /// Its place among the machine's tasks.
        task: usize,
        /// Its name in the scheduler.
        id: TaskId,
        /// Its pid.
        pid: i32,
        /// Its place in the workload, or its template's.
        spec: usize,
    },
    /// A tick was served.
    Tick {
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU waits for interrupts in an idle state; `None` if it has no such states.
    IdleEnter {
        /// The CPU.
        cpu: CpuId,
        /// Which of its states.
        state: Option<usize>,
    },
    /// A change that the workload asked for has been made, or was refused.
    Changed {
        /// What kind of change.
        what: &'static str,
        /// Place of the task among the machine's tasks; `None`: it concerns a group.
        task: Option<usize>,
        /// Place of the group in the workload; `None`: it concerns a task, or the root group.
        group: Option<usize>,
        /// 0, or the kernel's error number, negative.
        result: i32,
    },
    /// A task begins a loop of a phase.
    Mark {
        /// Place of the task among the machine's tasks.
        task: usize,
        /// The phase.
        phase: u32,
    },
    /// A task's timed sleep ended as late as its timer says: rt-app's slack and wake-up latency.
    TimerWoke {
        /// Place of the task among the machine's tasks.
        task: usize,
        /// When the timer expired, or was to.
        expired: Nanos,
    },
}

/// Listens to a run.
pub trait Observer: Probe {
    /// Something has happened in the machine.
    fn machine_event(&mut self, _now: Nanos, _event: &MachineEvent) {}

    /// A moment at which the whole state is to be noted.
    fn snapshot(&mut self, _machine: &Machine) {}
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Probe for NoObserver {
    fn event(&mut self, _now: Nanos, _event: &Event<'_>) {}
}

impl Observer for NoObserver {}

/// Several observers, each of which hears everything.
#[derive(Default)]
pub struct Observers<'a>(pub Vec<&'a mut dyn Observer>);

impl Probe for Observers<'_> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        for observer in &mut self.0 {
            observer.event(now, event);
        }
    }

    fn wants_pelt(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_pelt())
    }
}

impl Observer for Observers<'_> {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        for observer in &mut self.0 {
            observer.machine_event(now, event);
        }
    }

    fn snapshot(&mut self, machine: &Machine) {
        for observer in &mut self.0 {
            observer.snapshot(machine);
        }
    }
}
