// SPDX-License-Identifier: GPL-2.0-or-later
//! What the scheduler wants the machine to do, and what is counted on the way.

use super::{IdleLoop, Machine, START};
use crate::digest::Digest;
use crate::engine::Engine;
use crate::event::{EventKind, Lane};
use crate::observer::{Interest, Observer};
use fairlab_sched::ctx::{Effect, IpiKind};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::{Capacity, Nanos};

/// Counts of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// Ticks that were served.
    pub ticks: u64,
    /// Context switches.
    pub switches: u64,
    /// Reschedule interrupts that were sent to it.
    pub resched_ipis: u64,
    /// Call-function interrupts that were sent to it.
    pub call_ipis: u64,
    /// Time in which its idle task ran.
    pub idle: Nanos,
    /// Time at each frequency (part of 1024), in ascending order of the frequency.
    pub at_frequency: Vec<(Capacity, Nanos)>,
    /// Of it, time in which the idle task ran.
    pub idle_at_frequency: Vec<(Capacity, Nanos)>,
    /// Time in kernel paths, with waiting for locks; none where kernel code has no prices.
    pub kernel: Nanos,
    /// The part of it in which the idle task ran.
    pub kernel_in_idle: Nanos,
    /// Time in which tasks did work of their own; only counted where kernel code has prices.
    pub work: Nanos,
    /// How often it has waited for the lock of a runqueue.
    pub lock_waits: u64,
    /// How long in sum.
    pub lock_waiting: Nanos,
    /// How many cache lines of runqueues it had to get from others.
    pub line_transfers: u64,
    /// How long it has waited until others had got theirs, in picoseconds; without the transfers themselves.
    pub line_waiting_ps: u64,
    /// Packets that have come from outside.
    pub packets: u64,
    /// Packets for which there was no room.
    pub packets_dropped: u64,
    /// The most packets and messages that have waited for its softirq at a time.
    pub longest_backlog: u64,
    /// How often its ksoftirqd was woken.
    pub ksoftirqd_wakeups: u64,
    /// Since when the idle task runs.
    pub(super) idle_since: Option<Nanos>,
    /// Since when it has its present frequency.
    pub(super) frequency_since: Nanos,
}

/// What is counted during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineCounters {
    /// Events of the machine.
    pub events: u64,
    /// Context switches.
    pub switches: u64,
    /// Wake-ups, new tasks among them.
    pub wakeups: u64,
    /// Migrations.
    pub migrations: u64,
    /// Counts of each CPU.
    pub per_cpu: Vec<CpuCounters>,
}

impl CpuCounters {
    /// Those of a CPU that idles when the run starts, and may have so many frequencies.
    pub(super) fn at_start(nr_frequencies: usize) -> Self {
        Self {
            idle_since: Some(START),
            frequency_since: START,
            at_frequency: Vec::with_capacity(nr_frequencies),
            idle_at_frequency: Vec::with_capacity(nr_frequencies),
            ..Self::default()
        }
    }
}

/// Stands between the scheduler and the observers: hashes and counts what passes.
pub(super) struct CountingObserver<'a, E> {
    pub(super) digest: &'a mut Digest,
    pub(super) counters: &'a mut MachineCounters,
    pub(super) observer: &'a mut dyn Observer<E>,
    pub(super) wants: Interest,
}

impl<E> Probe for CountingObserver<'_, E> {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.digest.mix_event(now, event);
        let counters = &mut *self.counters;
        let is_wanted = match *event {
            Event::DomainStat { .. } => self.wants.details,
            Event::Switch { cpu, .. } => {
                counters.switches += 1;
                counters.per_cpu[cpu.index()].switches += 1;
                self.wants.events
            }
            Event::Wakeup { .. } => {
                counters.wakeups += 1;
                self.wants.events
            }
            Event::Migrate { .. } => {
                counters.migrations += 1;
                self.wants.events
            }
            Event::Ipi { cpu, kind, .. } => {
                let counters = &mut counters.per_cpu[cpu.index()];
                match kind {
                    IpiKind::Reschedule => counters.resched_ipis += 1,
                    IpiKind::CallFunction => counters.call_ipis += 1,
                }
                self.wants.details
            }
            Event::PeltEntity { .. } | Event::PeltCfsRq { .. } => self.wants.pelt,
            Event::Waking { .. }
            | Event::Priority { .. }
            | Event::Frequency { .. }
            | Event::Overutilized { .. }
            | Event::WakeupDecision(_)
            | Event::BalanceDecision(_)
            | Event::KickDecision(_)
            | Event::BlockedUpdate(_)
            | Event::Warning { .. } => self.wants.events,
        };
        if is_wanted {
            self.observer.event(now, event);
        }
    }

    fn wants_pelt(&self) -> bool {
        self.wants.pelt
    }
}

