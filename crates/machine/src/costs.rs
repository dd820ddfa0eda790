// SPDX-License-Identifier: GPL-2.0-or-later
//! What operations of the kernel cost on a machine.

use crate::description::CostList;
use fairlab_sched::work::{KernelOp, NR_OPS, OpCounts};
use fairlab_workload::workload::ChannelKind;

/// Declares what costs something beside the scheduler's own operations: variant and meaning.
macro_rules! extras {
    ($($variant:ident $doc:literal)*) => {
        /// What costs something beside the scheduler's own operations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum MachineOp {
            $(#[doc = $doc] $variant,)*
        }

        impl MachineOp {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, as in price lists.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }
        }
    };
}

extras! {
    LineTransfer "Get a runqueue's cache line from within the last-level cache, at any speed of the CPU."
    LineTransferRemote "The same from another last-level cache."
    RemoteEnqueue "Get what enqueueing on another CPU's runqueue needs of it and of the task, at any speed of the CPU."
    Syscall "A system call, around the scheduler."
    PipeTransfer "Move a message into a pipe or out of it."
    SocketTransfer "The same for a pair of sockets."
    TcpTransfer "Send or receive a message with TCP over the loopback device."
    UdpTransfer "The same with UDP."
    LoopbackSoftirq "The softirq that delivers such a message."
    ChannelLine "Get a line of a channel's data from another CPU of the last-level cache."
    ChannelLineRemote "The same from another cache."
    Tracer "What a tracer of searches takes for each, if there is one."
}

const NR_EXTRAS: usize = MachineOp::ALL.len();

/// Price of each operation, in picoseconds on a CPU of capacity 1024 at its highest frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostModel {
    ps: [u64; NR_OPS],
    extra_ps: [u64; NR_EXTRAS],
}

impl CostModel {
    /// The idealised machine: kernel code takes no time.
    pub const fn free() -> Self {
        Self { ps: [0; NR_OPS], extra_ps: [0; NR_EXTRAS] }
    }

    /// The prices of a machine file; what it does not name is free. There is no tracer unless [`Self::trace_searches`] says so.
    pub fn from_list(list: &CostList) -> Self {
        let mut prices = Self::free();
        for &op in KernelOp::ALL {
            prices.ps[op as usize] = list.ps(op.name());
        }
        for &extra in MachineOp::ALL.iter().filter(|extra| **extra != MachineOp::Tracer) {
            prices.set_extra(extra, list.ps(extra.name()));
        }
        prices
    }

    const fn extra(&self, extra: MachineOp) -> u64 {
        self.extra_ps[extra as usize]
    }

    const fn set_extra(&mut self, extra: MachineOp, ps: u64) {
        self.extra_ps[extra as usize] = ps;
    }

    /// Has searches for an idle CPU traced from the start, at this price for each, in picoseconds (`Tracer` of a price list; 0: none).
    pub fn trace_searches(&mut self, ps: u64) {
        self.set_extra(MachineOp::Tracer, ps);
    }

    /// What a tracer of searches takes for each, in picoseconds; 0 without one.
    pub const fn tracer_ps(&self) -> u64 {
        self.extra(MachineOp::Tracer)
    }

    /// Whether everything is free.
    pub fn is_free(&self) -> bool {
        *self == Self::free()
    }

    /// The price of one operation, in picoseconds.
    pub fn of(&self, op: KernelOp) -> u64 {
        self.ps[op as usize]
    }

    /// Sets the price of one operation, in picoseconds.
    pub fn set(&mut self, op: KernelOp, ps: u64) {
        self.ps[op as usize] = ps;
    }

    /// Sets the price of an operation by its name, in picoseconds. Returns whether there is one of that name.
    pub fn set_named(&mut self, operation: &str, ps: u64) -> bool {
        if let Some(&op) = KernelOp::ALL.iter().find(|op| op.name() == operation) {
            self.set(op, ps);
            return true;
        }
        let extra = MachineOp::ALL.iter().find(|extra| extra.name() == operation);
        if let Some(&extra) = extra {
            self.set_extra(extra, ps);
        }
        extra.is_some()
    }

