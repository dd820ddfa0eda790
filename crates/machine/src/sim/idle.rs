// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle states: how deep a CPU sleeps, whether its tick goes on, and how long it takes to come back.
//!
//! The governor ([`crate::idle_governor`]) chooses when the idle task enters its loop, and again after each interrupt that brought no
//! work. The first interrupt that comes then waits until the CPU has come out of its state ([`crate::exits`]). A machine without idle states, such as that
//! of a scenario, stops its tick at once and comes back at once.

use super::{IdleLoop, Machine};
use crate::engine::Engine;
use crate::event::EventKind;
use crate::exits::exit_time;
use crate::hardware::IdleGovernorKind;
use crate::idle_governor::IdleGovernor;
use crate::menu::{GovernorDecision, GovernorInput, WokenBy, poll_limit};
use crate::observer::{KernelPath, MachineEvent, Observer};
use crate::streams::Stream;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::policy::{IdleRequest, IdleStateInfo};
use fairlab_sched::paths::idle::IdleTick;
use fairlab_sched::units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The idle state of a CPU, and what its choice has learnt.
#[derive(Clone, Debug)]
pub(crate) struct CpuIdleState {
    /// Which state it is in; none while it is busy or has no states.
    current: Option<usize>,
    /// The state that it will enter.
    chosen: Option<usize>,
    /// Since when.
    since: Nanos,
    /// An interrupt wakes it: when it will be back.
    back_at: Option<Nanos>,
    /// What that was.
    woken_by: WokenBy,
    governor: IdleGovernor,
    /// Its states, for a policy that decides on them.
    infos: Vec<IdleStateInfo>,
    /// Ends of sleeps that began here, with the version of each: timers that the governor knows. Some are out of date.
    sleeps: BinaryHeap<Reverse<(Nanos, u32, u32)>>,
    /// When its tick comes next, if it goes on.
    next_tick: Nanos,
    /// An end of polling will come, perhaps too early for the present time in that state.
    poll_limit_comes: bool,
    /// From where exits are drawn.
    exits: Stream,
    residency: Vec<IdleResidency>,
}

/// How long and how often a CPU was in an idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleResidency {
    /// How often.
    pub entries: u64,
    /// How long in sum.
    pub time: Nanos,
}

/// Who asks for short exits: `/dev/cpu_dma_latency` holds a request for each process that has it open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatencyRequests {
    /// For the whole run.
    pub(super) of_run: Nanos,
    /// By statements of a scenario.
    pub(super) of_changes: Nanos,
}

impl LatencyRequests {
    /// The shortest counts; [`Nanos::NEVER`] if there is none.
    pub(super) fn limit(self) -> Nanos {
        self.of_run.min(self.of_changes)
    }
}

/// So many sleeping tasks there may be on a CPU before its list has to grow.
const ROOM: usize = 16;

impl CpuIdleState {
    pub(super) fn new(nr_states: usize, governor: IdleGovernorKind, cpu: usize) -> Self {
        Self {
            current: None,
            chosen: None,
            since: Nanos::ZERO,
            back_at: None,
            woken_by: WokenBy::Other,
            governor: IdleGovernor::new(governor, nr_states),
            infos: Vec::new(),
            sleeps: BinaryHeap::with_capacity(if nr_states == 0 { 0 } else { ROOM }),
            next_tick: Nanos::NEVER,
            poll_limit_comes: false,
            exits: exits_of(0, cpu),
            residency: vec![IdleResidency::default(); nr_states],
        }
    }
}

/// The stream from which a CPU's exits are drawn.
fn exits_of(seed: u64, cpu: usize) -> Stream {
    Stream::new(seed, "idle-exit", cpu as u64)
}

impl<E: Engine> Machine<E> {
    /// Draws exits from idle states from a seed.
    pub(super) fn seed_idle_exits(&mut self, seed: u64) {
        for (cpu, host) in self.cpus.iter_mut().enumerate() {
            host.idle.exits = exits_of(seed, cpu);
        }
    }

