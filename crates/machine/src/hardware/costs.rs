// SPDX-License-Identifier: GPL-2.0-or-later
//! Cost model: the time that kernel operations take on a machine.

use crate::description::{ByDistance, CallCost, CallCosts, ChannelCosts, CostList};
use fairlab_sched::work::{KernelOp, NR_OPS, OpCounts};
use fairlab_workload::workload::ChannelKind;

/// Declares the operations that have a cost beside the scheduler's own: variant and meaning.
macro_rules! machine_ops {
    ($($variant:ident $doc:literal)*) => {
        /// Operation of the machine that has a cost, beside the scheduler's own operations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum MachineOp {
            $(#[doc = $doc] $variant,)*
        }

        impl MachineOp {
            /// All operations, in the order of the variants.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name of the operation in cost lists.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }
        }
    };
}

machine_ops! {
    LineTransfer "Transfer of a runqueue's cache line within the last-level cache; independent of the CPU's speed."
    LineTransferRemote "Transfer of a runqueue's cache line from another last-level cache; independent of the CPU's speed."
    RemoteEnqueue "Transfer of the other data that a remote enqueue needs; independent of the CPU's speed."
    Syscall "A system call, excluding the scheduler."
    PipeTransfer "Transfer of a message into a pipe or out of it."
    SocketTransfer "Transfer of a message into a socket pair or out of it."
    TcpTransfer "Transfer of a message with TCP over the loopback device, for sender or receiver."
    UdpTransfer "Transfer of a message with UDP over the loopback device, for sender or receiver."
    LoopbackSoftirq "The softirq that delivers a message over the loopback device."
    ChannelLine "Transfer of a cache line of a channel's data within the last-level cache."
    ChannelLineRemote "Transfer of a cache line of a channel's data from another last-level cache."
    Tracer "Cost of the tracer for one idle-CPU search; 0 without a tracer."
}

const NR_MACHINE_OPS: usize = MachineOp::ALL.len();

/// Cost of each operation, in picoseconds on a CPU of capacity 1024 at its highest frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostModel {
    ps: [u64; NR_OPS],
    extra_ps: [u64; NR_MACHINE_OPS],
    /// Costs of system calls from a count sheet; `None` if the operations that stand for whole calls have costs.
    calls: Option<CallCosts>,
}

impl CostModel {
    /// Returns the zero-cost model: kernel code takes no time.
    pub const fn zero_cost() -> Self {
        Self { ps: [0; NR_OPS], extra_ps: [0; NR_MACHINE_OPS], calls: None }
    }

    /// Returns the cost model of a machine file. Operations that it does not list have no cost. The tracer is
    /// off until [`Self::enable_tracer`].
    pub fn from_list(list: &CostList) -> Self {
        let mut prices = Self { calls: list.calls().cloned(), ..Self::zero_cost() };
        for &op in KernelOp::ALL {
            prices.ps[op as usize] = list.ps(op.name());
        }
        for &extra in MachineOp::ALL.iter().filter(|extra| **extra != MachineOp::Tracer) {
            prices.set_machine_op(extra, list.ps(extra.name()));
        }
        prices
    }

    const fn machine_op_ps(&self, extra: MachineOp) -> u64 {
        self.extra_ps[extra as usize]
    }

    const fn set_machine_op(&mut self, extra: MachineOp, ps: u64) {
        self.extra_ps[extra as usize] = ps;
    }

    /// Enables the tracer of idle-CPU searches from the start, at this cost for each search in picoseconds
    /// (`Tracer` of a cost list). 0 disables it.
    pub fn enable_tracer(&mut self, ps: u64) {
        self.set_machine_op(MachineOp::Tracer, ps);
    }

    /// Cost of the tracer for each search, in picoseconds; 0 without a tracer.
    pub const fn tracer_ps(&self) -> u64 {
        self.machine_op_ps(MachineOp::Tracer)
    }

    /// Whether all costs are 0.
    pub fn is_zero_cost(&self) -> bool {
        *self == Self::zero_cost()
    }

