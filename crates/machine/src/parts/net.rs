// SPDX-License-Identifier: GPL-2.0-or-later
//! Network state of a CPU: the backlog of packets, and the rounds of the softirq that receives them.
//!
//! Models `net_rx_action()` and the rounds of `handle_softirqs()` (6.1, until 6.9 `__do_softirq()`). Rules:
//! 1. A round ends when the backlog is empty, after 300 packets, or after two jiffies, which are checked
//!    every 64 packets.
//! 2. If packets are left, another round follows, up to ten in all, unless 2 ms have passed (counted in
//!    jiffies) or the CPU must reschedule. The remaining packets are then left to ksoftirqd.

use fairlab_sched::units::Nanos;
use fairlab_workload::step::ObjectId;
use std::collections::VecDeque;

/// Maximum number of packets in a round (`net.core.netdev_budget`).
const NETDEV_BUDGET: u32 = 300;
/// Number of packets between two checks of the time: the NAPI weight of a device.
const NAPI_WEIGHT: u32 = 64;
/// Maximum length of a round in jiffies (`net.core.netdev_budget_usecs`).
const NETDEV_BUDGET_JIFFIES: u64 = 2;
/// Maximum number of rounds (`MAX_SOFTIRQ_RESTART`).
const MAX_SOFTIRQ_RESTART: u32 = 10;
/// Maximum number of packets in a backlog (`net.core.netdev_max_backlog`). More are dropped.
const MAX_BACKLOG: usize = 1000;

/// A packet in a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// A packet from outside for a task, with its time of arrival.
    ForTask(u32, Nanos),
    /// A message through a channel over the loopback device.
    Message(ObjectId),
}

/// Progress of a run of the network softirq.
#[derive(Clone, Copy, Debug)]
struct SoftirqRounds {
    /// Number of completed rounds.
    rounds: u32,
    /// Number of packets in the present round.
    taken: u32,
    /// Jiffy at which the present round ends.
    round_until: u64,
    /// Jiffy from which no further round begins.
    until: u64,
}

/// Network state of a CPU: backlog, softirq and ksoftirqd.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetSoftirq {
    backlog: VecDeque<Packet>,
    run: Option<SoftirqRounds>,
    /// Whether the first packet of the backlog has been charged.
    in_hand: bool,
    /// Index of the CPU's ksoftirqd among the machine's tasks; `None` until it is needed.
    pub(crate) thread: Option<usize>,
}

/// Next step of the network softirq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetStep {
    /// The softirq is not in progress.
    Nothing,
    /// The softirq has ended.
    End,
    /// The softirq has ended with packets left, which wait for ksoftirqd.
    Defer,
    /// The protocols process a packet, which takes time.
    Process,
    /// A packet has passed the protocols and reaches its receiver.
    Deliver(Packet),
}

impl NetSoftirq {
    /// Whether the softirq is in progress.
    #[inline]
    pub(crate) const fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// Whether packets wait and the softirq is not in progress.
    #[inline]
    pub(crate) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty() && self.run.is_none()
    }

    /// Whether no packet waits.
    #[inline]
    pub(crate) fn is_backlog_empty(&self) -> bool {
        self.backlog.is_empty()
    }

    /// First packet that waits.
    pub(crate) fn first_packet(&self) -> Option<Packet> {
        self.backlog.front().copied()
    }

    /// Number of packets that wait.
    pub(crate) fn backlog_len(&self) -> usize {
        self.backlog.len()
    }

    /// Number of packets for which the backlog has space. More are dropped.
    pub(crate) fn room(&self) -> usize {
        MAX_BACKLOG.saturating_sub(self.backlog.len())
    }

    /// Adds a packet to the backlog.
    pub(crate) fn push(&mut self, packet: Packet) {
        self.backlog.push_back(packet);
    }

    /// Begins the softirq, unless it is in progress or the backlog is empty. It may take `max_jiffies`.
    pub(crate) fn begin(&mut self, jiffy: u64, max_jiffies: u64) {
        if self.run.is_none() && !self.backlog.is_empty() {
            self.run = Some(SoftirqRounds {
                rounds: 0,
                taken: 0,
                round_until: jiffy + NETDEV_BUDGET_JIFFIES,
                until: jiffy + max_jiffies,
            });
        }
    }

    /// Advances the softirq to its next step. `must_reschedule` ends it after a round, if `may_defer`.
    pub(crate) fn step_rounds(&mut self, jiffy: u64, must_reschedule: bool, may_defer: bool) -> NetStep {
        let Some(run) = &mut self.run else { return NetStep::Nothing };
        if core::mem::take(&mut self.in_hand) {
            return NetStep::Deliver(self.backlog.pop_front().expect("a charged packet is in the backlog"));
        }
        if self.backlog.is_empty() {
            self.run = None;
            return NetStep::End;
        }
        let is_late = run.taken > 0 && run.taken.is_multiple_of(NAPI_WEIGHT) && jiffy >= run.round_until;
        if run.taken == NETDEV_BUDGET || is_late {
            (run.rounds, run.taken, run.round_until) = (run.rounds + 1, 0, jiffy + NETDEV_BUDGET_JIFFIES);
            let is_over = run.rounds == MAX_SOFTIRQ_RESTART || jiffy >= run.until || must_reschedule;
            if is_over && may_defer {
                self.run = None;
                return NetStep::Defer;
            }
        }
        run.taken += 1;
        self.in_hand = true;
        NetStep::Process
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a softirq that has begun with `nr_packets`.
    fn softirq(nr_packets: u32) -> NetSoftirq {
        let mut net = NetSoftirq::default();
        (0..nr_packets).for_each(|task| net.push(Packet::ForTask(task, Nanos::ZERO)));
        net.begin(10, 2);
        net
    }

    #[test]
    fn each_packet_is_processed_and_then_delivered() {
        let mut net = softirq(2);
        let steps = [0, 1].map(|task| [NetStep::Process, NetStep::Deliver(Packet::ForTask(task, Nanos::ZERO))]);
        for step in steps.into_iter().flatten().chain([NetStep::End, NetStep::Nothing]) {
            assert_eq!(net.step_rounds(10, true, true), step);
        }
    }

    #[test]
    fn a_full_round_is_followed_by_ksoftirqd_if_the_cpu_must_reschedule() {
        let nr_until_deferred = |must_reschedule, may_defer| {
            let mut net = softirq(500);
            let mut steps = std::iter::repeat_with(|| net.step_rounds(10, must_reschedule, may_defer));
            let end = steps.find(|step| matches!(step, NetStep::Defer | NetStep::End)).expect("it ends");
            (end, net.backlog_len())
        };
        assert_eq!(nr_until_deferred(true, true), (NetStep::Defer, 200));
        assert_eq!(nr_until_deferred(false, true), (NetStep::End, 0));
        assert_eq!(nr_until_deferred(true, false), (NetStep::End, 0));
    }
}