    /// The governor of a CPU that begins to idle, or goes on to, chooses a state. Returns what becomes of the tick.
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
            tick_is_stopped,
            latency_limit: self.cpu_dma_latency.limit(),
        };
        let GovernorDecision { mut state, mut stops_tick } =
            idle.governor.select(&self.hardware.idle_states[cpu.index()], known);
        if let Some(own) = self.idle_state_of_policy(cpu, known, state) {
            (state, stops_tick) = (own, tick_is_stopped || !self.hardware.idle_states[cpu.index()][own].polls);
        }
        self.cpus[cpu.index()].idle.chosen = Some(state);
        match stops_tick {
            false => IdleTick::Retain,
            true if !tick_is_stopped && to_timer <= known.tick => IdleTick::RetainForTimer,
            true => IdleTick::Stop,
        }
    }

    /// What a policy of one's own says, where there is one that decides on idle states. The governor has been asked before, and learns on.
    fn idle_state_of_policy(&mut self, cpu: CpuId, known: GovernorInput, kernel: usize) -> Option<usize> {
        if !self.policy.as_ref().is_some_and(|seat| seat.decides().idle_states) {
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
        let seat = self.policy.as_mut()?;
        let latency_limit = known.latency_limit;
        seat.choose_idle_state(&IdleRequest { now: self.now, cpu, states: infos, to_timer, latency_limit, kernel })
    }

    /// Somebody asks for another exit latency, or lets go ([`Nanos::NEVER`]): `cpu_latency_qos_apply()`. If the limit changes with that,
    /// all idle CPUs wake up, so that their governors are asked again.
    pub(super) fn request_latency(&mut self, observer: &mut dyn Observer<E>, latency: Nanos) {
        let before = self.cpu_dma_latency.limit();
        self.cpu_dma_latency.of_changes = latency;
        if self.cpu_dma_latency.limit() != before {
            let cpu = self.first_online();
            self.wake_from_idle_state(cpu);
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.wake_up_all_idle_cpus(ctx));
        }
    }

    /// The next timer of a CPU, its tick not among them.
    fn next_timer(&mut self, cpu: CpuId) -> Nanos {
        let host = &mut self.cpus[cpu.index()];
        let sleeps = &mut host.idle.sleeps;
        while let Some(&Reverse((_, task, version))) = sleeps.peek()
            && self.tasks[task as usize].sleep != version
        {
            sleeps.pop();
        }
        let sleep_end = sleeps.peek().map_or(Nanos::NEVER, |&Reverse((at, ..))| at);
        host.timer_at.min(sleep_end)
    }

    /// The end of a sleep is a timer of the CPU on which it begins.
    pub(super) fn record_sleep(&mut self, cpu: CpuId, until: Nanos, task: u32, version: u32) {
        if !self.hardware.idle_states[cpu.index()].is_empty() {
            self.cpus[cpu.index()].idle.sleeps.push(Reverse((until, task, version)));
        }
    }

    /// The end of a sleep has come.
    pub(super) fn clear_sleeps(&mut self, cpu: CpuId) {
        let sleeps = &mut self.cpus[cpu.index()].idle.sleeps;
        while sleeps.peek().is_some_and(|&Reverse((at, ..))| at <= self.now) {
            sleeps.pop();
        }
    }

    /// Another CPU gets the timers of one that goes offline.
    pub(super) fn move_sleeps(&mut self, from: CpuId, to: CpuId) {
        let moved = core::mem::take(&mut self.cpus[from.index()].idle.sleeps);
        self.cpus[to.index()].idle.sleeps.extend(moved);
    }

    /// When the next tick of a CPU comes.
    pub(super) fn record_tick(&mut self, cpu: CpuId, next: Nanos) {
        self.cpus[cpu.index()].idle.next_tick = next;
    }

    /// A CPU begins to wait for interrupts, in the state that was chosen.
    pub(super) fn enter_idle_state(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId) {
        if self.cpus[cpu.index()].idle.chosen.is_none() {
            self.choose_idle_state(cpu);
        }
        let states = &self.hardware.idle_states[cpu.index()];
        let idle = &mut self.cpus[cpu.index()].idle;
        idle.since = self.now;
        idle.back_at = None;
        idle.woken_by = WokenBy::Other;
        idle.current = idle.chosen.take();
        let state = idle.current;
        if let Some(place) = state {
            idle.residency[place].entries += 1;
            self.sched.set_idle_exit_latency(cpu, Some(states[place].exit_latency));
            if states[place].polls && !core::mem::replace(&mut idle.poll_limit_comes, true) {
                let end = self.now + poll_limit(states, self.hardware.tick);
                self.events.push(end, EventKind::PollLimit(cpu));
            }
        }
        self.begin_to_rest(cpu);
        observer.machine_event(self.now, &MachineEvent::IdleEnter { cpu, state });
    }

    /// A CPU that polls may have polled for long enough: then its governor is asked again. Returns whether it is.
    pub(super) fn end_polling(&mut self, cpu: CpuId) -> bool {
        let states = &self.hardware.idle_states[cpu.index()];
        let idle = &mut self.cpus[cpu.index()].idle;
        idle.poll_limit_comes = false;
        if !idle.current.is_some_and(|state| states[state].polls) {
            return false;
        }
        let end = idle.since + poll_limit(states, self.hardware.tick);
        if end > self.now {
            // It has begun anew meanwhile.
            idle.poll_limit_comes = true;
            self.events.push(end, EventKind::PollLimit(cpu));
            return false;
        }
        idle.woken_by = WokenBy::PollLimit;
        self.wake_from_idle_state(cpu);
        true
    }

    /// A CPU runs something other than its idle task.
    pub(super) fn leave_idle_state(&mut self, cpu: CpuId) {
        self.end_rest(cpu);
        let idle = &mut self.cpus[cpu.index()].idle;
        idle.back_at = None;
        idle.chosen = None;
        if let Some(place) = idle.current.take() {
            self.sched.set_idle_exit_latency(cpu, None);
            let time = self.now - idle.since;
            idle.residency[place].time += time;
            let states = &self.hardware.idle_states[cpu.index()];
            idle.governor.reflect(states, place, time, idle.woken_by, self.hardware.tick);
        }
    }

    /// Whether an interrupt has to wait because its CPU is still coming out of an idle state; it is then put off until that
    /// is over.
    pub(super) fn defer_to_idle_exit(&mut self, kind: EventKind) -> bool {
        use EventKind::{Ipi, NetRx, SleepEnd, Tick, Timer};
        let cpu = match kind {
            Ipi(cpu, _) | Timer(cpu, _) | Tick(cpu) | NetRx(cpu) => cpu,
            SleepEnd(_, task, _) => self.tasks[task as usize].sleep_cpu,
            _ => return false,
        };
        let idle = &mut self.cpus[cpu.index()].idle;
        let Some(state) = idle.current else { return false };
        if idle.back_at.is_none() && matches!(kind, Tick(_)) {
            idle.woken_by = WokenBy::Tick;
        }
        let (now, state) = (self.now, &self.hardware.idle_states[cpu.index()][state]);
        let back_at = *idle.back_at.get_or_insert_with(|| now + exit_time(state, now - idle.since, &mut idle.exits));
        if self.now >= back_at {
            self.wake_from_idle_state(cpu);
            return false;
        }
        // The grid of ticks goes on meanwhile.
        let kind = if let Tick(cpu) = kind { EventKind::LateTick(cpu) } else { kind };
        self.events.push(back_at, kind);
        true
    }

    /// Whether a CPU is on its way out of an idle state.
    pub(super) fn is_leaving_idle_state(&self, cpu: CpuId) -> bool {
        let idle = &self.cpus[cpu.index()].idle;
        idle.current.is_some() && idle.back_at.is_some_and(|back_at| back_at > self.now)
    }

    /// An idle CPU has something to do, such as an interrupt. Where that takes time, it sleeps anew afterwards if it still
    /// idles.
    pub(super) fn wake_from_idle_state(&mut self, cpu: CpuId) {
        if self.cpus[cpu.index()].idle.current.is_some() {
            self.leave_idle_state(cpu);
            self.cpus[cpu.index()].kernel.will_sleep = true;
        }
    }

    /// Whether a CPU that idles with its tick going on has been disturbed, so that its governor is asked again.
    pub(super) fn chooses_again(&self, cpu: CpuId) -> bool {
        let host = &self.cpus[cpu.index()];
        host.idle_loop == IdleLoop::Ticking && host.kernel.will_sleep && host.idle.chosen.is_none()
    }

    /// How long and how often a CPU was in each of its idle states, up to the last time that it left one. The end of a run
    /// counts as leaving.
    pub fn idle_residency(&self, cpu: CpuId) -> &[IdleResidency] {
        &self.cpus[cpu.index()].idle.residency
    }
}
