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
        let kind = state.kind();
        let mut costs = self.hardware.costs.transfer(kind, true).after_ps;
        if core::mem::take(&mut self.tasks[task].defers_message) {
            state.begin_arrival();
            self.defer_message(cpu, channel);
        } else {
            let receiver = self.deliver(observer, channel);
            if let Some(receiver) = receiver {
                self.wake(observer, cpu, receiver, kind != ChannelKind::Queue);
                costs += self.hardware.costs.message_wake_ps(kind);
                let last = self.tasks[receiver].cpu;
                if last != cpu {
                    costs += self.hardware.costs.message_wake_lines_ps(kind)[self.hardware.distance(last, cpu)];
                }
            }
        }
        self.charge_return(task, costs);
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
    /// task for a message. `is_again` says that the task has waited already.
    pub(crate) fn receive(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        channel: ObjectId,
        is_again: bool,
    ) -> StepOutcome {
        let kind = self.sync.channel(channel).kind();
        if !self.sync.channel(channel).receive_or_queue(task) {
            self.tasks[task].resume = ResumeAction::Receive(channel);
            if !is_again {
                self.charge_at_resume(task, self.hardware.costs.message_wait_ps(kind));
            }
            return StepOutcome::Wait;
        }
        while let Some(sender) = self.sync.channel(channel).pop_sender() {
            self.wake(observer, cpu, sender, true);
        }
        if let Some(reverse) = self.sync.channel(channel).reverse()
            && let Some(waiting) = self.sync.channel(reverse).pop_receiver()
        {
            self.wake(observer, cpu, waiting, true);
        }
        let moves = self.channel_lines_cost_ps(cpu, channel);
        self.charge_return(task, self.hardware.costs.transfer(kind, false).after_ps + moves);
        StepOutcome::Continue
    }

    /// Cost of a message before its transfer, in picoseconds at full capacity.
    ///
    /// What follows the transfer is the return path. A receiver that finds no message has executed the part before
    /// it when it blocks. Between the parts, the sender of a loopback message executes the delivering softirq,
    /// unless the message is deferred.
    fn message_cost_ps(&mut self, cpu: CpuId, task: usize, channel: ObjectId, sends: bool) -> u64 {
        let puts_off = self.tasks[task].defers_message;
        let kind = self.sync.channel(channel).kind();
        let costs = &self.hardware.costs;
        let is_loopback = matches!(kind, ChannelKind::Tcp | ChannelKind::Udp);
        let mut work = costs.transfer(kind, sends).before_ps;
        if is_loopback && sends && !puts_off {
            work += costs.loopback_softirq_ps(kind);
        }
        match kind {
            ChannelKind::Queue => 0,
            // Its lines move when the message is received.
            ChannelKind::Tcp | ChannelKind::Udp if !sends => work,
            _ => work + self.channel_lines_cost_ps(cpu, channel),
        }
    }

    /// Cost of moving the channel's cache lines to a CPU, in picoseconds; 0 if the CPU used the channel last.
    fn channel_lines_cost_ps(&mut self, cpu: CpuId, channel: ObjectId) -> u64 {
        let state = self.sync.channel(channel);
        let kind = state.kind();
        let Some(last) = state.move_to(cpu) else { return 0 };
        let ps = self.hardware.costs.channel_lines_ps(kind);
        ps[self.hardware.distance(last, cpu)]
    }
}
