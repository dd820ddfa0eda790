// SPDX-License-Identifier: GPL-2.0-or-later
//! Dispatch of events: each goes to the part or to the CPU that it concerns.

use crate::engine::Engine;
use crate::event::{EventKind, Lane, QueuedEvent};
use crate::hardware::InterruptLoad;
use crate::interface::error::SimResult;
use crate::observer::{MachineEvent, Observer};
use crate::parts::speed::CpuFrequency;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;

impl<E: Engine> Machine<E> {
    /// Handles an event and lets its CPU settle.
    pub(crate) fn handle_event(&mut self, observer: &mut dyn Observer<E>, event: QueuedEvent) -> SimResult {
        let cpu = match event.kind {
            EventKind::Jiffy(number) => {
                self.sched.handle_jiffy(number);
                self.events.push_in_lane(Lane::Ticks, event.key.at + self.hardware.tick, EventKind::Jiffy(number + 1));
                return Ok(());
            }
            EventKind::Frequency(cpu, step) => {
                let (_, _, capacity) = self.hardware.frequency_steps[step as usize];
                self.sched.handle_frequency(cpu, capacity);
                self.change_speed(cpu, CpuFrequency::new(capacity, None));
                return Ok(());
            }
            EventKind::Turbo(package) => {
                self.evaluate_turbo(observer, package as usize);
                return Ok(());
            }
            EventKind::Switched(cpu, version) => {
                if let Some(freq) = self.cpus[cpu.index()].rate.switched(version) {
                    self.change_speed(cpu, freq);
                }
                return Ok(());
            }
            EventKind::Completion(cpu, task, version) => {
                let host = &self.tasks[task as usize];
                if version != host.completion_version || !host.running {
                    return Ok(());
                }
                return self.settle(observer, cpu);
            }
            EventKind::KernelDone(cpu, version) => return self.end_phase(observer, cpu, version),
            EventKind::Interrupt(index) => {
                let load = self.hardware.interrupts[index as usize];
                self.events.push(event.key.at + load.every, event.kind);
                if !self.sched.is_online(load.cpu) {
                    return Ok(());
                }
                self.charge_lost_time(load.cpu, load.duration, load.is_stolen);
                let InterruptLoad { cpu, duration: took, is_stolen, .. } = load;
                observer.machine_event(self.now, &MachineEvent::LostTime { cpu, took, is_stolen });
                return self.settle(observer, load.cpu);
            }
            EventKind::Packets(index) => {
                let every = self.workload.packets[index as usize].every;
                self.events.push(event.key.at + every, event.kind);
                let Some(cpu) = self.queue_packets(index as usize) else { return Ok(()) };
                return self.handle_interrupt(observer, cpu, EventKind::NetRx(cpu));
            }
            EventKind::Snapshot => {
                observer.snapshot(self);
                let every = self.snapshot_every.expect("there is a snapshot, so there is a period");
                self.events.push(event.key.at + every, event.kind);
                return Ok(());
            }
            EventKind::Background(cpu, index) if !self.sched.is_online(cpu) => {
                self.restart_background(index as usize, event.key.at);
                return Ok(());
            }
            EventKind::Tick(cpu) => {
                let next = event.key.at + self.hardware.tick;
                self.events.push_in_lane(Lane::Ticks, next, event.kind);
                self.cpus[cpu.index()].idle.record_tick(next);
                cpu
            }
            EventKind::PollLimit(cpu) | EventKind::LateTick(cpu) => cpu,
            EventKind::GovernorWork(cpu, _) | EventKind::Background(cpu, _) => cpu,
            EventKind::Ipi(cpu, _) | EventKind::Timer(cpu, _) | EventKind::NetRx(cpu) => cpu,
            EventKind::SleepEnd(_, task, _) => self.tasks[task as usize].sleep_cpu,
            EventKind::Fork(cpu, _) if self.sched.is_online(cpu) => cpu,
            EventKind::Fork(..) => self.first_online_cpu(),
            EventKind::Change(index) => self.cpu_of_change(index as usize),
        };
        match event.kind {
            kind if self.is_stale(cpu, kind) => Ok(()),
            // All CPUs settle after a change, each once.
            EventKind::Change(index) if self.is_kernel_quiescent(cpu) => self.apply_change(observer, index as usize),
            kind @ (EventKind::Fork(..) | EventKind::Change(_)) => self.queue_process_work(observer, cpu, kind),
            EventKind::PollLimit(_) => {
                if self.end_polling(cpu) {
                    self.settle(observer, cpu)
                } else {
                    Ok(())
                }
            }
            EventKind::LateTick(_) => self.handle_interrupt(observer, cpu, EventKind::Tick(cpu)),
            kind => self.handle_interrupt(observer, cpu, kind),
        }
    }

    /// Whether a CPU has no kernel work, so that a request of the scenario is executed at once.
    fn is_kernel_quiescent(&self, cpu: CpuId) -> bool {
        self.is_quiescent(cpu) && !self.sched.is_in_path(cpu)
    }
}
