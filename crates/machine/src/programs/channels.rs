// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages between tasks, and their costs.

use crate::engine::Engine;
use crate::interface::observation::MachineEvent;
use crate::observer::Observer;
use crate::parts::kernel::WakeSource;
use crate::parts::sync::{ResumeAction, StepOutcome};
use crate::parts::tasks::BytesToReceive;
use crate::parts::units::{FULL_SPEED, work_in};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_workload::step::{ObjectId, Step};
use fairlab_workload::workload::ChannelKind;

impl<E: Engine> Machine<E> {
    /// Charges the cost that precedes the transfer of a message: the system call and the copy. Returns
    /// whether that takes time.
    pub(crate) fn charge_before_transfer(&mut self, cpu: CpuId, task: usize) -> bool {
        let (channel, sent) = match self.tasks[task].step {
            Step::Send(channel, bytes) => (channel, Some(bytes)),
            Step::Offer { channel, .. } => (channel, Some(0)),
            Step::Receive(channel) | Step::ReceiveBytes { channel, .. } => (channel, None),
            _ => return false,
        };
        if core::mem::replace(&mut self.tasks[task].has_charged, true) {
            return false;
        }
        let state = self.sync.channel(channel);
        let is_loopback = state.kind().is_loopback();
        let is_appended = sent.is_some_and(|bytes| state.is_appended(bytes));
        self.tasks[task].appends_message = is_appended;
        self.tasks[task].defers_message = sent.is_some() && is_loopback && !is_appended && self.defers_messages(cpu);
        self.tasks[task].work_left = work_in(self.message_cost_ps(cpu, task, channel, sent), FULL_SPEED);
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
        bytes: u32,
    ) -> StepOutcome {
        let state = self.sync.channel(channel);
        if state.is_full() {
            state.queue_sender(task);
            self.tasks[task].resume = ResumeAction::Send(channel, bytes);
            return StepOutcome::Wait;
        }
        let (kind, reverse, is_appended) = (state.kind(), state.reverse(), state.is_appended(bytes));
        let mut costs = self.hardware.costs.transfer(kind, true).after_ps;
        let was_appended = core::mem::take(&mut self.tasks[task].appends_message);
        if is_appended {
            state.append(bytes);
            self.charge_return(task, self.hardware.costs.tcp(kind).append.after_ps);
            return StepOutcome::Continue;
        }
        if was_appended {
            // The acknowledgement came during the system call.
            costs += self.hardware.costs.loopback_softirq_ps(kind);
        }
        let bytes = state.begin_send(cpu, bytes);
        let defers = core::mem::take(&mut self.tasks[task].defers_message);
        if defers {
            state.begin_arrival(bytes);
        }
        if kind.is_acknowledged()
            && let Some(reverse) = reverse
        {
            self.sync.channel(reverse).set_answered();
        }
        if defers {
            self.defer_message(cpu, channel);
        } else {
            let receiver = self.deliver(observer, channel, bytes);
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
        let bytes = self.sync.channel(channel).end_arrival();
        if let Some(receiver) = self.deliver(observer, channel, bytes) {
            self.emit_waking(observer, receiver, self.now);
            self.wake_now(observer, cpu, receiver, true, WakeSource::Object);
        }
    }

    /// Adds a message to a channel. Returns the first waiting receiver.
    fn deliver(&mut self, observer: &mut dyn Observer<E>, channel: ObjectId, bytes: u64) -> Option<usize> {
        let state = self.sync.channel(channel);
        let receiver = state.add_message(bytes)?;
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
        let receives = self.tasks[task].receives;
        let state = self.sync.channel(channel);
        let kind = state.kind();
        let Some(bytes) = state.receive_or_queue(task, receives.map(|bytes| bytes.left.min(bytes.buffer))) else {
            self.tasks[task].resume = ResumeAction::Receive(channel);
            if !is_again {
                self.charge_at_resume(task, self.hardware.costs.message_wait_ps(kind));
            }
            return StepOutcome::Wait;
        };
        let acknowledged = state.acknowledge();
        while let Some(sender) = self.sync.channel(channel).pop_sender() {
            self.wake(observer, cpu, sender, true);
        }
        if kind == ChannelKind::Socket
            && let Some(reverse) = self.sync.channel(channel).reverse()
            && let Some(waiting) = self.sync.channel(reverse).pop_receiver()
        {
            self.wake(observer, cpu, waiting, true);
        }
        let costs = self.receive_cost_ps(cpu, channel, bytes, acknowledged);
        let rest = receives.map(|all| BytesToReceive { left: all.left - bytes as u32, ..all });
        self.tasks[task].receives = rest.filter(|rest| rest.left > 0);
        if let Some(rest) = self.tasks[task].receives {
            // The next system call of the step.
            self.tasks[task].resume = ResumeAction::Receive(channel);
            let between_ps = 1000 * rest.between.0;
            self.charge_at_resume(task, costs + between_ps + self.hardware.costs.transfer(kind, false).before_ps);
        } else {
            self.charge_return(task, costs);
        }
        StepOutcome::Continue
    }

    /// Cost of a receive after the transfer, in picoseconds at full capacity: the bytes, an acknowledgement, and the
    /// bytes that it pushes, which the receiver's CPU sends and delivers.
    fn receive_cost_ps(&mut self, cpu: CpuId, channel: ObjectId, bytes: u64, acknowledged: Option<u64>) -> u64 {
        let state = self.sync.channel(channel);
        let (kind, from) = (state.kind(), state.sent_from());
        let moves = self.channel_lines_cost_ps(cpu, channel);
        let costs = &self.hardware.costs;
        let mut ps = costs.transfer(kind, false).after_ps + moves;
        if bytes > 1 {
            ps += costs.message_bytes_ps(kind, false, bytes);
            if from != cpu {
                ps += costs.message_bytes_lines_ps(kind)[self.hardware.distance(from, cpu)] * bytes / 1024;
            }
        }
        if let Some(pushed) = acknowledged {
            let tcp = costs.tcp(kind);
            ps += tcp.acknowledge_ps + if pushed > 0 { tcp.push_ps } else { 0 };
        }
        ps
    }

    /// Cost of a message before its transfer, in picoseconds at full capacity.
    ///
    /// What follows the transfer is the return path. A receiver that finds no message has executed the part before
    /// it when it blocks. Between the parts, the sender of a loopback message executes the delivering softirq,
    /// unless the message is deferred.
    fn message_cost_ps(&mut self, cpu: CpuId, task: usize, channel: ObjectId, sent: Option<u32>) -> u64 {
        let kind = self.sync.channel(channel).kind();
        if kind == ChannelKind::Queue {
            return 0;
        }
        let (is_deferred, is_appended) = (self.tasks[task].defers_message, self.tasks[task].appends_message);
        let costs = &self.hardware.costs;
        let mut work =
            if is_appended { costs.tcp(kind).append.before_ps } else { costs.transfer(kind, sent.is_some()).before_ps };
        if let Some(bytes) = sent.filter(|bytes| *bytes > 1) {
            work += costs.message_bytes_ps(kind, true, u64::from(bytes));
        }
        if kind.is_loopback() {
            if sent.is_none() {
                // Its lines move when the message is received.
                return work;
            }
            if !is_deferred && !is_appended {
                work += costs.loopback_softirq_ps(kind);
            }
        }
        work + self.channel_lines_cost_ps(cpu, channel)
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
