// SPDX-License-Identifier: GPL-2.0-or-later
//! Cost model: the time that kernel operations take on a machine.

use crate::description::CostList;
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
}

impl CostModel {
    /// Returns the zero-cost model: kernel code takes no time.
    pub const fn zero_cost() -> Self {
        Self { ps: [0; NR_OPS], extra_ps: [0; NR_MACHINE_OPS] }
    }

    /// Returns the cost model of a machine file. Operations that it does not list have no cost. The tracer is
    /// off until [`Self::enable_tracer`].
    pub fn from_list(list: &CostList) -> Self {
        let mut prices = Self::zero_cost();
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

    /// Sets the cost of an operation by its name, in picoseconds. Returns whether the name is known.
    pub fn set_by_name(&mut self, operation: &str, ps: u64) -> bool {
        if let Some(&op) = KernelOp::ALL.iter().find(|op| op.name() == operation) {
            self.set_op(op, ps);
            return true;
        }
        let extra = MachineOp::ALL.iter().find(|extra| extra.name() == operation);
        if let Some(&extra) = extra {
            self.set_machine_op(extra, ps);
        }
        extra.is_some()
    }

    /// Cost of moving a message, in picoseconds: the system call and the transfer, without the scheduler.
    pub fn transfer_ps(&self, kind: ChannelKind) -> u64 {
        transfer_op(kind).map_or(0, |transfer| self.machine_op_ps(MachineOp::Syscall) + self.machine_op_ps(transfer))
    }

    /// Cost of the softirq that delivers a message over the loopback device, in picoseconds.
    pub fn loopback_softirq_ps(&self) -> u64 {
        self.machine_op_ps(MachineOp::LoopbackSoftirq)
    }

    /// Sets the cost of [`Self::loopback_softirq_ps`].
    pub fn set_loopback_softirq(&mut self, ps: u64) {
        self.set_machine_op(MachineOp::LoopbackSoftirq, ps);
    }

    /// Cost of a cache line of a channel's data (buffer, socket, wait queue) from the CPU that used it last,
    /// in picoseconds: within a last-level cache, and from another one.
    pub const fn channel_line_ps(&self) -> (u64, u64) {
        (self.machine_op_ps(MachineOp::ChannelLine), self.machine_op_ps(MachineOp::ChannelLineRemote))
    }

    /// Sets the costs of [`Self::channel_line_ps`].
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

    /// Duration of the transfer of a runqueue's cache line, in picoseconds at any CPU speed: within a
    /// last-level cache, and from another one.
    pub const fn line_transfer_ps(&self) -> (u64, u64) {
        (self.machine_op_ps(MachineOp::LineTransfer), self.machine_op_ps(MachineOp::LineTransferRemote))
    }

    /// Duration that a remote enqueue adds to the operation itself, in picoseconds at any CPU speed.
    pub const fn remote_enqueue_ps(&self) -> u64 {
        self.machine_op_ps(MachineOp::RemoteEnqueue)
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
