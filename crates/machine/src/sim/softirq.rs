// SPDX-License-Identifier: GPL-2.0-or-later
//! Softirqs of the network, and the threads ksoftirqd/N to which softirqs go over.
//!
//! Models `handle_softirqs()` (until 6.9 `__do_softirq()`), `net_rx_action()` and `run_ksoftirqd()` as far as they decide who does the
//! work, and when (6.1). Rules:
//! 1. Packets that arrive wait in the backlog of their CPU. The first one interrupts; while the backlog is being worked off, or waits for
//!    the thread, the device keeps quiet and packets only join it.
//! 2. At the end of the interrupt the softirq takes packets in, one after the other, with interrupts on. Each wakes whom it is for.
//! 3. A round ends when the backlog is empty, after 300 packets, or when two jiffies have passed, which is looked at every 64 packets.
//! 4. With packets left another round follows, ten at the most, unless 2 ms have passed (counted in jiffies) or the CPU has to reschedule.
//!    What is left then goes over to the thread.
//! 5. The thread is an ordinary task of nice 0. It does the same, gives way between its turns, and sleeps when nothing is left.
//! 6. While it is runnable, what raises softirqs on its CPU leaves them to it: interrupts, and tasks that send over the loopback device.
//!    With `ksoftirqd_first=0` they are run there and then, with all that waits.
//!
//! The balancing softirq (`sched::paths::softirq`) goes over by the same rules; the scheduler leaves it pending, and here the thread is woken.
//
// DIFFERS: rounds of the network's softirq and of the balancing one are counted apart, and a send over the loopback device that nothing
// keeps waiting is part of the sender's system call.

use super::kernel::Progress;
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

/// So many packets a round takes in: `net.core.netdev_budget`.
const BUDGET: u32 = 300;
/// After so many packets a round looks at the time: the weight of a device.
const WEIGHT: u32 = 64;
/// A round may take so many jiffies: `net.core.netdev_budget_usecs`.
const BUDGET_JIFFIES: u64 = 2;
/// MAX_SOFTIRQ_RESTART.
const MAX_ROUNDS: u32 = 10;
/// So many packets fit into a backlog; more are dropped (`net.core.netdev_max_backlog`).
const MAX_BACKLOG: usize = 1000;

/// A packet that has not been taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packet {
    /// From outside, for a task, since this time.
    ForTask(u32, Nanos),
    /// A message through a channel over the loopback device.
    Message(ObjectId),
}

/// A run of the network's softirq.
#[derive(Clone, Copy, Debug)]
struct SoftirqRounds {
    /// Rounds that are over.
    rounds: u32,
    /// Packets of this round.
    taken: u32,
    /// From this jiffy on the round ends.
    round_until: u64,
    /// From this jiffy on no other round begins.
    until: u64,
}

/// What the network has for a CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct NetSoftirq {
    backlog: VecDeque<Packet>,
    run: Option<SoftirqRounds>,
    /// The first packet of the backlog has been paid for.
    in_hand: bool,
    /// The CPU's ksoftirqd, by its place among the machine's tasks, once it was needed.
    thread: Option<usize>,
}

impl NetSoftirq {
    /// Whether the softirq runs.
    pub(super) const fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// Whether packets wait for it to begin.
    #[inline]
    fn is_waiting(&self) -> bool {
        !self.backlog.is_empty() && self.run.is_none()
    }
}

/// What ksoftirqd does, for ever.
struct SoftirqThread {
    is_asleep: bool,
}

impl Behaviour for SoftirqThread {
    fn next(&mut self) -> Step {
        self.is_asleep = !self.is_asleep;
        if self.is_asleep { Step::WaitWake } else { Step::RunSoftirqs }
    }
}

