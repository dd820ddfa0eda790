// SPDX-License-Identifier: GPL-2.0-or-later
//! Channels: messages that wait, and the tasks that wait for a message or for space.

use fairlab_sched::ids::CpuId;
use fairlab_workload::step::ObjectId;
use fairlab_workload::workload::{Channel, ChannelKind};
use std::collections::VecDeque;

/// Bytes of a full TCP segment over the loopback device: 65,536 less the headers.
const LOOPBACK_SEGMENT_BYTES: u64 = 65_483;

/// State of a channel, with indices of the machine's tasks.
#[derive(Debug)]
pub(crate) struct ChannelState {
    channel: Channel,
    /// Messages that can be received, and their bytes.
    queued: u32,
    queued_bytes: u64,
    /// Messages that wait for a softirq, and their bytes.
    arriving: u32,
    arriving_bytes: u64,
    /// Messages that wait for an acknowledgement, and their bytes.
    appended: u32,
    appended_bytes: u64,
    /// Whether a message has been sent and not acknowledged.
    is_unacknowledged: bool,
    /// Whether messages of the other direction carry acknowledgements.
    is_answered: bool,
    /// CPU that sent the last message.
    sent_from: CpuId,
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
            queued_bytes: 0,
            arriving: 0,
            arriving_bytes: 0,
            appended: 0,
            appended_bytes: 0,
            is_unacknowledged: false,
            is_answered: false,
            sent_from: CpuId(0),
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

