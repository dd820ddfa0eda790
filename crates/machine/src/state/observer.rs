// SPDX-License-Identifier: GPL-2.0-or-later
//! Observers of a run. They receive events and snapshots, and cannot change the run.

use super::Machine;
pub use crate::interface::observation::{Activity, Interest, KeepingObject, KernelPath, MachineEvent};
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;

/// An observer of a run.
pub trait Observer<E = Sched>: SchedObserver {
    /// Returns the events that the observer wants: by default those that are not details. The result must not change during a
    /// run. Other events may arrive as well.
    fn wants(&self) -> Interest {
        Interest::EVENTS
    }

    /// Receives an event of the machine.
    fn machine_event(&mut self, _now: Nanos, _event: &MachineEvent) {}

    /// Whether the observer wants [`MachineEvent::Kernel`].
    fn wants_kernel_paths(&self) -> bool {
        false
    }

    /// Whether the observer wants calls of [`Observer::work`].
    fn wants_ops(&self) -> bool {
        false
    }

    /// Whether the counts of [`Observer::work`] must have the accesses to shared data, which a machine without cache lines
    /// does not record.
    fn wants_touches(&self) -> bool {
        false
    }

    /// Receives the operation counts of a scheduler call. Called only for observers that want it.
    fn work(&mut self, _now: Nanos, _cpu: CpuId, _path: KernelPath, _counted: &OpCounts) {}

    /// Receives the machine's state at a snapshot.
    fn snapshot(&mut self, _machine: &Machine<E>) {}
}

/// Observer without interest in any event.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl SchedObserver for NoObserver {}

impl<E> Observer<E> for NoObserver {
    fn wants(&self) -> Interest {
        Interest::NONE
    }
}

/// Several observers. Each one receives the events that any of them wants, but operation counts only if it
/// wants them itself.
pub struct Observers<'a, E = Sched>(pub Vec<&'a mut dyn Observer<E>>);

impl<E> SchedObserver for Observers<'_, E> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        for observer in &mut self.0 {
            observer.event(now, event);
        }
    }
}

impl<E> Observer<E> for Observers<'_, E> {
    fn wants(&self) -> Interest {
        self.0.iter().fold(Interest::NONE, |wants, observer| wants.merge(observer.wants()))
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        for observer in &mut self.0 {
            observer.machine_event(now, event);
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_kernel_paths())
    }

    fn wants_ops(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_ops())
    }

    fn wants_touches(&self) -> bool {
        self.0.iter().any(|observer| observer.wants_touches())
    }

    fn work(&mut self, now: Nanos, cpu: CpuId, path: KernelPath, counted: &OpCounts) {
        for observer in self.0.iter_mut().filter(|observer| observer.wants_ops()) {
            observer.work(now, cpu, path, counted);
        }
    }

    fn snapshot(&mut self, machine: &Machine<E>) {
        for observer in &mut self.0 {
            observer.snapshot(machine);
        }
    }
}