    /// Cost of one operation, in picoseconds.
    pub fn op_ps(&self, op: KernelOp) -> u64 {
        self.ps[op as usize]
    }

    /// Sets the cost of one operation, in picoseconds.
    pub fn set_op(&mut self, op: KernelOp, ps: u64) {
        self.ps[op as usize] = ps;
    }

    /// Sets the cost of an operation by its name, in picoseconds. Returns whether the operation is charged by itself:
    /// with a count sheet, messages, system calls and cache lines are not.
    pub fn set_by_name(&mut self, operation: &str, ps: u64) -> bool {
        if let Some(&op) = KernelOp::ALL.iter().find(|op| op.name() == operation) {
            self.set_op(op, ps);
            return true;
        }
        let is_charged = |extra: &MachineOp| self.calls.is_none() || *extra == MachineOp::Tracer;
        let extra = MachineOp::ALL.iter().copied().find(|extra| extra.name() == operation).filter(is_charged);
        if let Some(extra) = extra {
            self.set_machine_op(extra, ps);
        }
        extra.is_some()
    }

    /// Costs of system calls without a channel, if a count sheet has them; otherwise such calls cost nothing.
    pub const fn calls(&self) -> Option<&CallCosts> {
        self.calls.as_ref()
    }

    /// Costs of messages through a kind of channel, from a count sheet.
    fn channel(&self, kind: ChannelKind) -> Option<&ChannelCosts> {
        Some(&self.calls.as_ref()?.channels[channel_index(kind)?])
    }

    /// Cost of sending or receiving a message, without the scheduler: the system call and the transfer.
    ///
    /// Without a count sheet, a loopback message costs its sender and its receiver half before the transfer and
    /// half after it, and other channels charge all before.
    pub fn transfer(&self, kind: ChannelKind, sends: bool) -> CallCost {
        if let Some(channel) = self.channel(kind) {
            return if sends { channel.send } else { channel.receive };
        }
        let ps = transfer_op(kind).map_or(0, |op| self.machine_op_ps(MachineOp::Syscall) + self.machine_op_ps(op));
        match kind {
            ChannelKind::Tcp | ChannelKind::Udp => CallCost { before_ps: ps / 2, after_ps: ps / 2 },
            _ => CallCost { before_ps: ps, after_ps: 0 },
        }
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
        self.channel(kind).map_or_else(|| self.machine_op_ps(MachineOp::LoopbackSoftirq), |channel| channel.softirq_ps)
    }

    /// Cost of moving a channel's `lines` cache lines to another CPU, in picoseconds. A count sheet has a number of
    /// lines of its own.
    pub fn channel_lines_ps(&self, kind: ChannelKind, lines: u64) -> ByDistance<u64> {
        let listed =
            || self.listed_lines_ps(MachineOp::ChannelLine, MachineOp::ChannelLineRemote).map(|line| lines * line);
        self.channel(kind).map_or_else(listed, |channel| channel.lines_ps)
    }

    /// Sets the cost of [`Self::loopback_softirq_ps`].
    pub fn set_loopback_softirq(&mut self, ps: u64) {
        self.set_machine_op(MachineOp::LoopbackSoftirq, ps);
    }

    /// Cost of cache lines from a cost list: within a last-level cache, and from another one.
    fn listed_lines_ps(&self, near: MachineOp, far: MachineOp) -> ByDistance<u64> {
        ByDistance::near_and_far(self.machine_op_ps(near), self.machine_op_ps(far))
    }

    /// Sets the costs of a cache line of a channel's data (buffer, socket, wait queue) from the CPU that used it last, in
    /// picoseconds: within a last-level cache, and from another one.
    pub fn set_channel_line(&mut self, local_ps: u64, remote_ps: u64) {
        self.set_machine_op(MachineOp::ChannelLine, local_ps);
        self.set_machine_op(MachineOp::ChannelLineRemote, remote_ps);
    }

