// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle states: which state a CPU enters, whether its tick stops, and how long its exit takes.
//!
//! The governor ([`crate::idle_governor`]) chooses a state when the idle task enters its loop, and again
//! after each interrupt that brought no work. The first interrupt waits until the CPU has left its state
//! ([`crate::exits`]). A machine without idle states, such as that of a scenario, stops its tick and leaves
//! idle at once.

use super::{IdleLoop, Machine};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::exits::exit_time;
use crate::hardware::IdleGovernorKind;
use crate::idle_governor::IdleGovernor;
use crate::menu::{GovernorDecision, GovernorInput, WokenBy, poll_limit};
use crate::observer::{KernelPath, MachineEvent, Observer};
use crate::streams::RandomStream;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::policy::{IdleRequest, IdleStateInfo};
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Idle state of a CPU, and the state of its governor.
#[derive(Clone, Debug)]
pub(crate) struct CpuIdleState {
    /// Index of the present state; `None` while the CPU is busy or has no states.
    current: Option<usize>,
    /// Index of the state that the CPU is about to enter.
    chosen: Option<usize>,
    /// Time of entry into the present state.
    since: Nanos,
    /// End of the exit, once an interrupt has begun to wake the CPU.
    exit_done_at: Option<Nanos>,
    /// Kind of interrupt that woke the CPU.
    woken_by: WokenBy,
    governor: IdleGovernor,
    /// Descriptions of the states for a custom idle policy.
    infos: Vec<IdleStateInfo>,
    /// Ends of sleeps that began on this CPU, with task and version: timers that the governor knows. Some are
    /// stale.
    sleeps: BinaryHeap<Reverse<(Nanos, u32, u32)>>,
    /// Time of the next tick, if the tick is running.
    next_tick: Nanos,
    /// Whether a [`EventKind::PollLimit`] event is queued. It may come too early for the present entry.
    is_poll_limit_armed: bool,
    /// Random numbers for exit latencies.
    exits: RandomStream,
    residency: Vec<IdleResidency>,
}

/// Number of entries into an idle state of a CPU, and time in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleResidency {
    /// Number of times that the state was entered.
    pub entries: u64,
    /// Total time in the state.
    pub time: Nanos,
}

/// PM QoS latency requests: the kernel's `/dev/cpu_dma_latency` holds one request for each open file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatencyRequests {
    /// Request for the whole run; [`Nanos::NEVER`] if there is none.
    pub(super) run_limit: Nanos,
    /// Request by a scenario statement; [`Nanos::NEVER`] if there is none.
    pub(super) change_limit: Nanos,
}

impl LatencyRequests {
    /// Returns the shortest request; [`Nanos::NEVER`] if there is none.
    pub(super) fn limit(self) -> Nanos {
        self.run_limit.min(self.change_limit)
    }
}

/// Initial capacity of a CPU's list of sleeps.
const SLEEPS_CAPACITY: usize = 16;

impl CpuIdleState {
    pub(super) fn new(nr_states: usize, governor: IdleGovernorKind, cpu: usize) -> Self {
        Self {
            current: None,
            chosen: None,
            since: Nanos::ZERO,
            exit_done_at: None,
            woken_by: WokenBy::Other,
            governor: IdleGovernor::new(governor, nr_states),
            infos: Vec::new(),
            sleeps: BinaryHeap::with_capacity(if nr_states == 0 { 0 } else { SLEEPS_CAPACITY }),
            next_tick: Nanos::NEVER,
            is_poll_limit_armed: false,
            exits: exit_stream(0, cpu),
            residency: vec![IdleResidency::default(); nr_states],
        }
    }
}

/// Returns the random stream for the exit latencies of a CPU.
fn exit_stream(seed: u64, cpu: usize) -> RandomStream {
    RandomStream::new(seed, "idle-exit", cpu as u64)
}

impl<E: Engine> Machine<E> {
    /// Seeds the random streams for exit latencies.
    pub(super) fn seed_idle_exits(&mut self, seed: u64) {
        for (cpu, host) in self.cpus.iter_mut().enumerate() {
            host.idle.exits = exit_stream(seed, cpu);
        }
    }

