// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects that tasks share: mutexes, conditions, barriers, semaphores, channels, timers, and names for
//! suspend and resume. Futexes, their lists, and the per-CPU locks are in [`super::futex`].
//!
//! Waiting works as in glibc on futexes: a woken waiter tries again, so another task may take the mutex in
//! between. Waiters are woken in order of arrival.

use super::Machine;
use super::futex::{CpuLock, Futex};
use crate::engine::Engine;
use crate::observer::{MachineEvent, Observer};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use fairlab_workload::step::ObjectId;
use fairlab_workload::workload::{Channel, ChannelKind, Objects};
use std::collections::VecDeque;

/// Rest of a step that has blocked a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResumeAction {
    Nothing,
    /// Take a mutex, after waiting for a condition or for the mutex itself.
    Lock(ObjectId),
    /// Decrement a semaphore.
    SemWait(ObjectId),
    Send(ObjectId),
    Receive(ObjectId),
    /// Post the remaining futexes of a list.
    Post,
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
    /// Last CPU that used the channel's data.
    used_by: Option<CpuId>,
    senders: VecDeque<usize>,
    receivers: VecDeque<usize>,
}

/// Shared objects of a workload.
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
    /// Per-CPU locks, created at the first use.
    pub(super) cpu_locks: Vec<CpuLock>,
    /// Last expiry of each shared timer; `None` before its first use.
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

/// Result of a step on a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Continue,
    Wait,
    /// The task is busy until it may try again.
    Spin,
}

