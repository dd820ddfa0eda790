// SPDX-License-Identifier: GPL-2.0-or-later
//! What tasks share: mutexes, conditions, barriers, semaphores, timers, and the names under which they suspend. Futexes and
//! their lists, and the locks of CPUs, are in [`super::futex`].
//!
//! Waiting is as in glibc over futexes: a waiter that is woken tries again, so a mutex may be taken by another task in
//! between; waiters are woken in the order in which they came.

use super::Machine;
use super::futex::{CpuLock, Futex};
use crate::engine::Engine;
use crate::observer::{MachineEvent, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::ObjectId;
use fairlab_workload::workload::{Channel, ChannelKind, Objects};
use std::collections::VecDeque;

/// The rest of a step that has blocked a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Nothing is left.
    Nothing,
    /// Take a mutex, after waiting for a condition or for the mutex itself.
    Lock(ObjectId),
    /// Take one from a semaphore.
    SemWait(ObjectId),
    /// Put a message into a channel.
    Send(ObjectId),
    /// Take a message from a channel.
    Receive(ObjectId),
    /// Post the futexes that are left of a list.
    Post,
    /// Take the lock of a CPU.
    LockCpu(CpuId),
}

#[derive(Debug, Default)]
pub(super) struct Mutex {
    pub(super) owner: Option<usize>,
    pub(super) waiters: VecDeque<usize>,
}

#[derive(Debug, Default)]
struct Semaphore {
    count: u64,
    waiters: VecDeque<usize>,
}

#[derive(Debug)]
struct ChannelState {
    channel: Channel,
    queued: u32,
    /// Messages that wait for a softirq.
    arriving: u32,
    /// The CPU that used it last.
    used_by: Option<CpuId>,
    senders: VecDeque<usize>,
    receivers: VecDeque<usize>,
}

/// Objects of a workload.
#[derive(Debug, Default)]
pub(crate) struct SyncObjects {
    pub(super) mutexes: Vec<Mutex>,
    pub(super) conds: Vec<VecDeque<usize>>,
    pub(super) barriers: Vec<(u32, Vec<usize>)>,
    semaphores: Vec<Semaphore>,
    pub(super) suspended: Vec<Vec<usize>>,
    channels: Vec<ChannelState>,
    pub(super) futexes: Vec<Futex>,
    /// Entries of each list: task and futex.
    pub(super) lists: Vec<Vec<(usize, ObjectId)>>,
    /// Locks of the CPUs, made when the first one is taken.
    pub(super) cpu_locks: Vec<CpuLock>,
    /// Last expiry of each shared timer, once it was used.
    pub(super) timers: Vec<Option<Nanos>>,
}

impl SyncObjects {
    pub(super) fn new(objects: &Objects) -> Self {
        let times = |count: usize| core::iter::repeat_n((), count);
        Self {
            mutexes: times(objects.mutexes.len()).map(|()| Mutex::default()).collect(),
            conds: times(objects.conds.len()).map(|()| VecDeque::new()).collect(),
            barriers: objects.barriers.iter().map(|&(_, participants)| (participants, Vec::new())).collect(),
            semaphores: times(objects.semaphores.len()).map(|()| Semaphore::default()).collect(),
            suspended: times(objects.suspends.len()).map(|()| Vec::new()).collect(),
            channels: objects
                .channels
                .iter()
                .map(|channel| ChannelState {
                    channel: channel.clone(),
                    queued: 0,
                    arriving: 0,
                    used_by: None,
                    senders: VecDeque::new(),
                    receivers: VecDeque::new(),
                })
                .collect(),
            futexes: times(objects.futexes).map(|()| Futex::default()).collect(),
            lists: vec![Vec::new(); objects.lists],
            cpu_locks: Vec::new(),
            timers: vec![None; objects.timers.len()],
        }
    }
}

/// Whether a task goes on or has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    GoesOn,
    Waits,
    /// It is busy until it may try again.
    Spins,
}

impl<E: Engine> Machine<E> {
    /// Takes a mutex for the running task, or queues the task for it. Taking one that it holds already waits for ever, as
    /// with a plain pthread mutex.
    pub(super) fn lock(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        mutex: ObjectId,
    ) -> StepOutcome {
        let object = &mut self.sync.mutexes[mutex];
        if object.owner.is_none() {
            object.owner = Some(task);
            return StepOutcome::GoesOn;
        }
        if self.workload.objects.priority_inheritance {
            self.wait_for_owner(observer, cpu, task, mutex);
            return StepOutcome::Waits;
        }
        object.waiters.push_back(task);
        self.tasks[task].resume = Resume::Lock(mutex);
        StepOutcome::Waits
    }

