// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle governor `teo` (timer events oriented): the choice of an idle state and the decision about the tick.
//!
//! Models `teo_select()`, `teo_update()` and `teo_reflect()` (6.1). Each state has a bin: idle times from its
//! target residency up to that of the next state. Two decaying counters of a bin record how often the CPU
//! idled until its timer (a *hit* of the timer's bin), and how often another event came so early that the
//! idle time fell into a shallower bin (an *intercept* of that bin). The bins of the last nine intercepts are
//! recorded too. Rules, in order:
//! 1. The candidate is the deepest state whose target residency is at most the time to the next timer.
//! 2. If intercepts in shallower bins outweigh everything else, or are more than half of the last nine idle
//!    times, an early wake-up is expected. The choice is then the deepest state that would have been
//!    worthwhile in more than half of these cases, and the expected idle time is the middle of its bin. With
//!    the tick stopped, a state whose expected idle time is below one tick is replaced by the next deeper
//!    acceptable one.
//! 3. The exit latency of the choice is at most the PM QoS limit.
//! 4. The tick keeps running if the state polls or if the expected idle time is below one tick; the tick then
//!    bounds the state.
//!
//! Left out: disabled states.

use super::menu::{GovernorDecision, GovernorInput, HORIZON, WokenBy};
use crate::hardware::IdleState;
use fairlab_sched::units::Nanos;

/// Increment of a bin for one idle time (`PULSE`).
const PULSE: u32 = 1024;
/// Decay of a bin with each idle time: it loses its value shifted right by this (`DECAY_SHIFT`).
const DECAY_SHIFT: u32 = 3;
/// Number of recent idle times (`NR_RECENT`).
const NR_RECENT: usize = 9;

/// Statistics of idle times of one length.
#[derive(Clone, Copy, Debug, Default)]
struct TeoBin {
    hits: u32,
    intercepts: u32,
    /// Number of intercepts of this bin among the last [`NR_RECENT`] idle times.
    recent: u32,
}

impl TeoBin {
    fn decay(&mut self) {
        self.hits -= self.hits >> DECAY_SHIFT;
        self.intercepts -= self.intercepts >> DECAY_SHIFT;
    }
}

/// Sums over the bins that are shallower than a state.
#[derive(Clone, Copy, Default)]
struct ShallowerState {
    hits: u32,
    intercepts: u32,
    recent: u32,
}

impl ShallowerState {
    fn from_bins(bins: &[TeoBin]) -> Self {
        let add = |sum: Self, bin: &TeoBin| Self {
            hits: sum.hits + bin.hits,
            intercepts: sum.intercepts + bin.intercepts,
            recent: sum.recent + bin.recent,
        };
        bins.iter().fold(Self::default(), add)
    }
}

/// State of a CPU's TEO governor.
#[derive(Clone, Debug)]
pub(crate) struct Teo {
    bins: Vec<TeoBin>,
    /// Bins of the last intercepts; `None` for a hit. The oldest is at `next`.
    recent: [Option<usize>; NR_RECENT],
    next: usize,
    to_timer: Nanos,
}

/// Returns the deepest state whose target residency is at most `within`. The first state always qualifies.
fn deepest(states: &[IdleState], within: Nanos) -> usize {
    states.iter().rposition(|state| state.target_residency <= within).unwrap_or(0)
}

impl Teo {
    /// Returns the initial state of the governor of a CPU with `nr_states` idle states.
    pub(crate) fn new(nr_states: usize) -> Self {
        Self { bins: vec![TeoBin::default(); nr_states], recent: [None; NR_RECENT], next: 0, to_timer: Nanos::ZERO }
    }

    /// Chooses one of the CPU's states, which are ordered from the shallowest to the deepest. There is at
    /// least one.
    pub(crate) fn select(&mut self, states: &[IdleState], known: GovernorInput) -> GovernorDecision {
        self.to_timer = known.to_timer.min(HORIZON);
        let candidate = deepest(states, self.to_timer);
        let (state, expected) = self.early_wakeup(states, candidate, known).unwrap_or((candidate, self.to_timer));
        let allowed = states[..=candidate].iter().rposition(|state| state.exit_latency <= known.latency_limit);
        let state = state.min(allowed.unwrap_or(0));
        if known.is_tick_stopped || !(states[state].polls || expected < known.tick) {
            return GovernorDecision { state, stops_tick: true };
        }
        // The running tick ends the state at the latest.
        GovernorDecision { state: deepest(&states[..=state], known.to_tick.min(known.to_timer)), stops_tick: false }
    }

    /// Returns the state and the expected idle time for a CPU that is expected to wake up before the
    /// candidate is worthwhile.
    fn early_wakeup(&self, states: &[IdleState], candidate: usize, known: GovernorInput) -> Option<(usize, Nanos)> {
        let all = ShallowerState::from_bins(&self.bins);
        let early = ShallowerState::from_bins(&self.bins[..candidate]);
        // Compared with the hits and intercepts of the candidate and of deeper bins.
        let by_weight = 2 * early.intercepts > all.hits + all.intercepts - early.hits;
        let by_recent = early.recent > NR_RECENT as u32 / 2;
        if !by_weight && !by_recent {
            return None;
        }
        let mut good_enough = (candidate, self.to_timer);
        for state in (0..candidate).rev() {
            let expected = Nanos((states[state].target_residency.0 + states[state + 1].target_residency.0) / 2);
            let is_long = !known.is_tick_stopped || expected >= known.tick;
            let paid_off = ShallowerState::from_bins(&self.bins[state..candidate]);
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

    /// Records the time that a CPU spent in a state, including the exit latency.
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
            // An exit rarely takes its maximum time.
            time - Nanos(exit.0 / 2)
        } else {
            Nanos(time.0 / 2)
        };
        self.bins.iter_mut().for_each(TeoBin::decay);
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