/// Adds a thread for each CPU to the end of a workload, where softirqs can go over. Returns the place of the first one.
pub(super) fn add_threads(workload: &mut Workload, hardware: &Hardware) -> usize {
    let first = workload.tasks.len();
    for cpu in 0..hardware.nr_cpus() as u32 {
        let start = Attributes { affinity: Some(Affinity::Cpus(vec![cpu])), ..Attributes::default() };
        let thread = || SoftirqThread { is_asleep: true };
        workload.tasks.push(TaskSpec::kthread(format!("ksoftirqd/{cpu}"), "ksoftirqd", cpu, start, thread));
    }
    first
}

impl<E: Engine> Machine<E> {
    /// Packets arrive at a CPU, as the workload says.
    pub(super) fn packets_arrive(
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
        let keeps_quiet = net.is_running() || net.is_waiting();
        let room = MAX_BACKLOG.saturating_sub(net.backlog.len());
        for _ in 0..(load.count as usize).min(room) {
            let target = load.targets[*arrived as usize % load.targets.len()];
            net.backlog.push_back(Packet::ForTask(target as u32, self.now));
            *arrived += 1;
        }
        self.counters.per_cpu[cpu.index()].packets_dropped += u64::from(load.count).saturating_sub(room as u64);
        self.record_backlog(cpu);
        if keeps_quiet { Ok(()) } else { self.interrupt(observer, cpu, EventKind::NetRx(cpu)) }
    }

    fn record_backlog(&mut self, cpu: CpuId) {
        let length = self.cpus[cpu.index()].kernel.net.backlog.len() as u64;
        let longest = &mut self.counters.per_cpu[cpu.index()].longest_backlog;
        *longest = length.max(*longest);
    }

    /// The device's interrupt: it raises the softirq, which runs at its end.
    pub(super) fn raise_net_rx(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        self.enter(observer, cpu, KernelPath::Interrupt, |_, ctx| ctx.charge(KernelOp::IpiReceive));
    }

    fn jiffy(&self) -> u64 {
        self.now.0 / self.hardware.tick.0
    }

    /// At the end of an interrupt: what waits is taken in, unless it is left to the thread.
    pub(super) fn invoke_net_rx(&mut self, cpu: CpuId) {
        if !self.cpus[cpu.index()].kernel.net.is_waiting() || self.sched.defers_softirqs(cpu) {
            return;
        }
        self.begin_net_rx(cpu);
    }

    /// The softirq begins, unless it runs or nothing waits.
    fn begin_net_rx(&mut self, cpu: CpuId) {
        let (now, longest) = (self.jiffy(), self.sched.max_softirq_jiffies());
        let net = &mut self.cpus[cpu.index()].kernel.net;
        if net.run.is_none() && !net.backlog.is_empty() {
            net.run =
                Some(SoftirqRounds { rounds: 0, taken: 0, round_until: now + BUDGET_JIFFIES, until: now + longest });
        }
    }

