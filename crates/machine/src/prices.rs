// SPDX-License-Identifier: GPL-2.0-or-later
//! What operations of the kernel cost on a machine.

use crate::description::PriceList;
use fairlab_sched::work::{NR_OPS, Op, WorkMeter};
use fairlab_workload::workload::ChannelKind;

/// Price of each operation, in picoseconds on a CPU of capacity 1024 at its highest frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    ps: [u64; NR_OPS],
    /// What a system call costs around the scheduler, in the same unit.
    syscall_ps: u64,
    /// What moving one message through a pipe costs, in the same unit.
    pipe_transfer_ps: u64,
    /// The same through a pair of sockets.
    socket_transfer_ps: u64,
    /// What it takes to get a runqueue's cache line from within the last-level cache, at any speed of the CPU.
    line_transfer_ps: u64,
    /// The same from another last-level cache.
    line_transfer_remote_ps: u64,
    /// What sending or receiving a message costs with TCP and UDP over the loopback device.
    tcp_transfer_ps: u64,
    udp_transfer_ps: u64,
    /// What the softirq costs that delivers it.
    loopback_softirq_ps: u64,
    /// What it takes to get a line of a channel's data from another CPU of the last-level cache, and from another cache.
    channel_line_ps: u64,
    channel_line_remote_ps: u64,
    /// What a tracer of searches takes for each; 0: there is none.
    tracer_ps: u64,
}

impl Prices {
    /// The idealised machine: kernel code takes no time.
    pub const fn free() -> Self {
        Self {
            ps: [0; NR_OPS],
            syscall_ps: 0,
            pipe_transfer_ps: 0,
            socket_transfer_ps: 0,
            line_transfer_ps: 0,
            line_transfer_remote_ps: 0,
            tcp_transfer_ps: 0,
            udp_transfer_ps: 0,
            loopback_softirq_ps: 0,
            channel_line_ps: 0,
            channel_line_remote_ps: 0,
            tracer_ps: 0,
        }
    }

    /// The prices of a machine file; what it does not name is free.
    pub fn from_list(list: &PriceList) -> Self {
        let mut prices = Self::free();
        for &op in Op::ALL {
            prices.ps[op as usize] = list.ps(op.name());
        }
        prices.syscall_ps = list.ps("Syscall");
        prices.pipe_transfer_ps = list.ps("PipeTransfer");
        prices.line_transfer_ps = list.ps("LineTransfer");
        prices.line_transfer_remote_ps = list.ps("LineTransferRemote");
        prices.socket_transfer_ps = list.ps("SocketTransfer");
        prices.tcp_transfer_ps = list.ps("TcpTransfer");
        prices.udp_transfer_ps = list.ps("UdpTransfer");
        prices.loopback_softirq_ps = list.ps("LoopbackSoftirq");
        prices.channel_line_ps = list.ps("ChannelLine");
        prices.channel_line_remote_ps = list.ps("ChannelLineRemote");
        prices
    }

    /// Has searches for an idle CPU traced from the start, at this price for each, in picoseconds (`Tracer` of a price list; 0: none).
    pub fn trace_searches(&mut self, ps: u64) {
        self.tracer_ps = ps;
    }

    /// What a tracer of searches takes for each, in picoseconds; 0 without one.
    pub const fn tracer_ps(&self) -> u64 {
        self.tracer_ps
    }

    /// Whether everything is free.
    pub fn is_free(&self) -> bool {
        *self == Self::free()
    }

    /// The price of one operation, in picoseconds.
    pub fn of(&self, op: Op) -> u64 {
        self.ps[op as usize]
    }

    /// Sets the price of one operation, in picoseconds.
    pub fn set(&mut self, op: Op, ps: u64) {
        self.ps[op as usize] = ps;
    }

    /// What moving a message costs, with the system call but without the scheduler, in picoseconds.
    pub fn transfer_ps(&self, kind: ChannelKind) -> u64 {
        let transfer = match kind {
            ChannelKind::Pipe => self.pipe_transfer_ps,
            ChannelKind::Socket => self.socket_transfer_ps,
            ChannelKind::Tcp => self.tcp_transfer_ps,
            ChannelKind::Udp => self.udp_transfer_ps,
            ChannelKind::Queue => return 0,
        };
        self.syscall_ps + transfer
    }

    /// What the softirq costs that delivers a message over the loopback device, in picoseconds.
    pub fn loopback_softirq_ps(&self) -> u64 {
        self.loopback_softirq_ps
    }

    /// Sets that.
    pub fn set_loopback_softirq(&mut self, ps: u64) {
        self.loopback_softirq_ps = ps;
    }

    /// What it takes to get a cache line of a channel's data (buffer, socket, wait queue) from the CPU that used it last, in
    /// picoseconds: within a last-level cache and from another one.
    pub const fn channel_line_ps(&self) -> (u64, u64) {
        (self.channel_line_ps, self.channel_line_remote_ps)
    }

    /// Sets that.
    pub fn set_channel_line(&mut self, local_ps: u64, remote_ps: u64) {
        (self.channel_line_ps, self.channel_line_remote_ps) = (local_ps, remote_ps);
    }

    /// Sets what moving a message costs beside the system call, in picoseconds. A queue in shared memory is always free.
    pub fn set_transfer(&mut self, kind: ChannelKind, ps: u64) {
        match kind {
            ChannelKind::Pipe => self.pipe_transfer_ps = ps,
            ChannelKind::Socket => self.socket_transfer_ps = ps,
            ChannelKind::Tcp => self.tcp_transfer_ps = ps,
            ChannelKind::Udp => self.udp_transfer_ps = ps,
            ChannelKind::Queue => {}
        }
    }

    /// What the transfer of a runqueue's cache line takes within a last-level cache and from another one, in picoseconds,
    /// whatever the speed of the CPU.
    pub const fn line_transfer_ps(&self) -> (u64, u64) {
        (self.line_transfer_ps, self.line_transfer_remote_ps)
    }

    /// Sets what the transfer of a runqueue's cache line takes, in picoseconds.
    pub fn set_line_transfer(&mut self, local_ps: u64, remote_ps: u64) {
        (self.line_transfer_ps, self.line_transfer_remote_ps) = (local_ps, remote_ps);
    }

    /// The price of what was counted, in picoseconds.
    pub fn total(&self, work: &WorkMeter) -> u64 {
        self.ps.iter().zip(work.counts()).map(|(price, count)| price * count).sum()
    }
}