    /// Releases a mutex and wakes who waited longest. One that the task does not hold is left as it is.
    pub(super) fn unlock(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, mutex: ObjectId) {
        let object = &mut self.sync.mutexes[mutex];
        if object.owner != Some(task) {
            return;
        }
        object.owner = None;
        if self.workload.objects.priority_inheritance {
            return self.hand_over(observer, cpu, task, mutex);
        }
        if let Some(waiter) = object.waiters.pop_front() {
            self.wake(observer, cpu, waiter, false);
        }
    }

    /// The running task waits for a condition, without the mutex, which it takes again afterwards.
    pub(super) fn wait_for_cond(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        cond: ObjectId,
        mutex: ObjectId,
    ) {
        self.unlock(observer, cpu, task, mutex);
        self.sync.conds[cond].push_back(task);
        self.tasks[task].resume = Resume::Lock(mutex);
    }

    /// Wakes one task that waits for a condition, or all.
    pub(super) fn signal(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, cond: ObjectId, all: bool) {
        let nr_woken = if all { self.sync.conds[cond].len() } else { 1 };
        for _ in 0..nr_woken {
            let Some(waiter) = self.sync.conds[cond].pop_front() else { return };
            self.wake(observer, cpu, waiter, false);
        }
    }

    /// The running task arrives at a barrier; the last one wakes the others.
    pub(super) fn arrive(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        barrier: ObjectId,
    ) -> StepOutcome {
        let (participants, waiting) = &mut self.sync.barriers[barrier];
        if waiting.len() as u32 + 1 < *participants || *participants == 0 {
            waiting.push(task);
            return StepOutcome::Waits;
        }
        for waiter in core::mem::take(waiting) {
            self.wake(observer, cpu, waiter, false);
        }
        StepOutcome::GoesOn
    }

    /// Adds one to a semaphore, and wakes who waited longest.
    pub(super) fn post(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, semaphore: ObjectId) {
        let object = &mut self.sync.semaphores[semaphore];
        object.count += 1;
        if let Some(waiter) = object.waiters.pop_front() {
            self.wake(observer, cpu, waiter, false);
        }
    }

    /// Takes one from a semaphore, or queues the running task for it.
    pub(super) fn take_semaphore(&mut self, task: usize, semaphore: ObjectId) -> StepOutcome {
        let object = &mut self.sync.semaphores[semaphore];
        if object.count > 0 {
            object.count -= 1;
            return StepOutcome::GoesOn;
        }
        object.waiters.push_back(task);
        self.tasks[task].resume = Resume::SemWait(semaphore);
        StepOutcome::Waits
    }

    /// The running task suspends under a name.
    pub(super) fn suspend(&mut self, task: usize, name: ObjectId) {
        self.sync.suspended[name].push(task);
    }

    /// Wakes all tasks that are suspended under a name.
    pub(super) fn resume_all(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, name: ObjectId) {
        for task in core::mem::take(&mut self.sync.suspended[name]) {
            self.wake(observer, cpu, task, false);
        }
    }

    /// Puts a message into a channel and wakes who waits for one, or queues the running task for room.
    pub(super) fn send(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        channel: ObjectId,
    ) -> StepOutcome {
        let state = &mut self.sync.channels[channel];
        if state.queued + state.arriving >= state.channel.capacity {
            state.senders.push_back(task);
            self.tasks[task].resume = Resume::Send(channel);
            return StepOutcome::Waits;
        }
        if core::mem::take(&mut self.tasks[task].puts_off) {
            state.arriving += 1;
            self.defer_message(cpu, channel);
        } else {
            let receiver = self.deliver(observer, channel);
            let is_sync = self.sync.channels[channel].channel.kind != ChannelKind::Queue;
            if let Some(receiver) = receiver {
                self.wake(observer, cpu, receiver, is_sync);
            }
        }
        self.charge_afterwards(task, channel, 0);
        StepOutcome::GoesOn
    }

    /// A message comes out of a softirq.
    pub(super) fn message_arrives(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, channel: ObjectId) {
        self.sync.channels[channel].arriving -= 1;
        if let Some(receiver) = self.deliver(observer, channel) {
            self.emit_waking(observer, receiver, self.now);
            self.wake_now(observer, cpu, receiver, true, false);
        }
    }

