// SPDX-License-Identifier: GPL-2.0-or-later
//! Network softirq, and the ksoftirqd threads to which softirqs are deferred.
//!
//! Models `handle_softirqs()` (until 6.9 `__do_softirq()`), `net_rx_action()` and `run_ksoftirqd()` (6.1), as
//! far as they decide which context does the work, and when. Rules:
//! 1. Packets that arrive wait in the backlog of their CPU. The first packet interrupts. While the backlog is
//!    being processed or waits for the thread, the device stays quiet and packets only join the backlog.
//! 2. At the end of the interrupt the softirq receives packets one after the other, with interrupts on. A
//!    packet wakes its receiver.
//! 3. A round ends when the backlog is empty, after 300 packets, or after two jiffies, which are checked
//!    every 64 packets.
//! 4. If packets are left, another round follows, up to ten in all, unless 2 ms have passed (counted in
//!    jiffies) or the CPU must reschedule. The remaining packets are then left to the thread.
//! 5. The thread is an ordinary task of nice 0. It follows the same rules, reschedules between its turns, and
//!    sleeps when nothing is left.
//! 6. While the thread is runnable, softirqs that are raised on its CPU wait for it, whether an interrupt or
//!    a send over the loopback device raises them. With `ksoftirqd_first=0` they run at once, together with
//!    all pending work.
//!
//! The balancing softirq (`sched::paths::softirq`) is deferred by the same rules: the scheduler leaves it
//! pending, and this module wakes the thread.
//
// DIFFERS: fairlab counts rounds of the network softirq and of the balancing softirq separately, and a send
// over the loopback device that finds an empty backlog is part of the sender's system call. A kernel counts
// the rounds together and runs a softirq for each send.

use super::kernel::KernelProgress;
use super::phases::KernelWork;
use super::tasks::{FULL_SPEED, whole_units, work_in};
use super::{Machine, START};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::hardware::Hardware;
use crate::observer::{KernelPath, MachineEvent, Observer};
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::state::new_task::NewTask;
use fairlab_sched::task;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::KernelOp;
use fairlab_workload::step::{Behaviour, ObjectId, Step};
use fairlab_workload::workload::{Affinity, Attributes, TaskSpec, Workload};
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
enum Packet {
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
pub(super) struct NetSoftirq {
    backlog: VecDeque<Packet>,
    run: Option<SoftirqRounds>,
    /// Whether the first packet of the backlog has been charged.
    in_hand: bool,
    /// Index of the CPU's ksoftirqd among the machine's tasks; `None` until it is needed.
    thread: Option<usize>,
}

impl NetSoftirq {
    /// Whether the softirq is in progress.
    pub(super) const fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// Whether packets wait and the softirq is not in progress.
    #[inline]
    fn has_backlog(&self) -> bool {
        !self.backlog.is_empty() && self.run.is_none()
    }
}

/// Endless program of a ksoftirqd.
struct Ksoftirqd {
    is_asleep: bool,
}

impl Behaviour for Ksoftirqd {
    fn next(&mut self) -> Step {
        self.is_asleep = !self.is_asleep;
        if self.is_asleep { Step::WaitWake } else { Step::RunSoftirqs }
    }
}

/// Adds a ksoftirqd for each CPU to the end of a workload. Returns the index of the first one.
pub(super) fn add_threads(workload: &mut Workload, hardware: &Hardware) -> usize {
    let first = workload.tasks.len();
    for cpu in 0..hardware.nr_cpus() as u32 {
        let start = Attributes { affinity: Some(Affinity::Cpus(vec![cpu])), ..Attributes::default() };
        let thread = || Ksoftirqd { is_asleep: true };
        workload.tasks.push(TaskSpec::kthread(format!("ksoftirqd/{cpu}"), "ksoftirqd", cpu, start, thread));
    }
    first
}

impl<E: Engine> Machine<E> {
    /// Adds the packets of a load of the workload to the backlog of its CPU, and interrupts the CPU if its
    /// backlog was idle.
    pub(super) fn handle_packets(
        &mut self,
        observer: &mut dyn Observer<E>,
        index: usize,
    ) -> Result<(), super::RunError> {
        let load = &self.workload.packets[index];
        let cpu = CpuId(load.cpu);
        if !self.sched.is_online(cpu) {
            return Ok(());
        }
        let arrived = &mut self.counters.per_cpu[cpu.index()].packets;
        let net = &mut self.cpus[cpu.index()].kernel.net;
        let keeps_quiet = net.is_running() || net.has_backlog();
        let room = MAX_BACKLOG.saturating_sub(net.backlog.len());
        for _ in 0..(load.count as usize).min(room) {
            let target = load.targets[*arrived as usize % load.targets.len()];
            net.backlog.push_back(Packet::ForTask(target as u32, self.now));
            *arrived += 1;
        }
        self.counters.per_cpu[cpu.index()].packets_dropped += u64::from(load.count).saturating_sub(room as u64);
        self.record_backlog(cpu);
        if keeps_quiet { Ok(()) } else { self.handle_interrupt(observer, cpu, EventKind::NetRx(cpu)) }
    }

