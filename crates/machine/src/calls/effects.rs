// SPDX-License-Identifier: GPL-2.0-or-later
//! Effects that the scheduler requests from the machine.

use crate::engine::Engine;
use crate::event::{EventKind, Lane};
use crate::parts::cpu::IdleLoop;
use crate::parts::speed::CpuFrequency;
use crate::state::Machine;
use fairlab_sched::ctx::Effect;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Applies the effects of a scheduler call, in their order. Interrupts leave at the end of the call's
    /// busy time.
    pub(crate) fn apply_effects(&mut self, took: Nanos) {
        for index in 0..self.effects.len() {
            match self.effects[index] {
                Effect::SendIpi { cpu, kind } => {
                    let at = self.now + took + self.hardware.ipi_latency;
                    self.events.push_in_lane(Lane::Ipis, at, EventKind::Ipi(cpu, kind));
                }
                Effect::Switch { cpu, prev, next, .. } => self.switch_task(cpu, prev, next),
                Effect::ArmTimer { cpu, at } => self.arm_timer(cpu, at),
                Effect::WakeGovernor { cpu, policy } => {
                    self.events.push(self.now + took, EventKind::GovernorWork(cpu, policy));
                }
                Effect::SetFrequency { cpu, capacity, khz } => {
                    let khz = if khz == 0 { self.hardware.khz_of(cpu, capacity) } else { Some(khz) };
                    self.switch_frequency(cpu, CpuFrequency::new(capacity, khz));
                }
            }
        }
        self.effects.clear();
    }

    /// Switches the task of a CPU: accounts the previous task and plans the next one.
    fn switch_task(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        // A path may switch after it has waited: that time belongs to the previous task.
        if self.kernel_takes_time {
            self.account_kernel(cpu);
        }
        if let Some(task) = self.tasks.index_of(prev) {
            self.account(task);
            let host = &mut self.tasks[task];
            host.running = false;
            host.cancel_completion();
            self.cpus[cpu.index()].task = None;
        } else if prev == self.sched.idle_task(cpu) {
            self.account_idle(cpu);
            self.counters.per_cpu[cpu.index()].end_idle();
            self.leave_idle_state(cpu);
        }
        if let Some(task) = self.tasks.index_of(next) {
            self.cpus[cpu.index()].task = Some(task as u32);
            let host = &mut self.tasks[task];
            host.running = true;
            host.cpu = cpu;
            host.accounted_until = self.now;
            self.record_fit(cpu);
            self.plan(task);
        } else if next == self.sched.idle_task(cpu) {
            self.record_frequency(cpu);
            self.counters.per_cpu[cpu.index()].begin_idle(self.now);
        }
        self.cpus[cpu.index()].idle_loop = IdleLoop::Outside;
    }

    fn arm_timer(&mut self, cpu: CpuId, at: Nanos) {
        if let Some(version) = self.cpus[cpu.index()].timer.arm(at) {
            self.events.push_timer(at.max(self.now), EventKind::Timer(cpu, version));
        }
    }
}