    /// Whether there is no space for a message.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.queued + self.arriving + self.appended >= self.channel.capacity
    }

    /// Queues a task that waits for space.
    pub(crate) fn queue_sender(&mut self, task: usize) {
        self.senders.push_back(task);
    }

    /// Adds a message that waits for a softirq.
    pub(crate) fn begin_arrival(&mut self, bytes: u64) {
        self.arriving += 1;
        self.arriving_bytes += bytes;
    }

    /// Removes a message that a softirq has received; it must be delivered. Returns its bytes: messages count as
    /// equally long.
    pub(crate) fn end_arrival(&mut self) -> u64 {
        let bytes = self.arriving_bytes / u64::from(self.arriving);
        self.arriving -= 1;
        self.arriving_bytes -= bytes;
        bytes
    }

    /// Whether a message that is sent now is only appended to those before it: one of them is not acknowledged, and
    /// together they do not fill a segment.
    pub(crate) fn is_appended(&self, bytes: u32) -> bool {
        self.channel.is_delayed
            && self.is_unacknowledged
            && self.appended_bytes + u64::from(bytes) < LOOPBACK_SEGMENT_BYTES
    }

    /// Appends a message to those that wait for an acknowledgement.
    pub(crate) fn append(&mut self, bytes: u32) {
        self.appended += 1;
        self.appended_bytes += u64::from(bytes);
    }

    /// Records that a CPU sends a message. Returns its bytes, with those of messages that were appended and leave with it.
    #[inline]
    pub(crate) fn begin_send(&mut self, cpu: CpuId, bytes: u32) -> u64 {
        self.is_unacknowledged = true;
        self.sent_from = cpu;
        self.queued += core::mem::take(&mut self.appended);
        core::mem::take(&mut self.appended_bytes) + u64::from(bytes)
    }

    /// Adds a message. Removes and returns the first waiting receiver.
    #[inline]
    pub(crate) fn add_message(&mut self, bytes: u64) -> Option<usize> {
        self.queued += 1;
        self.queued_bytes += bytes;
        self.receivers.pop_front()
    }

    /// Takes a message, or with a buffer as many bytes as fit into it. Messages count as equally long. Returns the number
    /// of bytes; without a message, queues the task and returns `None`.
    #[inline]
    pub(crate) fn receive_or_queue(&mut self, task: usize, buffer: Option<u32>) -> Option<u64> {
        if self.queued == 0 {
            self.receivers.push_back(task);
            return None;
        }
        if let Some(buffer) = buffer {
            return Some(self.take_bytes(u64::from(buffer)));
        }
        let bytes = if self.queued == 1 { self.queued_bytes } else { self.queued_bytes / u64::from(self.queued) };
        self.queued -= 1;
        self.queued_bytes -= bytes;
        Some(bytes)
    }

    /// Takes at most this many bytes. A message leaves with its last byte.
    fn take_bytes(&mut self, most: u64) -> u64 {
        let left = self.queued_bytes.saturating_sub(most);
        let taken = self.queued_bytes - left;
        let messages = u64::from(self.queued) * left;
        self.queued = if left == 0 { 0 } else { messages.div_ceil(self.queued_bytes) as u32 };
        self.queued_bytes = left;
        taken
    }

    /// Acknowledges messages once all are received, unless an answer will do it. Returns the number of bytes that were
    /// appended and are received now; `None` without an acknowledgement.
    pub(crate) fn acknowledge(&mut self) -> Option<u64> {
        // Appended messages cannot wait for an answer, which may depend on them.
        let waits_for_answer = self.is_answered && self.appended == 0;
        if self.queued > 0 || waits_for_answer || !self.is_unacknowledged || !self.channel.kind.is_acknowledged() {
            return None;
        }
        let pushed = core::mem::take(&mut self.appended_bytes);
        self.queued = core::mem::take(&mut self.appended);
        self.queued_bytes = pushed;
        self.is_unacknowledged = self.queued > 0;
        Some(pushed)
    }

    /// Records that a message of the other direction acknowledges those of this one.
    pub(crate) fn set_answered(&mut self) {
        self.is_answered = true;
    }

    /// CPU that sent the last message.
    pub(crate) fn sent_from(&self) -> CpuId {
        self.sent_from
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

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(is_delayed: bool) -> ChannelState {
        ChannelState::new(&Channel { is_delayed, ..Channel::new(ChannelKind::Tcp, 8) })
    }

    /// Sends a message as a machine does, and returns whether it was only appended.
    fn send(state: &mut ChannelState, bytes: u32) -> bool {
        if state.is_appended(bytes) {
            state.append(bytes);
            return true;
        }
        let bytes = state.begin_send(CpuId(0), bytes);
        state.add_message(bytes);
        false
    }

    #[test]
    fn messages_are_appended_until_the_one_before_them_is_acknowledged() {
        let mut state = channel(true);
        assert_eq!([10, 20, 30].map(|bytes| send(&mut state, bytes)), [false, true, true]);
        assert_eq!(state.receive_or_queue(1, None), Some(10));
        assert_eq!(state.acknowledge(), Some(50), "both are pushed");
        assert!(send(&mut state, 5), "what was pushed is not acknowledged");
        assert_eq!(state.receive_or_queue(1, Some(8192)), Some(50));
        assert_eq!((state.acknowledge(), state.acknowledge()), (Some(5), None), "one message is there");
    }

    #[test]
    fn a_full_segment_is_sent_without_an_acknowledgement() {
        let mut state = channel(true);
        assert_eq!([8000; 10].map(|bytes| send(&mut state, bytes)), [&[false][..], &[true; 8], &[false]].concat()[..]);
        assert_eq!(state.receive_or_queue(1, Some(100_000)), Some(80_000));
    }

    #[test]
    fn an_answer_acknowledges_unless_messages_wait_for_it() {
        let mut state = channel(false);
        assert!(!send(&mut state, 1));
        state.set_answered();
        assert_eq!((state.receive_or_queue(1, None), state.acknowledge()), (Some(1), None));
        let mut state = channel(true);
        state.set_answered();
        assert_eq!([1, 2].map(|bytes| send(&mut state, bytes)), [false, true]);
        assert_eq!((state.receive_or_queue(1, None), state.acknowledge()), (Some(1), Some(2)));
    }

    #[test]
    fn a_message_leaves_with_its_last_byte() {
        let mut state = channel(false);
        assert_eq!([100, 100].map(|bytes| send(&mut state, bytes)), [false, false]);
        assert_eq!([Some(30), Some(100)].map(|buffer| state.receive_or_queue(1, buffer)), [Some(30), Some(100)]);
        assert_eq!(state.queued, 1);
        assert_eq!((state.receive_or_queue(1, None), state.queued), (Some(70), 0));
        assert_eq!(state.receive_or_queue(1, None), None, "the task waits");
    }
}
