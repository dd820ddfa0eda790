// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle states of a CPU: the present state, its exit, and what the governor knows.

mod exits;
mod governor;
mod menu;
mod teo;

pub(crate) use menu::{GovernorDecision, GovernorInput};

use crate::hardware::{IdleGovernorKind, IdleState};
use crate::streams::RandomStream;
use exits::exit_time;
use fairlab_sched::interface::policy::IdleStateInfo;
use fairlab_sched::units::Nanos;
use governor::IdleGovernor;
use menu::{WokenBy, poll_limit};
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
    /// Time from which the CPU is offline, which counts for no state.
    offline_since: Option<Nanos>,
    /// Offline time since the entry that has ended.
    offline_time: Nanos,
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
    /// Whether an event for the end of polling is queued. It may come too early for the present entry.
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
    pub(crate) run_limit: Nanos,
    /// Request by a scenario statement; [`Nanos::NEVER`] if there is none.
    pub(crate) change_limit: Nanos,
}

impl LatencyRequests {
    /// Returns the shortest request; [`Nanos::NEVER`] if there is none.
    pub(crate) fn limit(self) -> Nanos {
        self.run_limit.min(self.change_limit)
    }
}

/// End of polling, for which an event has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollEnd {
    /// The CPU does not poll any more.
    NotPolling,
    /// The CPU has begun to poll again since and polls until this time.
    Later(Nanos),
    /// The time limit has passed.
    Now,
}

/// Initial capacity of a CPU's list of sleeps.
const SLEEPS_CAPACITY: usize = 16;

