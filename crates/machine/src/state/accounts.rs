// SPDX-License-Identifier: GPL-2.0-or-later
//! Times that a machine accounts, including the present period of each CPU and task.
//!
//! The accounts themselves are brought up to date when a period ends. These methods return what they would be
//! at a time between the last event and the next one, and change nothing.

use crate::engine::Engine;
use crate::interface::observation::MachineEvent;
use crate::observer::Observer;
use crate::parts::counters::FrequencyTimes;
use crate::parts::idle::IdleResidency;
use crate::parts::residency::Residency;
use crate::state::Machine;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::state::snapshot::TaskFit;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Records an event for observers of details, who receive it at the end of the present machine event.
    #[inline]
    pub(crate) fn report_detail(&mut self, event: MachineEvent) {
        if self.interest.details {
            self.details.push(event);
        }
    }

    /// Passes on the recorded details.
    #[inline]
    pub(crate) fn deliver_details(&mut self, observer: &mut dyn Observer<E>) {
        if self.details.is_empty() {
            return;
        }
        for event in self.details.drain(..) {
            observer.machine_event(self.now, &event);
        }
    }

    /// Returns the number of entries into each idle state of a CPU, and the time in it, up to `at`.
    pub fn idle_residency(&self, cpu: CpuId, at: Nanos) -> Vec<IdleResidency> {
        self.cpus[cpu.index()].idle.residency_at(at)
    }

    /// Returns the time of a CPU at each frequency, up to `at`.
    pub fn frequency_times(&self, cpu: CpuId, at: Nanos) -> FrequencyTimes {
        self.counters.per_cpu[cpu.index()].frequency_times(at, self.cpus[cpu.index()].rate.freq())
    }

    /// Returns the time of a CPU in kernel paths, and the share of it in which the idle task ran, up to `at`.
    pub fn kernel_times(&self, cpu: CpuId, at: Nanos) -> (Nanos, Nanos) {
        let unaccounted = self.cpus[cpu.index()].kernel.unaccounted_time(at);
        self.counters.per_cpu[cpu.index()].kernel_times(unaccounted)
    }

    /// Returns the residency of a task, up to `at`.
    pub fn residency(&self, task: usize, at: Nanos) -> Residency {
        let sim_task = &self.tasks[task];
        let mut residency = sim_task.residency.clone();
        if sim_task.running && at > sim_task.accounted_until {
            let freq = self.cpus[sim_task.cpu.index()].rate.freq();
            self.kinds.record(&mut residency, sim_task.cpu, freq, at - sim_task.accounted_until);
        }
        residency
    }

    /// Returns how the CPU of a task fitted it when it was last estimated: when the task began to run, and at each tick
    /// since. Every CPU is right on machines whose CPUs are alike.
    pub fn recorded_fit(&self, task: TaskId) -> TaskFit {
        self.tasks.index_of(task).map_or(TaskFit::Right, |index| self.tasks[index].residency.fit)
    }
}
