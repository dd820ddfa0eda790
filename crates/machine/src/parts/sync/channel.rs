// SPDX-License-Identifier: GPL-2.0-or-later
//! Channels: messages that wait, and the tasks that wait for a message or for space.

use fairlab_sched::ids::CpuId;
use fairlab_workload::step::ObjectId;
use fairlab_workload::workload::{Channel, ChannelKind};
use std::collections::VecDeque;

/// State of a channel, with indices of the machine's tasks.
#[derive(Debug)]
pub(crate) struct ChannelState {
    channel: Channel,
    queued: u32,
    /// Messages that wait for a softirq.
    arriving: u32,
    /// Last CPU that used the channel's data.
    used_by: Option<CpuId>,
    senders: VecDeque<usize>,
    receivers: VecDeque<usize>,
}

impl ChannelState {
    /// Returns an empty channel.
    pub(crate) fn new(channel: &Channel) -> Self {
        Self {
            channel: *channel,
            queued: 0,
            arriving: 0,
            used_by: None,
            senders: VecDeque::new(),
            receivers: VecDeque::new(),
        }
    }

    /// Kind of the channel.
    #[inline]
    pub(crate) fn kind(&self) -> ChannelKind {
        self.channel.kind
    }

    /// Whether messages pass the loopback device.
    #[inline]
    pub(crate) fn is_loopback(&self) -> bool {
        matches!(self.channel.kind, ChannelKind::Tcp | ChannelKind::Udp)
    }

    /// Whether there is no space for a message.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.queued + self.arriving >= self.channel.capacity
    }

    /// Queues a task that waits for space.
    pub(crate) fn queue_sender(&mut self, task: usize) {
        self.senders.push_back(task);
    }

    /// Adds a message that waits for a softirq.
    pub(crate) fn begin_arrival(&mut self) {
        self.arriving += 1;
    }

    /// Removes a message that a softirq has received; it must be delivered.
    pub(crate) fn end_arrival(&mut self) {
        self.arriving -= 1;
    }

    /// Adds a message. Removes and returns the first waiting receiver.
    #[inline]
    pub(crate) fn add_message(&mut self) -> Option<usize> {
        self.queued += 1;
        self.receivers.pop_front()
    }

    /// Takes a message, or queues the task for one. Returns whether it got one.
    #[inline]
    pub(crate) fn receive_or_queue(&mut self, task: usize) -> bool {
        if self.queued == 0 {
            self.receivers.push_back(task);
            return false;
        }
        self.queued -= 1;
        true
    }

    /// Removes and returns the first waiting sender, if there is enough space to wake one.
    #[inline]
    pub(crate) fn pop_sender(&mut self) -> Option<usize> {
        if self.queued <= self.channel.wake_senders_at { self.senders.pop_front() } else { None }
    }

    /// Channel in the other direction of the same pair of sockets.
    #[inline]
    pub(crate) fn reverse(&self) -> Option<ObjectId> {
        self.channel.reverse
    }

    /// Removes and returns the first waiting receiver, although there may be no message for it.
    pub(crate) fn pop_receiver(&mut self) -> Option<usize> {
        self.receivers.pop_front()
    }

    /// Records that a CPU uses the channel's data. Returns the CPU that had it last, if it is a different one.
    #[inline]
    pub(crate) fn move_to(&mut self, cpu: CpuId) -> Option<CpuId> {
        self.used_by.replace(cpu).filter(|&last| last != cpu)
    }
}