impl CpuIdleState {
    pub(crate) fn new(nr_states: usize, governor: IdleGovernorKind, cpu: usize) -> Self {
        Self {
            current: None,
            chosen: None,
            since: Nanos::ZERO,
            offline_since: None,
            offline_time: Nanos::ZERO,
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

    /// Seeds the exit latencies.
    pub(crate) fn seed_exits(&mut self, seed: u64, cpu: usize) {
        self.exits = exit_stream(seed, cpu);
    }

    /// Returns the residency of each state up to `at`, including the time since the entry into the present one.
    pub(crate) fn residency_at(&self, at: Nanos) -> Vec<IdleResidency> {
        let mut residency = self.residency.clone();
        if let Some(place) = self.current {
            residency[place].time += self.time_in_state(at);
        }
        residency
    }

    /// Returns the time in the present state up to `at`, without offline time.
    fn time_in_state(&self, at: Nanos) -> Nanos {
        let offline = self.offline_since.map_or(Nanos::ZERO, |since| at.saturating_since(since.max(self.since)));
        at.saturating_since(self.since + self.offline_time + offline)
    }

    /// Records that the CPU goes offline or comes back.
    pub(crate) fn set_online(&mut self, now: Nanos, is_online: bool) {
        if let Some(since) = self.offline_since.take() {
            self.offline_time += now.saturating_since(since.max(self.since));
        }
        if !is_online {
            self.offline_since = Some(now);
        }
    }

    /// Whether the CPU is in a state.
    #[inline]
    pub(crate) fn is_in_state(&self) -> bool {
        self.current.is_some()
    }

    /// Whether a state was chosen and not entered yet.
    #[inline]
    pub(crate) fn has_choice(&self) -> bool {
        self.chosen.is_some()
    }

    /// Time of the next tick.
    #[inline]
    pub(crate) fn next_tick(&self) -> Nanos {
        self.next_tick
    }

    /// Records the time of the next tick.
    #[inline]
    pub(crate) fn record_tick(&mut self, next: Nanos) {
        self.next_tick = next;
    }

    /// Lets the governor choose a state.
    #[inline]
    pub(crate) fn select(&mut self, states: &[IdleState], known: GovernorInput) -> GovernorDecision {
        self.governor.select(states, known)
    }

    /// Sets the state that the CPU enters next.
    #[inline]
    pub(crate) fn choose(&mut self, state: usize) {
        self.chosen = Some(state);
    }

    /// Returns the descriptions of the states for a custom idle policy.
    pub(crate) fn infos(&mut self, states: &[IdleState]) -> &[IdleStateInfo] {
        if self.infos.is_empty() {
            self.infos.extend(states.iter().map(|state| IdleStateInfo {
                exit_latency: state.exit_latency,
                target_residency: state.target_residency,
                polls: state.polls,
            }));
        }
        &self.infos
    }

    /// Enters the chosen state and returns it; `None` if the CPU has no states.
    #[inline]
    pub(crate) fn enter_chosen(&mut self, now: Nanos) -> Option<usize> {
        debug_assert!(self.current.is_none(), "a CPU leaves its idle state before it enters one");
        (self.since, self.offline_time) = (now, Nanos::ZERO);
        self.exit_done_at = None;
        self.woken_by = WokenBy::Other;
        self.current = self.chosen.take();
        if let Some(place) = self.current
            && self.offline_since.is_none()
        {
            self.residency[place].entries += 1;
        }
        self.current
    }

    /// Returns the end of polling in the state that was just entered, if no event for it is queued yet.
    pub(crate) fn arm_poll_limit(&mut self, now: Nanos, states: &[IdleState], tick: Nanos) -> Option<Nanos> {
        let is_armed = core::mem::replace(&mut self.is_poll_limit_armed, true);
        (!is_armed).then(|| now + poll_limit(states, tick))
    }

    /// Ends polling if the time limit has passed. The governor then learns that.
    pub(crate) fn poll_end(&mut self, now: Nanos, states: &[IdleState], tick: Nanos) -> PollEnd {
        self.is_poll_limit_armed = false;
        if !self.current.is_some_and(|state| states[state].polls) {
            return PollEnd::NotPolling;
        }
        let end = self.since + poll_limit(states, tick);
        if end > now {
            self.is_poll_limit_armed = true;
            return PollEnd::Later(end);
        }
        self.woken_by = WokenBy::PollLimit;
        PollEnd::Now
    }

    /// Forgets the chosen state and the end of the exit.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.exit_done_at = None;
        self.chosen = None;
    }

    /// Leaves the present state, if there is one, and updates governor and residency.
    #[inline]
    pub(crate) fn leave(&mut self, now: Nanos, states: &[IdleState], tick: Nanos) {
        let Some(place) = self.current.take() else { return };
        let time = self.time_in_state(now);
        self.residency[place].time += time;
        self.governor.reflect(states, place, now - self.since, self.woken_by, tick);
    }

    /// Returns the end of the exit from the present state, which an interrupt begins if none has before;
    /// `None` if the CPU is in no state.
    #[inline]
    pub(crate) fn exit_done_at(&mut self, now: Nanos, states: &[IdleState], is_tick: bool) -> Option<Nanos> {
        let state = self.current?;
        if self.exit_done_at.is_none() && is_tick {
            self.woken_by = WokenBy::Tick;
        }
        let (since, exits) = (self.since, &mut self.exits);
        Some(*self.exit_done_at.get_or_insert_with(|| now + exit_time(&states[state], now - since, exits)))
    }

    /// Whether the CPU is leaving a state.
    #[inline]
    pub(crate) fn is_leaving(&self, now: Nanos) -> bool {
        self.current.is_some() && self.exit_done_at.is_some_and(|back_at| back_at > now)
    }

    /// Returns the end of the next sleep; [`Nanos::NEVER`] without one. Sleeps for which `is_stale` holds are
    /// removed.
    #[inline]
    pub(crate) fn next_sleep(&mut self, is_stale: impl Fn(u32, u32) -> bool) -> Nanos {
        while let Some(&Reverse((_, task, version))) = self.sleeps.peek()
            && is_stale(task, version)
        {
            self.sleeps.pop();
        }
        self.sleeps.peek().map_or(Nanos::NEVER, |&Reverse((at, ..))| at)
    }

    /// Records the end of a sleep that begins on the CPU, with its task and version.
    #[inline]
    pub(crate) fn add_sleep(&mut self, until: Nanos, task: u32, version: u32) {
        self.sleeps.push(Reverse((until, task, version)));
    }

    /// Removes the sleeps that have ended.
    #[inline]
    pub(crate) fn clear_sleeps(&mut self, now: Nanos) {
        while self.sleeps.peek().is_some_and(|&Reverse((at, ..))| at <= now) {
            self.sleeps.pop();
        }
    }

    /// Removes and returns all sleeps.
    pub(crate) fn take_sleeps(&mut self) -> BinaryHeap<Reverse<(Nanos, u32, u32)>> {
        core::mem::take(&mut self.sleeps)
    }

    /// Adds sleeps of a CPU that goes offline.
    pub(crate) fn inherit_sleeps(&mut self, sleeps: BinaryHeap<Reverse<(Nanos, u32, u32)>>) {
        self.sleeps.extend(sleeps);
    }
}

/// Returns the random stream for the exit latencies of a CPU.
fn exit_stream(seed: u64, cpu: usize) -> RandomStream {
    RandomStream::new(seed, "idle-exit", cpu as u64)
}
