// SPDX-License-Identifier: GPL-2.0-or-later
//! The idle governor `teo` (timer events oriented): which idle state a CPU enters, and whether its tick goes on meanwhile.
//!
//! Models `teo_select()`, `teo_update()` and `teo_reflect()` (6.1). Each state has a bin: idle times from its target residency up to that of
//! the next one. The governor remembers, fading, how often the CPU idled until its timer (a *hit* of the timer's bin) and how often
//! something else came so much earlier that it fell into a shallower bin (an *intercept* of that bin), and where the last nine
//! went. Rules, in order:
//! 1. The candidate is the deepest state that pays off until the next timer.
//! 2. If intercepts in shallower bins outweigh all else, or more than half of the last nine fell there, the CPU will be back early: the
//!    deepest state is taken that would have paid off in more than half of these cases, and the middle of its bin is expected. If
//!    the tick is stopped already, what expects less than a tick is not good enough, and the last one that was is taken.
//! 3. No state's exit latency is above what was asked for (PM QoS).
//! 4. The tick goes on if the state polls or if less than a tick is expected; then it bounds the state.
//!
//! Left out: states that are disabled.

use crate::hardware::IdleState;
use crate::menu::{GovernorDecision, GovernorInput, HORIZON, WokenBy};
use fairlab_sched::units::Nanos;

/// What one idle time adds to its bin (`PULSE`).
const PULSE: u32 = 1024;
/// Bins lose 1/2^this of what they have with each idle time (`DECAY_SHIFT`).
const DECAY_SHIFT: u32 = 3;
/// How many idle times count as recent (`NR_RECENT`).
const NR_RECENT: usize = 9;

/// What is remembered of idle times of a length.
#[derive(Clone, Copy, Debug, Default)]
struct TeoBin {
    hits: u32,
    intercepts: u32,
    /// Of the last idle times, how many were intercepts here.
    recent: u32,
}

impl TeoBin {
    fn fade(&mut self) {
        self.hits -= self.hits >> DECAY_SHIFT;
        self.intercepts -= self.intercepts >> DECAY_SHIFT;
    }
}

/// Sums over the bins that are shallower than a state's.
#[derive(Clone, Copy, Default)]
struct ShallowerState {
    hits: u32,
    intercepts: u32,
    recent: u32,
}

impl ShallowerState {
    fn of(bins: &[TeoBin]) -> Self {
        let add = |sum: Self, bin: &TeoBin| Self {
            hits: sum.hits + bin.hits,
            intercepts: sum.intercepts + bin.intercepts,
            recent: sum.recent + bin.recent,
        };
        bins.iter().fold(Self::default(), add)
    }
}

/// What a CPU's governor has learnt.
#[derive(Clone, Debug)]
pub(crate) struct Teo {
    bins: Vec<TeoBin>,
    /// Where the last intercepts went; none for a hit. The oldest is at `next`.
    recent: [Option<usize>; NR_RECENT],
    next: usize,
    to_timer: Nanos,
}

/// The deepest of the states that pays off in some time; the first one always does.
fn deepest(states: &[IdleState], within: Nanos) -> usize {
    states.iter().rposition(|state| state.target_residency <= within).unwrap_or(0)
}

impl Teo {
    /// Of a CPU with so many states.
    pub(crate) fn new(nr_states: usize) -> Self {
        Self { bins: vec![TeoBin::default(); nr_states], recent: [None; NR_RECENT], next: 0, to_timer: Nanos::ZERO }
    }

    /// Chooses a state of those that a CPU has, from the shallowest to the deepest; there is at least one.
    pub(crate) fn select(&mut self, states: &[IdleState], known: GovernorInput) -> GovernorDecision {
        self.to_timer = known.to_timer.min(HORIZON);
        let candidate = deepest(states, self.to_timer);
        let (state, expected) = self.back_early(states, candidate, known).unwrap_or((candidate, self.to_timer));
        let allowed = states[..=candidate].iter().rposition(|state| state.exit_latency <= known.latency_limit);
        let state = state.min(allowed.unwrap_or(0));
        if known.tick_is_stopped || !(states[state].polls || expected < known.tick) {
            return GovernorDecision { state, stops_tick: true };
        }
        // The tick that goes on ends it at the latest.
        GovernorDecision { state: deepest(&states[..=state], known.to_tick.min(known.to_timer)), stops_tick: false }
    }

    /// The state for a CPU that will be back before it pays off to enter the candidate, and when that is expected.
    fn back_early(&self, states: &[IdleState], candidate: usize, known: GovernorInput) -> Option<(usize, Nanos)> {
        let all = ShallowerState::of(&self.bins);
        let early = ShallowerState::of(&self.bins[..candidate]);
        // Against hits and intercepts of the candidate and of what is deeper.
        let by_weight = 2 * early.intercepts > all.hits + all.intercepts - early.hits;
        let by_recent = early.recent > NR_RECENT as u32 / 2;
        if !by_weight && !by_recent {
            return None;
        }
        let mut good_enough = (candidate, self.to_timer);
        for state in (0..candidate).rev() {
            let expected = Nanos((states[state].target_residency.0 + states[state + 1].target_residency.0) / 2);
            let is_long = !known.tick_is_stopped || expected >= known.tick;
            let paid_off = ShallowerState::of(&self.bins[state..candidate]);
            let mostly = (!by_recent || 2 * paid_off.recent > early.recent)
                && (!by_weight || 2 * paid_off.intercepts > early.intercepts);
            if mostly {
                return Some(if is_long { (state, expected) } else { good_enough });
            }
            if is_long {
                good_enough = (state, expected);
            } else if good_enough.0 == candidate {
                break;
            }
        }
        None
    }

    /// Learns how long a CPU was in a state, its exit latency among it.
    pub(crate) fn reflect(&mut self, states: &[IdleState], state: usize, time: Nanos, woken_by: WokenBy, tick: Nanos) {
        let exit = states[state].exit_latency;
        let as_expected = match woken_by {
            WokenBy::PollLimit => true,
            WokenBy::Tick => self.to_timer > tick,
            WokenBy::Other => false,
        };
        let measured = if as_expected || time >= self.to_timer {
            self.to_timer
        } else if time >= exit {
            // An exit seldom takes as long as it may.
            time - Nanos(exit.0 / 2)
        } else {
            Nanos(time.0 / 2)
        };
        self.bins.iter_mut().for_each(TeoBin::fade);
        let expected = deepest(states, self.to_timer);
        let happened = deepest(states, measured.min(self.to_timer));
        let intercept = (happened != expected).then_some(happened);
        match intercept {
            None => self.bins[expected].hits += PULSE,
            Some(bin) => {
                self.bins[bin].intercepts += PULSE;
                self.bins[bin].recent += 1;
            }
        }
        if let Some(bin) = core::mem::replace(&mut self.recent[self.next], intercept) {
            self.bins[bin].recent -= 1;
        }
        self.next = (self.next + 1) % NR_RECENT;
    }
}

#[cfg(test)]
mod tests;