    /// Lets the governor of a CPU that enters or continues its idle loop choose a state. Returns the decision
    /// about the tick.
    pub(super) fn choose_idle_state(&mut self, cpu: CpuId) -> IdleTick {
        if self.hardware.idle_states[cpu.index()].is_empty() {
            return IdleTick::Stop;
        }
        let to_timer = self.next_timer(cpu).saturating_since(self.now);
        let tick_is_stopped = self.sched.is_tick_stopped(cpu);
        let idle = &mut self.cpus[cpu.index()].idle;
        let known = GovernorInput {
            to_timer,
            to_tick: idle.next_tick.saturating_since(self.now),
            tick: self.hardware.tick,
            is_tick_stopped: tick_is_stopped,
            latency_limit: self.cpu_dma_latency.limit(),
        };
        let GovernorDecision { mut state, mut stops_tick } =
            idle.governor.select(&self.hardware.idle_states[cpu.index()], known);
        if let Some(own) = self.policy_idle_state(cpu, known, state) {
            (state, stops_tick) = (own, tick_is_stopped || !self.hardware.idle_states[cpu.index()][own].polls);
        }
        self.cpus[cpu.index()].idle.chosen = Some(state);
        match stops_tick {
            false => IdleTick::Retain,
            true if !tick_is_stopped && to_timer <= known.tick => IdleTick::RetainForTimer,
            true => IdleTick::Stop,
        }
    }

    /// Returns the choice of a custom policy, if there is one for idle states. The governor is asked first,
    /// so that it continues to learn.
    fn policy_idle_state(&mut self, cpu: CpuId, known: GovernorInput, kernel: usize) -> Option<usize> {
        if !self.policy_slot.as_ref().is_some_and(|seat| seat.scope().idle_states) {
            return None;
        }
        let next = self.next_timer(cpu);
        let to_timer = if next == Nanos::NEVER { next } else { next.saturating_since(self.now) };
        let infos = &mut self.cpus[cpu.index()].idle.infos;
        if infos.is_empty() {
            infos.extend(self.hardware.idle_states[cpu.index()].iter().map(|state| IdleStateInfo {
                exit_latency: state.exit_latency,
                target_residency: state.target_residency,
                polls: state.polls,
            }));
        }
        let seat = self.policy_slot.as_mut()?;
        let latency_limit = known.latency_limit;
        seat.choose_idle_state(&IdleRequest { now: self.now, cpu, states: infos, to_timer, latency_limit, kernel })
    }

