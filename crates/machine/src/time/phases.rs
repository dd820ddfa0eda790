// SPDX-License-Identifier: GPL-2.0-or-later
//! Busy time of CPUs in kernel code: phases, their extension, suspension and end.

use crate::engine::Engine;
use crate::event::EventKind;
use crate::interface::observation::MachineEvent;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Keeps a CPU busy for `time`, or extends its present busy time.
    pub(crate) fn extend_kernel_time(&mut self, cpu: CpuId, time: Nanos) {
        if !self.cpus[cpu.index()].kernel.try_extend(time) {
            self.enter_kernel(cpu, self.now + time);
        }
        let (until, version) = self.cpus[cpu.index()].kernel.plan_end();
        self.push_in_slot(cpu, until, EventKind::KernelDone(cpu, version));
    }

    /// Queues the event that ends what a CPU does now: a phase, or the work of its task. It replaces the previous event of this
    /// kind, which is stale.
    #[inline]
    pub(crate) fn push_in_slot(&mut self, cpu: CpuId, at: Nanos, kind: EventKind) {
        if let Some(before) = self.events.push_in_slot(cpu, at, kind)
            && before <= self.end
        {
            // The replaced event would have come and been stale, so it counts.
            self.counters.events += 1;
        }
    }

    /// Marks a CPU as busy in the kernel until `until`, or until a lock is granted. Its task does no work
    /// meanwhile.
    pub(crate) fn enter_kernel(&mut self, cpu: CpuId, until: Nanos) {
        if let Some(task) = self.cpus[cpu.index()].task {
            self.account(task as usize);
            self.tasks[task as usize].cancel_completion();
        }
        self.wake_from_idle_state(cpu);
        self.cpus[cpu.index()].kernel.begin_busy(self.now, until);
        self.report_detail(MachineEvent::KernelEnter { cpu });
    }

    /// Marks the end of a CPU's busy time: a phase has ended, or a lock was granted.
    pub(crate) fn exit_kernel(&mut self, cpu: CpuId) {
        self.account_kernel(cpu);
        self.cpus[cpu.index()].kernel.end_busy();
        self.report_detail(MachineEvent::KernelExit { cpu });
    }

    /// Interrupts a phase that runs with interrupts on. The rest of the phase follows the interrupts.
    pub(crate) fn interrupt_phase(&mut self, cpu: CpuId) {
        if self.cpus[cpu.index()].kernel.try_suspend(self.now) {
            self.exit_kernel(cpu);
        }
    }

    /// Resumes a phase that was interrupted.
    pub(crate) fn resume_suspended(&mut self, cpu: CpuId) {
        let left = self.cpus[cpu.index()].kernel.take_suspended();
        self.extend_kernel_time(cpu, left);
        self.cpus[cpu.index()].kernel.set_irqs(true);
    }

    /// Adds the kernel time of a CPU up to now to its counters.
    pub(crate) fn account_kernel(&mut self, cpu: CpuId) {
        let host = &mut self.cpus[cpu.index()];
        let Some(time) = host.kernel.take_time(self.now) else { return };
        let task = host.task;
        self.counters.per_cpu[cpu.index()].add_kernel_time(time);
        if let Some(task) = task {
            self.account(task as usize);
        }
    }
}