impl<E: Engine> Machine<E> {
    /// Takes a mutex for the running task, or queues the task for it. A task that takes a mutex twice waits
    /// for ever, as with a plain pthread mutex.
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
            return StepOutcome::Continue;
        }
        if self.workload.objects.priority_inheritance {
            self.wait_for_owner(observer, cpu, task, mutex);
            return StepOutcome::Wait;
        }
        object.waiters.push_back(task);
        self.tasks[task].resume = ResumeAction::Lock(mutex);
        StepOutcome::Wait
    }

    /// Releases a mutex and wakes the longest waiter. Does nothing if the task does not hold the mutex.
    pub(super) fn unlock(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize, mutex: ObjectId) {
        let object = &mut self.sync.mutexes[mutex];
        if object.owner != Some(task) {
            return;
        }
        object.owner = None;
        if self.workload.objects.priority_inheritance {
            return self.hand_over_mutex(observer, cpu, task, mutex);
        }
        if let Some(waiter) = object.waiters.pop_front() {
            self.wake(observer, cpu, waiter, false);
        }
    }

    /// Blocks the running task on a condition and releases the mutex, which the task takes again afterwards.
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
        self.tasks[task].resume = ResumeAction::Lock(mutex);
    }

    /// Wakes one waiter of a condition, or all.
    pub(super) fn signal(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, cond: ObjectId, all: bool) {
        let nr_woken = if all { self.sync.conds[cond].len() } else { 1 };
        for _ in 0..nr_woken {
            let Some(waiter) = self.sync.conds[cond].pop_front() else { return };
            self.wake(observer, cpu, waiter, false);
        }
    }

    /// Lets the running task arrive at a barrier. The last task wakes the others.
    pub(super) fn arrive_at_barrier(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        barrier: ObjectId,
    ) -> StepOutcome {
        let (participants, waiting) = &mut self.sync.barriers[barrier];
        if waiting.len() as u32 + 1 < *participants || *participants == 0 {
            waiting.push(task);
            return StepOutcome::Wait;
        }
        for waiter in core::mem::take(waiting) {
            self.wake(observer, cpu, waiter, false);
        }
        StepOutcome::Continue
    }

    /// Increments a semaphore and wakes the longest waiter.
    pub(super) fn post(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, semaphore: ObjectId) {
        let object = &mut self.sync.semaphores[semaphore];
        object.count += 1;
        if let Some(waiter) = object.waiters.pop_front() {
            self.wake(observer, cpu, waiter, false);
        }
    }

    /// Decrements a semaphore, or queues the running task for it.
    pub(super) fn take_semaphore(&mut self, task: usize, semaphore: ObjectId) -> StepOutcome {
        let object = &mut self.sync.semaphores[semaphore];
        if object.count > 0 {
            object.count -= 1;
            return StepOutcome::Continue;
        }
        object.waiters.push_back(task);
        self.tasks[task].resume = ResumeAction::SemWait(semaphore);
        StepOutcome::Wait
    }

    /// Suspends the running task under a name.
    pub(super) fn suspend(&mut self, task: usize, name: ObjectId) {
        self.sync.suspended[name].push(task);
    }

    /// Wakes all tasks that are suspended under a name.
    pub(super) fn resume_all(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, name: ObjectId) {
        for task in core::mem::take(&mut self.sync.suspended[name]) {
            self.wake(observer, cpu, task, false);
        }
    }

    /// Sends a message through a channel and wakes a receiver, or queues the running task until there is
    /// space.
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
            self.tasks[task].resume = ResumeAction::Send(channel);
            return StepOutcome::Wait;
        }
        if core::mem::take(&mut self.tasks[task].defers_message) {
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
        StepOutcome::Continue
    }

    /// Delivers a message that a softirq has received.
    pub(super) fn handle_message(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, channel: ObjectId) {
        self.sync.channels[channel].arriving -= 1;
        if let Some(receiver) = self.deliver(observer, channel) {
            self.emit_waking(observer, receiver, self.now);
            self.wake_now(observer, cpu, receiver, true, false);
        }
    }

    /// Adds a message to a channel. Returns the first waiting receiver.
    fn deliver(&mut self, observer: &mut dyn Observer<E>, channel: ObjectId) -> Option<usize> {
        let state = &mut self.sync.channels[channel];
        state.queued += 1;
        let receiver = state.receivers.pop_front()?;
        if state.channel.kind == ChannelKind::Queue {
            observer.machine_event(self.now, &MachineEvent::TimeRecorded { task: receiver });
        }
        Some(receiver)
    }

    /// Whether messages of a channel pass the loopback device.
    pub(super) fn is_loopback(&self, channel: ObjectId) -> bool {
        matches!(self.sync.channels[channel].channel.kind, ChannelKind::Tcp | ChannelKind::Udp)
    }

    /// Whether a channel has no space for a message.
    pub(super) fn is_full(&self, channel: ObjectId) -> bool {
        let state = &self.sync.channels[channel];
        state.queued + state.arriving >= state.channel.capacity
    }

    /// Receives a message from a channel and wakes senders once there is enough space, or queues the running
    /// task for a message.
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
            self.tasks[task].resume = ResumeAction::Receive(channel);
            return StepOutcome::Wait;
        }
        state.queued -= 1;
        while self.sync.channels[channel].queued <= self.sync.channels[channel].channel.wake_senders_at {
            let Some(sender) = self.sync.channels[channel].senders.pop_front() else { break };
            self.wake(observer, cpu, sender, true);
        }
        let moves = self.channel_lines_cost_ps(cpu, channel);
        self.charge_afterwards(task, channel, moves);
        StepOutcome::Continue
    }

    /// Charges the cost that follows the transfer of a message, and `moves`, the cost of its cache lines in
    /// picoseconds.
    fn charge_afterwards(&mut self, task: usize, channel: ObjectId, moves: u64) {
        let half = match self.sync.channels[channel].channel.kind {
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) => self.hardware.costs.transfer_ps(kind) / 2,
            _ => 0,
        };
        self.delay(task, half + moves);
    }

    /// Cost of a message before its transfer, in picoseconds at full capacity.
    ///
    /// With TCP and UDP, sender and receiver each pay half of the cost before the transfer and half after it.
    /// The sender's second half is the return path after the wake-up. A receiver that finds no message has
    /// done the first half when it blocks. Between the halves the sender executes the delivering softirq,
    /// unless the message is deferred. Other channels charge the whole cost before the transfer.
    pub(super) fn transfer_cost_ps(&mut self, cpu: CpuId, task: usize, channel: ObjectId, sends: bool) -> u64 {
        let puts_off = self.tasks[task].defers_message;
        let prices = &self.hardware.costs;
        let work = match self.sync.channels[channel].channel.kind {
            ChannelKind::Queue => return 0,
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) if !sends => return prices.transfer_ps(kind) / 2,
            kind @ (ChannelKind::Tcp | ChannelKind::Udp) => {
                prices.transfer_ps(kind) / 2 + if puts_off { 0 } else { prices.loopback_softirq_ps() }
            }
            kind => prices.transfer_ps(kind),
        };
        work + self.channel_lines_cost_ps(cpu, channel)
    }

    /// Cost of moving the channel's cache lines to a CPU, in picoseconds; 0 if the CPU used the channel last.
    fn channel_lines_cost_ps(&mut self, cpu: CpuId, channel: ObjectId) -> u64 {
        let state = &mut self.sync.channels[channel];
        let lines = self.hardware.channel_lines.by_kind(state.channel.kind);
        let (local, remote) = self.hardware.costs.channel_line_ps();
        match state.used_by.replace(cpu) {
            Some(last) if last != cpu => {
                let places = &self.hardware.topology.cpus;
                lines * if places[last.index()].llc == places[cpu.index()].llc { local } else { remote }
            }
            _ => 0,
        }
    }

    /// Resumes the rest of a step that has blocked a task.
    pub(super) fn resume_step(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, task: usize) -> StepOutcome {
        match core::mem::replace(&mut self.tasks[task].resume, ResumeAction::Nothing) {
            ResumeAction::Nothing => StepOutcome::Continue,
            ResumeAction::Lock(mutex) => self.lock(observer, cpu, task, mutex),
            ResumeAction::SemWait(semaphore) => self.take_semaphore(task, semaphore),
            ResumeAction::Send(channel) => self.send(observer, cpu, task, channel),
            ResumeAction::Receive(channel) => self.receive(observer, cpu, task, channel),
            ResumeAction::Post => self.post_next(observer, cpu, task),
            ResumeAction::LockCpu(of) => self.lock_cpu(task, of),
        }
    }
}