    /// Sets the latency request of the scenario; [`Nanos::NEVER`] removes it. Models
    /// `cpu_latency_qos_apply()` (6.1): if the limit changes, all idle CPUs wake up so that their governors
    /// choose again.
    pub(super) fn request_latency(&mut self, observer: &mut dyn Observer<E>, latency: Nanos) {
        let before = self.cpu_dma_latency.limit();
        self.cpu_dma_latency.change_limit = latency;
        if self.cpu_dma_latency.limit() != before {
            let cpu = self.first_online_cpu();
            self.wake_from_idle_state(cpu);
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.wake_up_all_idle_cpus(ctx));
        }
    }

    /// Returns the next timer of a CPU, excluding its tick.
    fn next_timer(&mut self, cpu: CpuId) -> Nanos {
        let host = &mut self.cpus[cpu.index()];
        let sleeps = &mut host.idle.sleeps;
        while let Some(&Reverse((_, task, version))) = sleeps.peek()
            && self.tasks[task as usize].sleep_version != version
        {
            sleeps.pop();
        }
        let sleep_end = sleeps.peek().map_or(Nanos::NEVER, |&Reverse((at, ..))| at);
        host.timer_at.min(sleep_end)
    }

    /// Records the end of a sleep as a timer of the CPU on which the sleep begins.
    pub(super) fn record_sleep(&mut self, cpu: CpuId, until: Nanos, task: u32, version: u32) {
        if !self.hardware.idle_states[cpu.index()].is_empty() {
            self.cpus[cpu.index()].idle.sleeps.push(Reverse((until, task, version)));
        }
    }

    /// Removes the sleeps that have ended.
    pub(super) fn clear_sleeps(&mut self, cpu: CpuId) {
        let sleeps = &mut self.cpus[cpu.index()].idle.sleeps;
        while sleeps.peek().is_some_and(|&Reverse((at, ..))| at <= self.now) {
            sleeps.pop();
        }
    }

    /// Moves the timers of a CPU that goes offline to another CPU.
    pub(super) fn move_sleeps(&mut self, from: CpuId, to: CpuId) {
        let moved = core::mem::take(&mut self.cpus[from.index()].idle.sleeps);
        self.cpus[to.index()].idle.sleeps.extend(moved);
    }

    /// Records the time of a CPU's next tick.
    pub(super) fn record_tick(&mut self, cpu: CpuId, next: Nanos) {
        self.cpus[cpu.index()].idle.next_tick = next;
    }

    /// Lets a CPU wait for interrupts in the chosen state.
    pub(super) fn enter_idle_state(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        if self.cpus[cpu.index()].idle.chosen.is_none() {
            self.choose_idle_state(cpu);
        }
        let states = &self.hardware.idle_states[cpu.index()];
        let idle = &mut self.cpus[cpu.index()].idle;
        idle.since = self.now;
        idle.exit_done_at = None;
        idle.woken_by = WokenBy::Other;
        idle.current = idle.chosen.take();
        let state = idle.current;
        if let Some(place) = state {
            idle.residency[place].entries += 1;
            self.sched.set_idle_exit_latency(cpu, Some(states[place].exit_latency));
            if states[place].polls && !core::mem::replace(&mut idle.is_poll_limit_armed, true) {
                let end = self.now + poll_limit(states, self.hardware.tick);
                self.events.push(end, EventKind::PollLimit(cpu));
            }
        }
        self.begin_rest(cpu);
        observer.machine_event(self.now, &MachineEvent::IdleEnter { cpu, state });
    }

    /// Ends polling on a CPU if the time limit has passed. Returns whether it has; the governor then chooses
    /// again.
    pub(super) fn end_polling(&mut self, cpu: CpuId) -> bool {
        let states = &self.hardware.idle_states[cpu.index()];
        let idle = &mut self.cpus[cpu.index()].idle;
        idle.is_poll_limit_armed = false;
        if !idle.current.is_some_and(|state| states[state].polls) {
            return false;
        }
        let end = idle.since + poll_limit(states, self.hardware.tick);
        if end > self.now {
            // The CPU has begun to poll again since.
            idle.is_poll_limit_armed = true;
            self.events.push(end, EventKind::PollLimit(cpu));
            return false;
        }
        idle.woken_by = WokenBy::PollLimit;
        self.wake_from_idle_state(cpu);
        true
    }

    /// Marks a CPU as awake and updates its governor and residency counters.
    pub(super) fn leave_idle_state(&mut self, cpu: CpuId) {
        self.end_rest(cpu);
        let idle = &mut self.cpus[cpu.index()].idle;
        idle.exit_done_at = None;
        idle.chosen = None;
        if let Some(place) = idle.current.take() {
            self.sched.set_idle_exit_latency(cpu, None);
            let time = self.now - idle.since;
            idle.residency[place].time += time;
            let states = &self.hardware.idle_states[cpu.index()];
            idle.governor.reflect(states, place, time, idle.woken_by, self.hardware.tick);
        }
    }

    /// Whether an interrupt must wait because its CPU is still leaving an idle state. If so, the interrupt is
    /// queued again for the end of the exit.
    pub(super) fn defer_to_idle_exit(&mut self, kind: EventKind) -> bool {
        use EventKind::{Ipi, NetRx, SleepEnd, Tick, Timer};
        let cpu = match kind {
            Ipi(cpu, _) | Timer(cpu, _) | Tick(cpu) | NetRx(cpu) => cpu,
            SleepEnd(_, task, _) => self.tasks[task as usize].sleep_cpu,
            _ => return false,
        };
        let idle = &mut self.cpus[cpu.index()].idle;
        let Some(state) = idle.current else { return false };
        if idle.exit_done_at.is_none() && matches!(kind, Tick(_)) {
            idle.woken_by = WokenBy::Tick;
        }
        let (now, state) = (self.now, &self.hardware.idle_states[cpu.index()][state]);
        let back_at =
            *idle.exit_done_at.get_or_insert_with(|| now + exit_time(state, now - idle.since, &mut idle.exits));
        if self.now >= back_at {
            self.wake_from_idle_state(cpu);
            return false;
        }
        // The grid of ticks continues meanwhile.
        let kind = if let Tick(cpu) = kind { EventKind::LateTick(cpu) } else { kind };
        self.events.push(back_at, kind);
        true
    }

    /// Whether a CPU is leaving an idle state.
    pub(super) fn is_leaving_idle_state(&self, cpu: CpuId) -> bool {
        let idle = &self.cpus[cpu.index()].idle;
        idle.current.is_some() && idle.exit_done_at.is_some_and(|back_at| back_at > self.now)
    }

    /// Wakes an idle CPU that has work, such as an interrupt. If it is still idle afterwards, it enters an
    /// idle state again.
    pub(super) fn wake_from_idle_state(&mut self, cpu: CpuId) {
        if self.cpus[cpu.index()].idle.current.is_some() {
            self.leave_idle_state(cpu);
            self.cpus[cpu.index()].kernel.will_sleep = true;
        }
    }

    /// Whether a CPU that idles with a running tick was interrupted, so that its governor must choose again.
    pub(super) fn needs_idle_state_choice(&self, cpu: CpuId) -> bool {
        let host = &self.cpus[cpu.index()];
        host.idle_loop == IdleLoop::Ticking && host.kernel.will_sleep && host.idle.chosen.is_none()
    }

    /// Returns the residency of each idle state of a CPU, up to its last exit. The end of a run counts as an
    /// exit.
    pub fn idle_residency(&self, cpu: CpuId) -> &[IdleResidency] {
        &self.cpus[cpu.index()].idle.residency
    }
}
