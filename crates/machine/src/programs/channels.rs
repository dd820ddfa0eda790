// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages between tasks, and their costs.

use crate::engine::Engine;
use crate::interface::observation::MachineEvent;
use crate::observer::Observer;
use crate::parts::sync::{ResumeAction, StepOutcome};
use crate::parts::units::{FULL_SPEED, work_in};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::{ObjectId, Step};
use fairlab_workload::workload::ChannelKind;

impl<E: Engine> Machine<E> {
    /// Charges the cost that precedes the transfer of a message: the system call and the copy. Returns
    /// whether that takes time.
    pub(crate) fn charge_before_transfer(&mut self, cpu: CpuId, task: usize) -> bool {
        let (channel, sends) = match self.tasks[task].step {
            Step::Send(channel) | Step::Offer { channel, .. } => (channel, true),
            Step::Receive(channel) => (channel, false),
            _ => return false,
        };
        if core::mem::replace(&mut self.tasks[task].has_charged, true) {
            return false;
        }
        self.tasks[task].defers_message =
            sends && self.sync.channel(channel).is_loopback() && self.defers_messages(cpu);
        self.tasks[task].work_left = work_in(self.message_cost_ps(cpu, task, channel, sends), FULL_SPEED);
        self.replan(task);
        self.tasks[task].work_left > 0
    }

    /// Sends a message through a channel and wakes a receiver, or queues the running task until there is
    /// space.
    pub(crate) fn send(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        channel: ObjectId,
    ) -> StepOutcome {
        let state = self.sync.channel(channel);
        if state.is_full() {
            state.queue_sender(task);
            self.tasks[task].resume = ResumeAction::Send(channel);
            return StepOutcome::Wait;
        }
        if core::mem::take(&mut self.tasks[task].defers_message) {
            state.begin_arrival();
            self.defer_message(cpu, channel);
        } else {
            let receiver = self.deliver(observer, channel);
            let is_sync = self.sync.channel(channel).kind() != ChannelKind::Queue;
            if let Some(receiver) = receiver {
                self.wake(observer, cpu, receiver, is_sync);
            }
        }
        self.charge_afterwards(task, channel, 0);
        StepOutcome::Continue
    }

    /// Delivers a message that a softirq has received.
    pub(crate) fn handle_message(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, channel: ObjectId) {
        self.sync.channel(channel).end_arrival();
        if let Some(receiver) = self.deliver(observer, channel) {
            self.emit_waking(observer, receiver, self.now);
            self.wake_now(observer, cpu, receiver, true, false);
        }
    }

    /// Adds a message to a channel. Returns the first waiting receiver.
    fn deliver(&mut self, observer: &mut dyn Observer<E>, channel: ObjectId) -> Option<usize> {
        let state = self.sync.channel(channel);
        let receiver = state.add_message()?;
        if state.kind() == ChannelKind::Queue {
            observer.machine_event(self.now, &MachineEvent::TimeRecorded { task: receiver });
        }
        Some(receiver)
    }

    /// Receives a message from a channel and wakes senders once there is enough space, or queues the running
    /// task for a message.
    pub(crate) fn receive(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        channel: ObjectId,
    ) -> StepOutcome {
        if !self.sync.channel(channel).receive_or_queue(task) {
            self.tasks[task].resume = ResumeAction::Receive(channel);
            return StepOutcome::Wait;
        }
        while let Some(sender) = self.sync.channel(channel).pop_sender() {
            self.wake(observer, cpu, sender, true);
        }
        let moves = self.channel_lines_cost_ps(cpu, channel);
        self.charge_afterwards(task, channel, moves);
        StepOutcome::Continue
    }

    /// Charges the cost that follows the transfer of a message, and `moves`, the cost of its cache lines in
    /// picoseconds.
    fn charge_afterwards(&mut self, task: usize, channel: ObjectId, moves: u64) {
        let half = match self.sync.channel(channel).kind() {
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) => self.hardware.costs.transfer_ps(kind) / 2,
            _ => 0,
        };
        self.delay(task, half + moves);
    }

    /// Cost of a message before its transfer, in picoseconds at full capacity.
    ///
    /// With TCP and UDP, sender and receiver each pay half of the cost before the transfer and half after it.
    /// The sender's second half is the return path after the wake-up. A receiver that finds no message has
    /// done the first half when it blocks. Between the halves the sender executes the delivering softirq,
    /// unless the message is deferred. Other channels charge the whole cost before the transfer.
    fn message_cost_ps(&mut self, cpu: CpuId, task: usize, channel: ObjectId, sends: bool) -> u64 {
        let puts_off = self.tasks[task].defers_message;
        let kind = self.sync.channel(channel).kind();
        let costs = &self.hardware.costs;
        let work = match kind {
            ChannelKind::Queue => return 0,
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) if !sends => return costs.transfer_ps(kind) / 2,
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) => {
                costs.transfer_ps(kind) / 2 + if puts_off { 0 } else { costs.loopback_softirq_ps() }
            }
            kind => costs.transfer_ps(kind),
        };
        work + self.channel_lines_cost_ps(cpu, channel)
    }

    /// Cost of moving the channel's cache lines to a CPU, in picoseconds; 0 if the CPU used the channel last.
    fn channel_lines_cost_ps(&mut self, cpu: CpuId, channel: ObjectId) -> u64 {
        let state = self.sync.channel(channel);
        let lines = self.hardware.channel_lines.by_kind(state.kind());
        let (local, remote) = self.hardware.costs.channel_line_ps();
        let Some(last) = state.move_to(cpu) else { return 0 };
        let places = &self.hardware.topology.cpus;
        lines * if places[last.index()].llc == places[cpu.index()].llc { local } else { remote }
    }
}
