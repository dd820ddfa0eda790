// SPDX-License-Identifier: GPL-2.0-or-later
//! Effects that the scheduler requests from the machine, and the counters of a run.

use super::{IdleLoop, Machine, START};
use crate::digest::Digest;
use crate::engine::Engine;
use crate::event::{EventKind, Lane};
use crate::observer::{Interest, Observer};
use fairlab_sched::ctx::{Effect, IpiKind};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::{Capacity, Nanos};

/// Counters of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct CpuCounters {
    pub ticks: u64,
    /// Number of context switches.
    pub switches: u64,
    /// Reschedule interrupts sent to the CPU.
    pub resched_ipis: u64,
    /// Call-function interrupts sent to the CPU.
    pub call_ipis: u64,
    /// Time in which the idle task ran.
    pub idle: Nanos,
    /// Time at each frequency (fraction of 1024), in ascending order of frequency.
    pub at_frequency: Vec<(Capacity, Nanos)>,
    /// Share of `at_frequency` in which the idle task ran.
    pub idle_at_frequency: Vec<(Capacity, Nanos)>,
    /// Time in kernel paths, including waits for locks; 0 without a cost model.
    pub kernel: Nanos,
    /// Share of `kernel` in which the idle task ran.
    pub kernel_in_idle: Nanos,
    /// Time in which tasks did work of their own.
    pub work: Nanos,
    /// Number of waits for a runqueue lock.
    pub lock_waits: u64,
    /// Total duration of the waits for runqueue locks.
    pub lock_wait_time: Nanos,
    /// Number of runqueue cache lines transferred to this CPU.
    pub line_transfers: u64,
    /// Time spent waiting for transfers to other CPUs, in picoseconds; excludes the CPU's own transfers.
    pub line_wait_ps: u64,
    /// Packets that arrived from outside.
    pub packets: u64,
    /// Packets dropped because the backlog was full.
    pub packets_dropped: u64,
    /// Maximum number of packets and messages that waited for the CPU's softirq.
    pub max_backlog: u64,
    /// Number of wake-ups of the CPU's ksoftirqd.
    pub ksoftirqd_wakeups: u64,
    /// Start of the idle task's present run.
    pub(super) idle_since: Option<Nanos>,
    /// Start of the time at the present frequency.
    pub(super) frequency_since: Nanos,
}

/// Counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct MachineCounters {
    pub events: u64,
    pub switches: u64,
    /// Number of wake-ups, including those of new tasks.
    pub wakeups: u64,
    pub migrations: u64,
    pub per_cpu: Vec<CpuCounters>,
}

impl CpuCounters {
    /// Returns the counters of a CPU that idles at the start of the run, with capacity for `nr_frequencies`
    /// frequencies.
    pub(super) fn new(nr_frequencies: usize) -> Self {
        Self {
            idle_since: Some(START),
            frequency_since: START,
            at_frequency: Vec::with_capacity(nr_frequencies),
            idle_at_frequency: Vec::with_capacity(nr_frequencies),
            ..Self::default()
        }
    }
}

/// Observer between the scheduler and the user's observers: hashes and counts events.
pub(super) struct CountingObserver<'a, E> {
    pub(super) digest: &'a mut Digest,
    pub(super) counters: &'a mut MachineCounters,
    pub(super) observer: &'a mut dyn Observer<E>,
    pub(super) interest: Interest,
}

impl<E> SchedObserver for CountingObserver<'_, E> {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.digest.mix_event(now, event);
        let counters = &mut *self.counters;
        let is_wanted = match *event {
            Event::DomainStat { .. } => self.interest.details,
            Event::Switch { cpu, .. } => {
                counters.switches += 1;
                counters.per_cpu[cpu.index()].switches += 1;
                self.interest.events
            }
            Event::Wakeup { .. } => {
                counters.wakeups += 1;
                self.interest.events
            }
            Event::Migrate { .. } => {
                counters.migrations += 1;
                self.interest.events
            }
            Event::Ipi { cpu, kind, .. } => {
                let counters = &mut counters.per_cpu[cpu.index()];
                match kind {
                    IpiKind::Reschedule => counters.resched_ipis += 1,
                    IpiKind::CallFunction => counters.call_ipis += 1,
                }
                self.interest.details
            }
            Event::PeltEntity { .. } | Event::PeltCfsRq { .. } => self.interest.pelt,
            Event::Waking { .. }
            | Event::Priority { .. }
            | Event::Frequency { .. }
            | Event::Overutilized { .. }
            | Event::WakeupDecision(_)
            | Event::BalanceDecision(_)
            | Event::KickDecision(_)
            | Event::BlockedUpdate(_)
            | Event::Warning { .. } => self.interest.events,
        };
        if is_wanted {
            self.observer.event(now, event);
        }
    }

    fn wants_pelt(&self) -> bool {
        self.interest.pelt
    }
}

impl<E: Engine> Machine<E> {
    /// Applies the effects of a scheduler call, in their order. Interrupts leave at the end of the call's
    /// busy time.
    #[inline]
    pub(super) fn apply_effects(&mut self, took: Nanos) {
        for index in 0..self.effects.len() {
            match self.effects[index] {
                Effect::SendIpi { cpu, kind } => {
                    let at = self.now + took + self.hardware.ipi_latency;
                    self.events.push_in_lane(Lane::Ipis, at, EventKind::Ipi(cpu, kind));
                }
                Effect::Switch { cpu, prev, next, .. } => self.switch_task(cpu, prev, next),
                Effect::ArmTimer { cpu, at } => self.arm_timer(cpu, at),
                Effect::WakeGovernor { cpu, policy } => {
                    self.events.push(self.now + took, EventKind::GovernorWork(cpu, policy));
                }
                Effect::SetFrequency { cpu, capacity } => self.switch_frequency(cpu, capacity),
            }
        }
        self.effects.clear();
    }

    /// Switches the task of a CPU: accounts the previous task and plans the next one.
    fn switch_task(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        if let Some(task) = self.sim_index.get(prev.index()).copied().flatten() {
            let task = task as usize;
            self.account(task);
            let host = &mut self.tasks[task];
            host.running = false;
            host.completion_version = host.completion_version.wrapping_add(1);
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

    /// Adds the idle time of a CPU up to now to its counters.
    pub(super) fn account_idle(&mut self, cpu: CpuId) {
        let now = self.now;
        self.record_frequency(cpu);
        let counters = &mut self.counters.per_cpu[cpu.index()];
        if let Some(since) = &mut counters.idle_since {
            counters.idle += now - core::mem::replace(since, now);
        }
    }

    /// Adds the time at the present frequency of a CPU to its counters. Must be called before the frequency
    /// changes and when the idle task starts or stops.
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

/// Adds `time` to the entry of a frequency. The list is in ascending order.
fn add_time(times: &mut Vec<(Capacity, Nanos)>, freq: Capacity, time: Nanos) {
    match times.binary_search_by_key(&freq, |&(freq, _)| freq) {
        Ok(place) => times[place].1 += time,
        Err(place) => times.insert(place, (freq, time)),
    }
}
