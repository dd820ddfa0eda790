// SPDX-License-Identifier: GPL-2.0-or-later
//! Work of tasks, and the time that it takes ([`crate::parts::units`]). Only the time of a completion is
//! rounded (up).

use crate::engine::Engine;
use crate::event::EventKind;
use crate::interface::observation::MachineEvent;
use crate::parts::units::{FULL_SPEED, work_in};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::state::snapshot::TaskFit;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Charges a running task for the time since the last call. Several calls at one instant are common.
    #[inline]
    pub(crate) fn account(&mut self, task: usize) {
        if self.tasks[task].accounted_until != self.now {
            self.account_time(task);
        }
    }

    #[inline(never)]
    fn account_time(&mut self, task: usize) {
        let host = &mut self.tasks[task];
        let time = self.now.0 - host.accounted_until.0;
        let cpu = host.cpu;
        let state = &self.cpus[cpu.index()];
        self.kinds.record(&mut host.residency, cpu, state.rate.freq(), Nanos(time));
        host.runtime_ns += time as i64;
        host.accounted_until = self.now;
        if state.kernel.is_busy() {
            host.kernel_ns += time as i64;
            return;
        }
        self.counters.per_cpu[cpu.index()].work += Nanos(time);
        let speed = self.speed_of(cpu);
        self.tasks[task].do_work(time, speed);
    }

    /// Plans the completion of a task's work at the present speed of its CPU.
    ///
    /// A CPU that is busy in the kernel plans later, when the task resumes.
    pub(crate) fn plan(&mut self, task: usize) {
        let kernel = &mut self.cpus[self.tasks[task].cpu.index()].kernel;
        if kernel.is_busy() {
            return;
        }
        kernel.end_need_of_plan();
        let speed = self.speed_of(self.tasks[task].cpu);
        let host = &mut self.tasks[task];
        let time = host.time_left(self.now, speed);
        host.cancel_completion();
        let Some(time) = time else { return };
        let at = Nanos(self.now.0.saturating_add(time));
        let kind = EventKind::Completion(host.cpu, task as u32, host.completion_version);
        if host.running {
            let cpu = host.cpu;
            self.push_in_slot(cpu, at, kind);
        } else {
            self.events.push(at, kind);
        }
    }

    /// Plans a task's completion if the previous plan was cancelled because its CPU entered the kernel.
    #[inline]
    pub(crate) fn replan_after_kernel(&mut self, cpu: CpuId, task: usize) {
        if self.cpus[cpu.index()].kernel.needs_plan() {
            self.plan(task);
        }
    }

    /// Adds work before the rest of a running task's step, in picoseconds at full capacity.
    pub(crate) fn delay(&mut self, task: usize, ps: u64) {
        if ps > 0 {
            self.account(task);
            self.tasks[task].work_left += work_in(ps, FULL_SPEED);
            self.plan(task);
        }
    }

    /// Charges time that an interrupt, or the hypervisor, has just taken from a CPU. Its task has made no
    /// progress meanwhile.
    pub(crate) fn charge_lost_time(&mut self, cpu: CpuId, time: Nanos, is_stolen: bool) {
        if is_stolen {
            self.sched.handle_steal_time(cpu, time);
        } else {
            self.sched.handle_irq_time(cpu, time);
        }
        let Some(task) = self.running_task(cpu) else { return };
        self.account(task);
        let speed = self.speed_of(cpu);
        let host = &mut self.tasks[task];
        host.runtime_ns -= time.0 as i64;
        host.work_left += u128::from(time.0) * u128::from(speed);
        self.plan(task);
    }

    /// Updates whether a CPU fits its running task. Called when the task begins to run and at each tick.
    #[inline]
    pub(crate) fn record_fit(&mut self, cpu: CpuId) {
        if self.kinds.differ() {
            self.record_fit_among_kinds(cpu);
        }
    }

    fn record_fit_among_kinds(&mut self, cpu: CpuId) {
        if let Some(task) = self.cpus[cpu.index()].task {
            self.account(task as usize);
            let host = &mut self.tasks[task as usize];
            let fit = host.id.map_or(TaskFit::Right, |id| self.sched.task_fit(id, cpu));
            host.residency.fit = fit;
            self.report_detail(MachineEvent::Fit { task: task as usize, fit });
        }
    }
}