    fn record_backlog(&mut self, cpu: CpuId) {
        let length = self.cpus[cpu.index()].kernel.net.backlog.len() as u64;
        let longest = &mut self.counters.per_cpu[cpu.index()].max_backlog;
        *longest = length.max(*longest);
    }

    /// Handles the device's interrupt. It raises the softirq, which runs at its end.
    pub(super) fn raise_net_rx(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        self.enter(observer, cpu, KernelPath::Interrupt, |_, ctx| ctx.charge(KernelOp::IpiReceive));
    }

    fn jiffy(&self) -> u64 {
        self.now.0 / self.hardware.tick.0
    }

    /// Begins the softirq at the end of an interrupt, unless it is deferred to ksoftirqd.
    pub(super) fn invoke_net_rx(&mut self, cpu: CpuId) {
        if !self.cpus[cpu.index()].kernel.net.has_backlog() || self.sched.defers_softirqs(cpu) {
            return;
        }
        self.begin_net_rx(cpu);
    }

    /// Begins the softirq, unless it is in progress or the backlog is empty.
    fn begin_net_rx(&mut self, cpu: CpuId) {
        let (now, longest) = (self.jiffy(), self.sched.max_softirq_jiffies());
        let net = &mut self.cpus[cpu.index()].kernel.net;
        if net.run.is_none() && !net.backlog.is_empty() {
            net.run = Some(SoftirqRounds {
                rounds: 0,
                taken: 0,
                round_until: now + NETDEV_BUDGET_JIFFIES,
                until: now + longest,
            });
        }
    }

    /// Executes one step of the network softirq on a CPU.
    pub(super) fn net_rx_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> KernelProgress {
        let (now, has_to_reschedule) = (self.jiffy(), self.sched.need_resched(cpu));
        let net = &mut self.cpus[cpu.index()].kernel.net;
        let Some(run) = &mut net.run else { return KernelProgress::Nothing };
        if core::mem::take(&mut net.in_hand) {
            let packet = net.backlog.pop_front().expect("a charged packet is in the backlog");
            self.receive_packet(observer, cpu, packet);
            return KernelProgress::Done;
        }
        if net.backlog.is_empty() {
            net.run = None;
            return KernelProgress::Done;
        }
        let is_late = run.taken > 0 && run.taken.is_multiple_of(NAPI_WEIGHT) && now >= run.round_until;
        if run.taken == NETDEV_BUDGET || is_late {
            (run.rounds, run.taken, run.round_until) = (run.rounds + 1, 0, now + NETDEV_BUDGET_JIFFIES);
            let goes_over = run.rounds == MAX_SOFTIRQ_RESTART || now >= run.until || has_to_reschedule;
            if goes_over && self.kernel_takes_time && self.sched.may_defer_softirqs() {
                net.run = None;
                self.wake_ksoftirqd(observer, cpu);
                return KernelProgress::Done;
            }
        }
        run.taken += 1;
        net.in_hand = true;
        let took = self.charge_time(cpu, self.hardware.costs.loopback_softirq_ps());
        if took == Nanos::ZERO {
            return KernelProgress::Done;
        }
        self.extend_kernel_time(cpu, took);
        self.cpus[cpu.index()].kernel.irqs_on = true;
        if self.wants_kernel_paths {
            let path = KernelPath::Softirq;
            let event = MachineEvent::Kernel { cpu, path, began: self.now, took, waited: Nanos::ZERO, ends: true };
            observer.machine_event(self.now, &event);
        }
        KernelProgress::Busy
    }

    /// Converts a cost to the time that a CPU needs. A remainder below 1 ns is carried to the next phase.
    fn charge_time(&mut self, cpu: CpuId, ps: u64) -> Nanos {
        let speed = self.speed_of(cpu);
        let rest = &mut self.cpus[cpu.index()].kernel.carried_work;
        let work = work_in(ps, FULL_SPEED) + *rest;
        let took = whole_units(work, speed);
        *rest = work - u128::from(took) * u128::from(speed);
        Nanos(took)
    }