    /// A message is in a channel now. Returns who has waited for one.
    fn deliver(&mut self, observer: &mut dyn Observer<E>, channel: ObjectId) -> Option<usize> {
        let state = &mut self.sync.channels[channel];
        state.queued += 1;
        let receiver = state.receivers.pop_front()?;
        if state.channel.kind == ChannelKind::Queue {
            observer.machine_event(self.now, &MachineEvent::TimeNoted { task: receiver });
        }
        Some(receiver)
    }

    /// Whether messages of a channel go over the loopback device.
    pub(super) fn is_loopback(&self, channel: ObjectId) -> bool {
        matches!(self.sync.channels[channel].channel.kind, ChannelKind::Tcp | ChannelKind::Udp)
    }

    /// Whether a channel takes no message.
    pub(super) fn is_full(&self, channel: ObjectId) -> bool {
        let state = &self.sync.channels[channel];
        state.queued + state.arriving >= state.channel.capacity
    }

    /// Takes a message from a channel, and wakes senders once there is room enough, or queues the running task for one.
    pub(super) fn receive(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        channel: ObjectId,
    ) -> StepOutcome {
        let state = &mut self.sync.channels[channel];
        if state.queued == 0 {
            state.receivers.push_back(task);
            self.tasks[task].resume = Resume::Receive(channel);
            return StepOutcome::Waits;
        }
        state.queued -= 1;
        while self.sync.channels[channel].queued <= self.sync.channels[channel].channel.wake_senders_at {
            let Some(sender) = self.sync.channels[channel].senders.pop_front() else { break };
            self.wake(observer, cpu, sender, true);
        }
        let moves = self.channel_move_price(cpu, channel);
        self.charge_afterwards(task, channel, moves);
        StepOutcome::GoesOn
    }

    /// A message has moved: what is left to pay for it, and for getting the channel's data.
    fn charge_afterwards(&mut self, task: usize, channel: ObjectId, moves: u64) {
        let half = match self.sync.channels[channel].channel.kind {
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) => self.hardware.prices.transfer_ps(kind) / 2,
            _ => 0,
        };
        self.delay(task, half + moves);
    }

    /// What a message costs before it moves through a channel, in picoseconds at full capacity.
    ///
    /// With TCP and UDP, sender and receiver each pay one half before the message moves and one after: the sender does on its way
    /// back from the protocol what follows the wake-up, and a receiver that finds no message has done the first half when it
    /// blocks. In between the sender does the work of the softirq that delivers, unless that has to wait. Elsewhere all is paid before.
    pub(super) fn transfer_price(&mut self, cpu: CpuId, task: usize, channel: ObjectId, sends: bool) -> u64 {
        let puts_off = self.tasks[task].puts_off;
        let prices = &self.hardware.prices;
        let work = match self.sync.channels[channel].channel.kind {
            ChannelKind::Queue => return 0,
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) if !sends => return prices.transfer_ps(kind) / 2,
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) => {
                prices.transfer_ps(kind) / 2 + if puts_off { 0 } else { prices.loopback_softirq_ps() }
            }
            kind => prices.transfer_ps(kind),
        };
        work + self.channel_move_price(cpu, channel)
    }

    /// What it takes to get the data of a channel to a CPU that uses it, in picoseconds: nothing if it used the channel last.
    fn channel_move_price(&mut self, cpu: CpuId, channel: ObjectId) -> u64 {
        let state = &mut self.sync.channels[channel];
        let lines = self.hardware.channel_lines.of(state.channel.kind);
        let (local, remote) = self.hardware.prices.channel_line_ps();
        match state.used_by.replace(cpu) {
            Some(last) if last != cpu => {
                let places = &self.hardware.topology.cpus;
                lines * if places[last.index()].llc == places[cpu.index()].llc { local } else { remote }
            }
            _ => 0,
        }
    }

    /// Carries on what is left of a step that blocked a task.
    pub(super) fn resume_owner(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> StepOutcome {
        match core::mem::replace(&mut self.tasks[task].resume, Resume::Nothing) {
            Resume::Nothing => StepOutcome::GoesOn,
            Resume::Lock(mutex) => self.lock(observer, cpu, task, mutex),
            Resume::SemWait(semaphore) => self.take_semaphore(task, semaphore),
            Resume::Send(channel) => self.send(observer, cpu, task, channel),
            Resume::Receive(channel) => self.receive(observer, cpu, task, channel),
            Resume::Post => self.post_next(observer, cpu, task),
            Resume::LockCpu(of) => self.lock_cpu(task, of),
        }
    }
}