impl<E: Engine> Machine<E> {
    /// Does what the scheduler wants, in its order. Interrupts leave when its code is through.
    #[inline]
    pub(super) fn apply(&mut self, took: Nanos) {
        for index in 0..self.effects.len() {
            match self.effects[index] {
                Effect::SendIpi { cpu, kind } => {
                    let at = self.now + took + self.hardware.ipi_latency;
                    self.events.push_in_turn(Lane::Ipis, at, EventKind::Ipi(cpu, kind));
                }
                Effect::Switch { cpu, prev, next, .. } => self.switch(cpu, prev, next),
                Effect::ArmTimer { cpu, at } => self.arm_timer(cpu, at),
                Effect::WakeGovernor { cpu, policy } => {
                    self.events.push(self.now + took, EventKind::GovernorWork(cpu, policy));
                }
                Effect::SetFrequency { cpu, capacity } => self.switch_frequency(cpu, capacity),
            }
        }
        self.effects.clear();
    }

    /// A CPU has another task now: the old one is accounted, the new one planned.
    fn switch(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        if let Some(task) = self.sim_index.get(prev.index()).copied().flatten() {
            let task = task as usize;
            self.account(task);
            let host = &mut self.tasks[task];
            host.running = false;
            host.completion = host.completion.wrapping_add(1);
            self.cpus[cpu.index()].task = None;
        } else if prev == self.sched.idle_task(cpu) {
            self.account_idle(cpu);
            self.counters.per_cpu[cpu.index()].idle_since = None;
            self.leave_idle_state(cpu);
        }
        if let Some(task) = self.sim_index.get(next.index()).copied().flatten() {
            let task = task as usize;
            self.cpus[cpu.index()].task = Some(task as u32);
            let host = &mut self.tasks[task];
            host.running = true;
            host.cpu = cpu;
            host.accounted_until = self.now;
            self.record_fit(cpu);
            self.plan(task);
        } else if next == self.sched.idle_task(cpu) {
            self.record_frequency(cpu);
            self.counters.per_cpu[cpu.index()].idle_since = Some(self.now);
        }
        self.cpus[cpu.index()].idle_loop = IdleLoop::Outside;
    }

    fn arm_timer(&mut self, cpu: CpuId, at: Nanos) {
        let host = &mut self.cpus[cpu.index()];
        if at == host.timer_at {
            return;
        }
        host.timer_at = at;
        host.timer_version = host.timer_version.wrapping_add(1);
        if at < Nanos::NEVER {
            self.events.push(at.max(self.now), EventKind::Timer(cpu, host.timer_version));
        }
    }

    /// Adds the idle time of a CPU up to now to its count.
    pub(super) fn account_idle(&mut self, cpu: CpuId) {
        let now = self.now;
        self.record_frequency(cpu);
        let counters = &mut self.counters.per_cpu[cpu.index()];
        if let Some(since) = &mut counters.idle_since {
            counters.idle += now - core::mem::replace(since, now);
        }
    }

    /// Adds the time at the present frequency of a CPU to its counts. Done before the frequency changes, and when the idle
    /// task starts or ends.
    pub(super) fn record_frequency(&mut self, cpu: CpuId) {
        let (now, freq) = (self.now, self.cpus[cpu.index()].freq);
        let counters = &mut self.counters.per_cpu[cpu.index()];
        let time = now - core::mem::replace(&mut counters.frequency_since, now);
        if time == Nanos::ZERO {
            return;
        }
        add_time(&mut counters.at_frequency, freq, time);
        if counters.idle_since.is_some() {
            add_time(&mut counters.idle_at_frequency, freq, time);
        }
    }
}

/// Adds to the time at a frequency; the list is in ascending order.
fn add_time(times: &mut Vec<(Capacity, Nanos)>, freq: Capacity, time: Nanos) {
    match times.binary_search_by_key(&freq, |&(freq, _)| freq) {
        Ok(place) => times[place].1 += time,
        Err(place) => times.insert(place, (freq, time)),
    }
}
