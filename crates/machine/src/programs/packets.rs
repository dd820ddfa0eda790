// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps of the network softirq, and of ksoftirqd: packets and messages reach their receivers.

use crate::engine::{Capability, Engine};
use crate::interface::observation::{KernelPath, MachineEvent};
use crate::observer::Observer;
use crate::parts::kernel::{KernelWork, WakeSource};
use crate::parts::net::{NetStep, Packet};
use crate::parts::units::{FULL_SPEED, work_in};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_workload::workload::ChannelKind;

impl<E: Engine> Machine<E> {
    /// Executes one step of the network softirq on a CPU. Returns whether the CPU is busy.
    pub(crate) fn net_rx_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> bool {
        let may_defer = self.kernel_takes_time && self.sched.has(Capability::Ksoftirqd);
        let (jiffy, must_reschedule) = (self.jiffy(), self.sched.need_resched(cpu));
        match self.cpus[cpu.index()].kernel.net.step_rounds(jiffy, must_reschedule, may_defer) {
            NetStep::Nothing | NetStep::End => false,
            NetStep::Defer => {
                self.wake_ksoftirqd(observer, cpu);
                false
            }
            NetStep::Deliver(packet) => {
                self.receive_packet(observer, cpu, packet);
                false
            }
            NetStep::Process => self.process_packet(observer, cpu),
        }
    }

    /// Charges the time of the protocols for a packet. Returns whether it takes time.
    fn process_packet(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> bool {
        let kind = match self.cpus[cpu.index()].kernel.net.first_packet() {
            Some(Packet::Message(channel)) => self.sync.channel(channel).kind(),
            // A packet from outside counts as a datagram.
            Some(Packet::ForTask(..)) | None => ChannelKind::Udp,
        };
        let work = work_in(self.hardware.costs.loopback_softirq_ps(kind), FULL_SPEED);
        let speed = self.speed_of(cpu);
        let took = self.cpus[cpu.index()].kernel.charge(work, speed);
        if took == Nanos::ZERO {
            return false;
        }
        self.extend_kernel_time(cpu, took);
        self.cpus[cpu.index()].kernel.set_irqs(true);
        if self.wants_kernel_paths {
            let path = KernelPath::Softirq;
            let event = MachineEvent::Kernel { cpu, path, began: self.now, took, waited: Nanos::ZERO, ends: true };
            observer.machine_event(self.now, &event);
        }
        true
    }

    /// Delivers a packet that has passed the protocols, and wakes its receiver.
    fn receive_packet(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, packet: Packet) {
        match packet {
            Packet::ForTask(task, since) => {
                self.emit_waking(observer, task as usize, since);
                self.wake_now(observer, cpu, task as usize, false, WakeSource::Softirq);
            }
            Packet::Message(channel) => self.handle_message(observer, cpu, channel),
        }
    }

    /// Queues pending softirqs for ksoftirqd; lets the thread sleep if none is pending.
    pub(crate) fn check_softirqs(&mut self, cpu: CpuId, task: usize) {
        if self.sched.is_softirq_pending(cpu) || !self.cpus[cpu.index()].kernel.net.is_backlog_empty() {
            self.push_work(cpu, KernelWork::Softirqs);
        } else {
            self.continue_task(task);
        }
    }
}