    /// Sets the cost of moving a message beside the system call, in picoseconds. A queue in shared memory has
    /// no cost.
    pub fn set_transfer(&mut self, kind: ChannelKind, ps: u64) {
        if let Some(transfer) = transfer_op(kind) {
            self.set_machine_op(transfer, ps);
        }
    }

    /// Duration of the transfer of a runqueue's cache line, in picoseconds at any CPU speed.
    pub fn line_transfer_ps(&self) -> ByDistance<u64> {
        let listed = || self.listed_lines_ps(MachineOp::LineTransfer, MachineOp::LineTransferRemote);
        self.calls.as_ref().map_or_else(listed, |calls| calls.rq_line_ps)
    }

    /// Duration of the transfers that load-balance statistics of a CPU need, in picoseconds at any CPU speed. A cost
    /// list has one line for all accesses.
    pub fn statistics_lines_ps(&self) -> ByDistance<u64> {
        self.calls.as_ref().map_or_else(|| self.line_transfer_ps(), |calls| calls.statistics_lines_ps)
    }

    /// Duration that a remote enqueue adds to the operation itself, in picoseconds at any CPU speed.
    pub fn remote_enqueue_ps(&self) -> ByDistance<u64> {
        let listed = || self.listed_lines_ps(MachineOp::RemoteEnqueue, MachineOp::RemoteEnqueue);
        self.calls.as_ref().map_or_else(listed, |calls| calls.enqueue_lines_ps)
    }

    /// Sets the durations of [`Self::line_transfer_ps`].
    pub fn set_line_transfer(&mut self, local_ps: u64, remote_ps: u64) {
        self.set_machine_op(MachineOp::LineTransfer, local_ps);
        self.set_machine_op(MachineOp::LineTransferRemote, remote_ps);
    }

    /// Total cost of counted operations, in picoseconds.
    pub fn total(&self, work: &OpCounts) -> u64 {
        work.cost(&self.ps)
    }
}

/// Returns the place of a kind of channel in [`CallCosts::channels`]; `None` for a queue in shared memory.
const fn channel_index(kind: ChannelKind) -> Option<usize> {
    match kind {
        ChannelKind::Pipe => Some(0),
        ChannelKind::Socket => Some(1),
        ChannelKind::Tcp => Some(2),
        ChannelKind::Udp => Some(3),
        ChannelKind::Queue => None,
    }
}

/// Returns the operation that moves a message through a channel; `None` for a queue in shared memory, which
/// has no cost.
const fn transfer_op(kind: ChannelKind) -> Option<MachineOp> {
    match kind {
        ChannelKind::Pipe => Some(MachineOp::PipeTransfer),
        ChannelKind::Socket => Some(MachineOp::SocketTransfer),
        ChannelKind::Tcp => Some(MachineOp::TcpTransfer),
        ChannelKind::Udp => Some(MachineOp::UdpTransfer),
        ChannelKind::Queue => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::OPERATIONS;

    /// Operation that scenarios charge to balancing themselves (`lbcost`), so machine files do not list it.
    const ZERO_COST_OP: KernelOp = KernelOp::NewidlePass;

    #[test]
    fn files_can_give_every_operation_a_price() {
        let ops = KernelOp::ALL.iter().filter(|op| **op != ZERO_COST_OP).map(|op| op.name());
        let mut names: Vec<&str> = ops.chain(MachineOp::ALL.iter().map(|extra| extra.name())).collect();
        names.sort_unstable();
        let mut listed = OPERATIONS.to_vec();
        listed.sort_unstable();
        assert_eq!(listed, names);
    }

    #[test]
    fn every_operation_of_a_file_can_be_given_another_price_by_its_name() {
        for name in OPERATIONS {
            let mut prices = CostModel::zero_cost();
            assert!(prices.set_by_name(name, 5) && !prices.is_zero_cost(), "{name}");
        }
        assert!(!CostModel::zero_cost().set_by_name("scancpu", 5));
    }
}