    /// Delivers a packet that has passed the protocols, and wakes its receiver.
    fn receive_packet(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, packet: Packet) {
        match packet {
            Packet::ForTask(task, since) => {
                self.emit_waking(observer, task as usize, since);
                self.wake_now(observer, cpu, task as usize, false, true);
            }
            Packet::Message(channel) => self.handle_message(observer, cpu, channel),
        }
    }

    /// Reports that a softirq is about to wake a task for an event of the time `since`.
    pub(super) fn emit_waking(&self, observer: &mut dyn Observer<E>, task: usize, since: Nanos) {
        if self.interest.events {
            observer.machine_event(self.now, &MachineEvent::Waking { task, since, by_interrupt: true });
        }
    }

    /// Whether a message over the loopback device must wait in the backlog of the sender's CPU.
    pub(super) fn defers_messages(&self, cpu: CpuId) -> bool {
        self.sched.defers_softirqs(cpu) || !self.cpus[cpu.index()].kernel.net.backlog.is_empty()
    }

    /// Defers a message to the backlog. The sender runs softirqs on its way back, unless they are deferred to
    /// ksoftirqd.
    pub(super) fn defer_message(&mut self, cpu: CpuId, channel: ObjectId) {
        self.cpus[cpu.index()].kernel.net.backlog.push_back(Packet::Message(channel));
        self.record_backlog(cpu);
        if !self.sched.defers_softirqs(cpu) {
            self.begin_net_rx(cpu);
        }
    }

    /// Wakes ksoftirqd if a scheduler path has left the balancing softirq pending.
    pub(super) fn defer_softirqs(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        if self.sched.is_softirq_pending(cpu) && !self.sched.is_in_path(cpu) {
            self.wake_ksoftirqd(observer, cpu);
        }
    }

    /// Wakes the ksoftirqd of a CPU if it sleeps (`wakeup_softirqd()`). The wake-up precedes all other queued
    /// work of the CPU.
    fn wake_ksoftirqd(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        let task = match self.cpus[cpu.index()].kernel.net.thread {
            Some(task) => task,
            None => self.create_ksoftirqd(observer, cpu),
        };
        if self.tasks[task].blocked_since.is_some() {
            self.counters.per_cpu[cpu.index()].ksoftirqd_wakeups += 1;
            let wake = KernelWork::Wake { target: task, sync: false, is_remembered: true };
            self.cpus[cpu.index()].kernel.work.push_front(wake);
        } else {
            self.handle_already_awake(task, true);
        }
    }

    /// Creates the ksoftirqd of a CPU, which has slept since the boot. Observers see it only once it is
    /// needed.
    fn create_ksoftirqd(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> usize {
        let spec = self.first_ksoftirqd + cpu.index();
        let task = self.add_task(spec, 0);
        let affinity = Affinity::Cpus(vec![cpu.0]);
        let new = NewTask {
            pid: self.tasks[task].pid,
            policy: task::Policy::Normal,
            nice: 0,
            group: GroupId::ROOT,
            cpus_allowed: self.to_mask(&affinity),
            uclamp: None,
        };
        self.next_step(task);
        let id = TaskId::from_index(self.sched.nr_tasks());
        observer.machine_event(self.now, &MachineEvent::Forked { task, id, pid: new.pid, spec });
        let host = &mut self.tasks[task];
        (host.id, host.blocked_since) = (Some(id), Some(START));
        self.sim_index.resize(self.sim_index.len().max(id.index() + 1), None);
        self.sim_index[id.index()] = Some(task as u32);
        self.announce_to_policy(task, id);
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            sched.add_ksoftirqd(ctx, new);
            sched.record_cpuset(id, CpusetId::TOP);
        });
        self.cpus[cpu.index()].kernel.net.thread = Some(task);
        task
    }

    /// Queues pending softirqs for ksoftirqd; lets the thread sleep if none is pending.
    pub(super) fn check_softirqs(&mut self, cpu: CpuId, task: usize) {
        if self.sched.is_softirq_pending(cpu) || !self.cpus[cpu.index()].kernel.net.backlog.is_empty() {
            self.push_work(cpu, KernelWork::Softirqs);
        } else {
            self.continue_task(task);
        }
    }

    /// Runs pending softirqs in ksoftirqd.
    pub(super) fn run_ksoftirqd(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        self.begin_net_rx(cpu);
        if self.sched.is_softirq_pending(cpu) {
            self.enter(observer, cpu, KernelPath::Softirq, |sched, ctx| sched.handle_softirqs(ctx));
        }
    }
}