    /// What moving a message costs, with the system call but without the scheduler, in picoseconds.
    pub fn transfer_ps(&self, kind: ChannelKind) -> u64 {
        transfer_of(kind).map_or(0, |transfer| self.extra(MachineOp::Syscall) + self.extra(transfer))
    }

    /// What the softirq costs that delivers a message over the loopback device, in picoseconds.
    pub fn loopback_softirq_ps(&self) -> u64 {
        self.extra(MachineOp::LoopbackSoftirq)
    }

    /// Sets that.
    pub fn set_loopback_softirq(&mut self, ps: u64) {
        self.set_extra(MachineOp::LoopbackSoftirq, ps);
    }

    /// What it takes to get a cache line of a channel's data (buffer, socket, wait queue) from the CPU that used it last, in
    /// picoseconds: within a last-level cache and from another one.
    pub const fn channel_line_ps(&self) -> (u64, u64) {
        (self.extra(MachineOp::ChannelLine), self.extra(MachineOp::ChannelLineRemote))
    }

    /// Sets that.
    pub fn set_channel_line(&mut self, local_ps: u64, remote_ps: u64) {
        self.set_extra(MachineOp::ChannelLine, local_ps);
        self.set_extra(MachineOp::ChannelLineRemote, remote_ps);
    }

    /// Sets what moving a message costs beside the system call, in picoseconds. A queue in shared memory is always free.
    pub fn set_transfer(&mut self, kind: ChannelKind, ps: u64) {
        if let Some(transfer) = transfer_of(kind) {
            self.set_extra(transfer, ps);
        }
    }

    /// What the transfer of a runqueue's cache line takes within a last-level cache and from another one, in picoseconds,
    /// whatever the speed of the CPU.
    pub const fn line_transfer_ps(&self) -> (u64, u64) {
        (self.extra(MachineOp::LineTransfer), self.extra(MachineOp::LineTransferRemote))
    }

    /// What enqueueing a task on another CPU's runqueue takes beside the operation itself, in picoseconds, whatever the speed of the CPU.
    pub const fn remote_enqueue_ps(&self) -> u64 {
        self.extra(MachineOp::RemoteEnqueue)
    }

    /// Sets that.
    pub fn set_remote_enqueue(&mut self, ps: u64) {
        self.set_extra(MachineOp::RemoteEnqueue, ps);
    }

    /// Sets what the transfer of a runqueue's cache line takes, in picoseconds.
    pub fn set_line_transfer(&mut self, local_ps: u64, remote_ps: u64) {
        self.set_extra(MachineOp::LineTransfer, local_ps);
        self.set_extra(MachineOp::LineTransferRemote, remote_ps);
    }

    /// The price of what was counted, in picoseconds.
    pub fn total(&self, work: &OpCounts) -> u64 {
        work.cost(&self.ps)
    }
}

/// What moving a message through a channel costs; a queue in shared memory is free.
const fn transfer_of(kind: ChannelKind) -> Option<MachineOp> {
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

    /// It is what balancing measures of itself in scenarios (`lbcost`).
    const WITHOUT_PRICE: KernelOp = KernelOp::NewidlePass;

    #[test]
    fn files_can_give_every_operation_a_price() {
        let ops = KernelOp::ALL.iter().filter(|op| **op != WITHOUT_PRICE).map(|op| op.name());
        let mut names: Vec<&str> = ops.chain(MachineOp::ALL.iter().map(|extra| extra.name())).collect();
        names.sort_unstable();
        let mut listed = OPERATIONS.to_vec();
        listed.sort_unstable();
        assert_eq!(listed, names);
    }

    #[test]
    fn every_operation_of_a_file_can_be_given_another_price_by_its_name() {
        for name in OPERATIONS {
            let mut prices = CostModel::free();
            assert!(prices.set_named(name, 5) && !prices.is_free(), "{name}");
        }
        assert!(!CostModel::free().set_named("scancpu", 5));
    }
}
