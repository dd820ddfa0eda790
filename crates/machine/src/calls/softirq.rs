// SPDX-License-Identifier: GPL-2.0-or-later
//! Network softirq, and the ksoftirqd threads to which softirqs are deferred.
//!
//! Models `handle_softirqs()` (until 6.9 `__do_softirq()`), `net_rx_action()` and `run_ksoftirqd()` (6.1), as
//! far as they decide which context does the work, and when. Rules:
//! 1. Packets that arrive wait in the backlog of their CPU. The first packet interrupts. While the backlog is
//!    being processed or waits for the thread, the device stays quiet and packets only join the backlog.
//! 2. At the end of the interrupt the softirq receives packets one after the other, with interrupts on. A
//!    packet wakes its receiver.
//! 3. Packets that are left after its rounds ([`crate::parts::net`]) are left to the thread.
//! 4. The thread is an ordinary task of nice 0. It follows the same rules, reschedules between its turns, and
//!    sleeps when nothing is left.
//! 5. While the thread is runnable, softirqs that are raised on its CPU wait for it, whether an interrupt or
//!    a send over the loopback device raises them. With `ksoftirqd_first=0` they run at once, together with
//!    all pending work.
//!
//! The balancing softirq (`sched::paths::softirq`) is deferred by the same rules: the scheduler leaves it
//! pending, and this module wakes the thread.
//
// DIFFERS: fairlab counts rounds of the network softirq and of the balancing softirq separately, and a send
// over the loopback device that finds an empty backlog is part of the sender's system call. A kernel counts
// the rounds together and runs a softirq for each send.

use crate::engine::Engine;
use crate::interface::observation::{KernelPath, MachineEvent};
use crate::observer::Observer;
use crate::parts::kernel::{KernelWork, WakeSource};
use crate::parts::net::Packet;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::work::KernelOp;
use fairlab_workload::step::ObjectId;

impl<E: Engine> Machine<E> {
    /// Adds the packets of a load of the workload to the backlog of its CPU. Returns the CPU if it must be
    /// interrupted, because its backlog was idle.
    pub(crate) fn queue_packets(&mut self, index: usize) -> Option<CpuId> {
        let load = &self.workload.packets[index];
        let cpu = CpuId(load.cpu);
        if !self.sched.is_online(cpu) {
            return None;
        }
        let counters = &mut self.counters.per_cpu[cpu.index()];
        let net = &mut self.cpus[cpu.index()].kernel.net;
        let keeps_quiet = net.is_running() || net.has_backlog();
        let room = net.room();
        let arrived = (load.count as usize).min(room);
        for _ in 0..arrived {
            let target = load.targets[counters.packets as usize % load.targets.len()];
            net.push(Packet::ForTask(target as u32, self.now));
            counters.packets += 1;
        }
        let dropped = load.count - arrived as u32;
        counters.packets_dropped += u64::from(dropped);
        let waiting = net.backlog_len();
        counters.record_backlog(waiting);
        self.report_detail(MachineEvent::Backlog { cpu, arrived: arrived as u32, dropped, waiting });
        (!keeps_quiet).then_some(cpu)
    }

    /// Handles the device's interrupt. It raises the softirq, which runs at its end.
    pub(crate) fn raise_net_rx(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        self.enter(observer, cpu, KernelPath::Interrupt, |_, ctx| ctx.charge(KernelOp::IpiReceive));
    }

    /// Begins the softirq at the end of an interrupt, unless it is deferred to ksoftirqd.
    pub(crate) fn invoke_net_rx(&mut self, cpu: CpuId) {
        if !self.cpus[cpu.index()].kernel.net.has_backlog() || self.sched.defers_softirqs(cpu) {
            return;
        }
        self.begin_net_rx(cpu);
    }

    /// Begins the softirq, unless it is in progress or the backlog is empty.
    fn begin_net_rx(&mut self, cpu: CpuId) {
        let (jiffy, max_jiffies) = (self.jiffy(), self.sched.max_softirq_jiffies());
        self.cpus[cpu.index()].kernel.net.begin(jiffy, max_jiffies);
    }

    /// Whether a message over the loopback device must wait in the backlog of the sender's CPU.
    pub(crate) fn defers_messages(&self, cpu: CpuId) -> bool {
        self.sched.defers_softirqs(cpu) || !self.cpus[cpu.index()].kernel.net.is_backlog_empty()
    }

    /// Defers a message to the backlog. The sender runs softirqs on its way back, unless they are deferred to
    /// ksoftirqd.
    pub(crate) fn defer_message(&mut self, cpu: CpuId, channel: ObjectId) {
        self.cpus[cpu.index()].kernel.net.push(Packet::Message(channel));
        let waiting = self.cpus[cpu.index()].kernel.net.backlog_len();
        self.counters.per_cpu[cpu.index()].record_backlog(waiting);
        self.report_detail(MachineEvent::Backlog { cpu, arrived: 0, dropped: 0, waiting });
        if !self.sched.defers_softirqs(cpu) {
            self.begin_net_rx(cpu);
        }
    }

    /// Wakes ksoftirqd if a scheduler path has left the balancing softirq pending.
    pub(crate) fn defer_softirqs(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        if self.sched.is_softirq_pending(cpu) && !self.sched.is_in_path(cpu) {
            self.wake_ksoftirqd(observer, cpu);
        }
    }

    /// Wakes the ksoftirqd of a CPU if it sleeps (`wakeup_softirqd()`). The wake-up precedes all other queued
    /// work of the CPU.
    pub(crate) fn wake_ksoftirqd(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        let task = match self.cpus[cpu.index()].kernel.net.thread {
            Some(task) => task,
            None => self.create_ksoftirqd(observer, cpu),
        };
        if self.tasks[task].blocked_since.is_some() {
            self.counters.per_cpu[cpu.index()].ksoftirqd_wakeups += 1;
            self.report_detail(MachineEvent::KsoftirqdWoken { cpu });
            let wake = KernelWork::Wake { target: task, sync: false, source: WakeSource::Softirq };
            self.cpus[cpu.index()].kernel.push_first_work(wake);
        } else {
            self.tasks[task].handle_already_awake(true);
        }
    }

    /// Runs pending softirqs in ksoftirqd.
    pub(crate) fn run_ksoftirqd(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        self.begin_net_rx(cpu);
        if self.sched.is_softirq_pending(cpu) {
            self.enter(observer, cpu, KernelPath::Softirq, |sched, ctx| sched.handle_softirqs(ctx));
        }
    }
}