    /// Does the next thing that the network's softirq has to do on a CPU.
    pub(super) fn net_rx_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) -> Progress {
        let (now, has_to_reschedule) = (self.jiffy(), self.sched.need_resched(cpu));
        let net = &mut self.cpus[cpu.index()].kernel.net;
        let Some(run) = &mut net.run else { return Progress::Nothing };
        if core::mem::take(&mut net.in_hand) {
            let packet = net.backlog.pop_front().expect("it was paid for");
            self.take_in(observer, cpu, packet);
            return Progress::Done;
        }
        if net.backlog.is_empty() {
            net.run = None;
            return Progress::Done;
        }
        let is_late = run.taken > 0 && run.taken.is_multiple_of(WEIGHT) && now >= run.round_until;
        if run.taken == BUDGET || is_late {
            (run.rounds, run.taken, run.round_until) = (run.rounds + 1, 0, now + BUDGET_JIFFIES);
            let goes_over = run.rounds == MAX_ROUNDS || now >= run.until || has_to_reschedule;
            if goes_over && self.kernel_takes_time && self.sched.may_defer_softirqs() {
                net.run = None;
                self.wake_ksoftirqd(observer, cpu);
                return Progress::Done;
            }
        }
        run.taken += 1;
        net.in_hand = true;
        let took = self.time_for(cpu, self.hardware.prices.loopback_softirq_ps());
        if took == Nanos::ZERO {
            return Progress::Done;
        }
        self.stay_in_kernel(cpu, took);
        self.cpus[cpu.index()].kernel.irqs_on = true;
        if self.wants_kernel_paths {
            let path = KernelPath::Softirq;
            let event = MachineEvent::Kernel { cpu, path, began: self.now, took, waited: Nanos::ZERO, ends: true };
            observer.machine_event(self.now, &event);
        }
        Progress::Busy
    }

    /// How long a price keeps a CPU busy. What is too little for a nanosecond is left for the next phase.
    fn time_for(&mut self, cpu: CpuId, ps: u64) -> Nanos {
        let speed = self.speed_of(cpu);
        let rest = &mut self.cpus[cpu.index()].kernel.rest;
        let work = work_in(ps, FULL_SPEED) + *rest;
        let took = whole_units(work, speed);
        *rest = work - u128::from(took) * u128::from(speed);
        Nanos(took)
    }

    /// A packet has gone through the protocols: who waits for it wakes up.
    fn take_in(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, packet: Packet) {
        match packet {
            Packet::ForTask(task, since) => {
                self.emit_waking(observer, task as usize, since);
                self.wake_now(observer, cpu, task as usize, false, true);
            }
            Packet::Message(channel) => self.message_arrives(observer, cpu, channel),
        }
    }

    /// Somebody is about to be woken by a softirq, for what is there since some time.
    pub(super) fn emit_waking(&self, observer: &mut dyn Observer<E>, task: usize, since: Nanos) {
        if self.wants.events {
            observer.machine_event(self.now, &MachineEvent::Waking { task, since, by_interrupt: true });
        }
    }

    /// Whether a message over the loopback device has to wait in the backlog of the sender's CPU.
    pub(super) fn defers_messages(&self, cpu: CpuId) -> bool {
        self.sched.defers_softirqs(cpu) || !self.cpus[cpu.index()].kernel.net.backlog.is_empty()
    }

    /// Puts a message off. The sender runs softirqs on its way back, unless they are left to the thread.
    pub(super) fn defer_message(&mut self, cpu: CpuId, channel: ObjectId) {
        self.cpus[cpu.index()].kernel.net.backlog.push_back(Packet::Message(channel));
        self.record_backlog(cpu);
        if !self.sched.defers_softirqs(cpu) {
            self.begin_net_rx(cpu);
        }
    }

    /// After a path of the scheduler: a balancing softirq that it has left pending goes over to the thread.
    pub(super) fn hand_over_softirqs(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        if self.sched.is_softirq_pending(cpu) && !self.sched.is_in_path(cpu) {
            self.wake_ksoftirqd(observer, cpu);
        }
    }

    /// Wakes the thread of a CPU, if it sleeps: `wakeup_softirqd()`. That comes before all else that its CPU has to do.
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
            self.found_awake(task, true);
        }
    }

    /// The thread of a CPU has slept since the boot. Nobody sees it before it is needed.
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
        self.introduce(task, id);
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            sched.add_ksoftirqd(ctx, new);
            sched.record_cpuset(id, CpusetId::TOP);
        });
        self.cpus[cpu.index()].kernel.net.thread = Some(task);
        task
    }

    /// The thread looks for softirqs on its CPU, and sleeps if there are none.
    pub(super) fn check_softirqs(&mut self, cpu: CpuId, task: usize) {
        if self.sched.is_softirq_pending(cpu) || !self.cpus[cpu.index()].kernel.net.backlog.is_empty() {
            self.push_work(cpu, KernelWork::Softirqs);
        } else {
            self.continue_task(task);
        }
    }

    /// The thread runs what is pending.
    pub(super) fn run_ksoftirqd(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        self.begin_net_rx(cpu);
        if self.sched.is_softirq_pending(cpu) {
            self.enter(observer, cpu, KernelPath::Softirq, |sched, ctx| sched.handle_softirqs(ctx));
        }
    }
}
