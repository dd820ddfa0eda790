// SPDX-License-Identifier: GPL-2.0-or-later
//! Cost model: the time that kernel code takes on a machine.

use fairlab_board::{
    ByDistance, CallCost, CallCosts, ChannelCosts, MachineDescription, OPERATIONS, Processor, TcpCosts,
};
use fairlab_sched::work::{KernelOp, NR_OPS, OpCounts};
use fairlab_workload::workload::ChannelKind;

/// Cost of each operation, in picoseconds on a CPU of capacity 1024 at its highest frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostModel {
    ps: [u64; NR_OPS],
    /// Costs of system calls and cache lines; `None` if they have no cost.
    calls: Option<CallCosts>,
    /// Cost of the tracer for one idle-CPU search, in picoseconds; 0 without a tracer.
    tracer_ps: u64,
}

impl CostModel {
    /// Returns the zero-cost model: kernel code takes no time.
    pub const fn zero_cost() -> Self {
        Self { ps: [0; NR_OPS], calls: None, tracer_ps: 0 }
    }

    /// Returns the cost model of a machine; without facts of its processor, that is [`Self::zero_cost`].
    pub fn from_machine(machine: &MachineDescription) -> Self {
        machine.processor().map_or(Self::zero_cost(), Self::from_processor)
    }

    /// Returns the cost model of a processor.
    pub fn from_processor(processor: &Processor) -> Self {
        let costs = processor.costs();
        let mut model = Self { calls: Some(costs.calls), ..Self::zero_cost() };
        for (operation, ps) in OPERATIONS.into_iter().zip(costs.operations) {
            let is_known = model.set_by_name(operation, ps);
            debug_assert!(is_known, "{operation} is an operation of the scheduler");
        }
        model
    }

    /// Enables the tracer of idle-CPU searches from the start, at this cost for each search in picoseconds. 0 disables
    /// it. The cost belongs to a workload, not to a machine.
    pub const fn enable_tracer(&mut self, ps: u64) {
        self.tracer_ps = ps;
    }

    /// Cost of the tracer for each search, in picoseconds; 0 without a tracer.
    pub const fn tracer_ps(&self) -> u64 {
        self.tracer_ps
    }

    /// Whether all costs are 0.
    pub fn is_zero_cost(&self) -> bool {
        let has_calls = self.calls.as_ref().is_some_and(|calls| *calls != CallCosts::default());
        !has_calls && self.tracer_ps == 0 && self.ps == [0; NR_OPS]
    }

    /// Cost of one operation, in picoseconds.
    pub const fn op_ps(&self, op: KernelOp) -> u64 {
        self.ps[op as usize]
    }

    /// Sets the cost of one operation, in picoseconds.
    pub const fn set_op(&mut self, op: KernelOp, ps: u64) {
        self.ps[op as usize] = ps;
    }

    /// Sets the cost of an operation by its name, in picoseconds. Returns whether there is such an operation.
    pub fn set_by_name(&mut self, operation: &str, ps: u64) -> bool {
        let op = KernelOp::ALL.iter().find(|op| op.name() == operation);
        op.inspect(|op| self.set_op(**op, ps)).is_some()
    }

    /// Costs of system calls; `None` if they have no cost.
    pub const fn calls(&self) -> Option<&CallCosts> {
        self.calls.as_ref()
    }

    /// Costs of messages through a kind of channel; `None` if they have no cost.
    fn channel(&self, kind: ChannelKind) -> Option<&ChannelCosts> {
        Some(&self.calls.as_ref()?.channels[channel_index(kind)?])
    }

    /// Cost of sending or receiving a message, without the scheduler: the system call and the transfer.
    pub fn transfer(&self, kind: ChannelKind, sends: bool) -> CallCost {
        self.channel(kind).map_or_else(CallCost::default, |channel| if sends { channel.send } else { channel.receive })
    }

    /// Additional cost of a send that wakes a receiver, in picoseconds.
    pub fn message_wake_ps(&self, kind: ChannelKind) -> u64 {
        self.channel(kind).map_or(0, |channel| channel.wake_ps)
    }

    /// Additional cost of a receive that waits, in picoseconds.
    pub fn message_wait_ps(&self, kind: ChannelKind) -> u64 {
        self.channel(kind).map_or(0, |channel| channel.wait_ps)
    }

    /// Cost of the softirq that delivers a message over the loopback device, in picoseconds.
    pub fn loopback_softirq_ps(&self, kind: ChannelKind) -> u64 {
        self.channel(kind).map_or(0, |channel| channel.softirq_ps)
    }

    /// Cost of moving the cache lines of a message to another CPU, in picoseconds at any CPU speed.
    pub fn channel_lines_ps(&self, kind: ChannelKind) -> ByDistance<u64> {
        self.channel(kind).map_or_else(ByDistance::default, |channel| channel.lines_ps)
    }

    /// Cost of the further cache lines that move when a send wakes a receiver on another CPU, in picoseconds at any CPU
    /// speed.
    pub fn message_wake_lines_ps(&self, kind: ChannelKind) -> ByDistance<u64> {
        self.channel(kind).map_or_else(ByDistance::default, |channel| channel.wake_lines_ps)
    }

    /// Cost of the bytes of a message for its sender or its receiver, in picoseconds.
    pub fn message_bytes_ps(&self, kind: ChannelKind, is_send: bool, bytes: u64) -> u64 {
        self.channel(kind).map_or(0, |channel| channel.bytes.call_ps(is_send, bytes))
    }

    /// Cost of moving the bytes of a message to another CPU, in picoseconds per KiB at any CPU speed.
    pub fn message_bytes_lines_ps(&self, kind: ChannelKind) -> ByDistance<u64> {
        self.channel(kind).map_or_else(ByDistance::default, |channel| channel.bytes.lines_ps)
    }

    /// Costs of acknowledgements.
    pub fn tcp(&self, kind: ChannelKind) -> TcpCosts {
        self.channel(kind).map_or_else(TcpCosts::default, |channel| channel.tcp)
    }

    /// Duration of the transfer of a runqueue's cache line, in picoseconds at any CPU speed.
    pub fn line_transfer_ps(&self) -> ByDistance<u64> {
        self.calls.as_ref().map_or_else(ByDistance::default, |calls| calls.rq_line_ps)
    }

    /// Duration of the transfers that a scan for an idle CPU needs for a CPU, in picoseconds at any CPU speed.
    pub fn scan_lines_ps(&self) -> ByDistance<u64> {
        self.calls.as_ref().map_or_else(ByDistance::default, |calls| calls.scan_lines_ps)
    }

    /// Duration of the transfers that load-balance statistics of a CPU need, in picoseconds at any CPU speed.
    pub fn statistics_lines_ps(&self) -> ByDistance<u64> {
        self.calls.as_ref().map_or_else(ByDistance::default, |calls| calls.statistics_lines_ps)
    }

    /// Duration of the transfer of the line of a task group's load, in picoseconds at any CPU speed.
    pub fn group_line_ps(&self) -> ByDistance<u64> {
        self.calls.as_ref().map_or_else(ByDistance::default, |calls| calls.group_line_ps)
    }

    /// Duration that a remote enqueue adds to the operation itself, in picoseconds at any CPU speed.
    pub fn remote_enqueue_ps(&self) -> ByDistance<u64> {
        self.calls.as_ref().map_or_else(ByDistance::default, |calls| calls.enqueue_lines_ps)
    }

    /// Sets the durations of [`Self::line_transfer_ps`], [`Self::scan_lines_ps`] and [`Self::statistics_lines_ps`]: within
    /// a last-level cache, and from another one.
    pub fn set_line_transfer(&mut self, local_ps: u64, remote_ps: u64) {
        let calls = self.calls.get_or_insert_default();
        calls.rq_line_ps = ByDistance::near_and_far(local_ps, remote_ps);
        calls.scan_lines_ps = calls.rq_line_ps;
        calls.statistics_lines_ps = calls.rq_line_ps;
    }

    /// Returns the costs of messages through a kind of channel, to change them; `None` for a queue in shared memory,
    /// which has no cost.
    pub fn channel_mut(&mut self, kind: ChannelKind) -> Option<&mut ChannelCosts> {
        Some(&mut self.calls.get_or_insert_default().channels[channel_index(kind)?])
    }

    /// Total cost of counted operations, in picoseconds, which become part of `total`.
    #[inline]
    pub(crate) fn drain(&self, counted: &mut OpCounts, total: &mut OpCounts) -> u64 {
        counted.drain_with_cost(&self.ps, total)
    }
}

/// Returns the place of a kind of channel in [`CallCosts::channels`]; `None` for a queue in shared memory, which has no
/// cost.
const fn channel_index(kind: ChannelKind) -> Option<usize> {
    match kind {
        ChannelKind::Pipe => Some(0),
        ChannelKind::Socket => Some(1),
        ChannelKind::Tcp => Some(2),
        ChannelKind::Udp => Some(3),
        ChannelKind::Eventfd => Some(4),
        ChannelKind::TcpEpoll => Some(5),
        ChannelKind::Queue => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operation that scenarios charge to balancing themselves (`lbcost`).
    const ZERO_COST_OP: KernelOp = KernelOp::NewidlePass;

    #[test]
    fn every_operation_has_a_formula() {
        let ops = KernelOp::ALL.iter().filter(|op| **op != ZERO_COST_OP).map(|op| op.name());
        let mut names: Vec<&str> = ops.collect();
        names.sort_unstable();
        let mut counted = OPERATIONS.to_vec();
        counted.sort_unstable();
        assert_eq!(counted, names);
    }

    #[test]
    fn every_operation_can_be_given_another_cost_by_its_name() {
        for name in OPERATIONS {
            let mut costs = CostModel::zero_cost();
            assert!(costs.set_by_name(name, 5) && !costs.is_zero_cost(), "{name}");
        }
        assert!(!CostModel::zero_cost().set_by_name("scancpu", 5));
    }
}
