// SPDX-License-Identifier: GPL-2.0-or-later
//! The idle governor `menu`: which idle state a CPU enters, and whether its tick goes on meanwhile.
//!
//! Models `menu_select()`, `menu_update()` and `get_typical_interval()` (6.1, the same since 4.17). Rules, in order:
//! 1. The CPU is expected to idle until its next timer, shortened by how far such expectations have fallen short before: one
//!    correction for each order of magnitude.
//! 2. If its last idle times are alike (outliers above left out), it is expected to idle for their mean, if that is shorter.
//! 3. A CPU whose tick is stopped already and that is expected to be back within a tick might be wrong for long: the next timer
//!    counts.
//! 4. The deepest state is taken whose target residency fits, and whose exit latency is neither above what was asked for (PM QoS) nor
//!    above the expected idle time. A state that polls is left to a timer that is near. If a latency of 0 is asked for, or less than the
//!    second state has, it is the first one.
//! 5. The tick goes on if the state polls or if less than a tick is expected.
//!
//! Left out: tasks that wait for I/O (`nr_iowaiters` is always 0), and states that are disabled.

use crate::hardware::IdleState;
use fairlab_sched::units::Nanos;

/// How many idle times are remembered (`INTERVALS`).
const NR_INTERVALS: usize = 8;
/// Orders of magnitude that have a correction of their own (half of `BUCKETS`: the others are for tasks that wait for I/O).
const NR_BUCKETS: usize = 6;
/// What stands for a perfect expectation (`RESOLUTION`).
const RESOLUTION: u64 = 1024;
/// Weight of the past against one new idle time (`DECAY`).
const DECAY: u64 = 8;
/// Longer idle times are as good as expected (`MAX_INTERESTING`).
const MAX_INTERESTING: Nanos = Nanos::from_millis(50);
/// No timer is further away than this: each CPU of a usual kernel has one that looks for lockups every four seconds
/// (`watchdog_timer_fn()`). Here it does nothing and takes no time, but the governor counts with it.
pub(crate) const HORIZON: Nanos = Nanos::from_secs(4);
/// Standard deviation below which idle times are alike however short they are, squared, in us^2.
const SMALL_VARIANCE: u64 = 400;

/// What is known when a CPU begins to idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GovernorInput {
    /// Until its next timer, the tick not among them.
    pub(crate) to_timer: Nanos,
    /// Until its next tick.
    pub(crate) to_tick: Nanos,
    /// Length of a tick.
    pub(crate) tick: Nanos,
    /// Its tick is stopped already.
    pub(crate) tick_is_stopped: bool,
    /// The longest exit latency that PM QoS allows (`cpuidle_governor_latency_req()`); [`Nanos::NEVER`] if nobody asks for one.
    pub(crate) latency_limit: Nanos,
}

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GovernorDecision {
    /// The state's place.
    pub(crate) state: usize,
    /// Whether the tick is to stop, if it has not stopped already.
    pub(crate) stops_tick: bool,
}

/// What ended an idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WokenBy {
    /// The tick.
    Tick,
    /// Nobody: it had polled for long enough.
    PollLimit,
    /// Anything else.
    Other,
}

/// What a CPU's governor has learnt.
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    /// Idle time over time to the timer, by the latter's order of magnitude: 8192 is 1.
    corrections: [u64; NR_BUCKETS],
    /// The last idle times in microseconds, the oldest one at `next`.
    intervals_us: [u64; NR_INTERVALS],
    next: usize,
    /// What the last choice was made with.
    bucket: usize,
    to_timer: Nanos,
}

impl Default for Menu {
    fn default() -> Self {
        Self {
            corrections: [RESOLUTION * DECAY; NR_BUCKETS],
            intervals_us: [0; NR_INTERVALS],
            next: 0,
            bucket: 0,
            to_timer: Nanos::ZERO,
        }
    }
}

impl Menu {
    /// Chooses a state of those that a CPU has, from the shallowest to the deepest; there is at least one.
    pub(crate) fn select(&mut self, states: &[IdleState], known: GovernorInput) -> GovernorDecision {
        // A tick that goes on is no timer to the governor, but one that is near is not stopped for.
        self.to_timer = known.to_timer.min(HORIZON);
        self.bucket = bucket_of(self.to_timer);
        let limit = known.latency_limit;
        let is_first = states.len() == 1 || limit == Nanos::ZERO;
        if is_first || self.to_timer < states[1].target_residency || limit < states[1].exit_latency {
            return GovernorDecision { state: 0, stops_tick: !states[0].polls };
        }
        let mut expected = self.expected();
        let mut latency = limit;
        if !known.tick_is_stopped {
            latency = latency.min(expected);
        } else if expected < known.tick {
            expected = self.to_timer;
        }
        let mut chosen = 0;
        for (place, state) in states.iter().enumerate() {
            if state.target_residency > expected {
                let above = &states[chosen];
                if above.polls && state.exit_latency <= latency && state.target_residency <= self.to_timer {
                    (expected, chosen) = (state.target_residency, place);
                } else if expected >= known.tick && !known.tick_is_stopped {
                    // It will be asked again at the next tick.
                    expected = above.target_residency;
                } else if expected >= known.tick {
                    let is_shallow = above.target_residency < known.tick;
                    let deeper = is_shallow && state.target_residency <= known.to_tick;
                    return GovernorDecision { state: if deeper { place } else { chosen }, stops_tick: true };
                }
                break;
            }
            if state.exit_latency > latency {
                break;
            }
            chosen = place;
        }
        if known.tick_is_stopped || !(states[chosen].polls || expected < known.tick) {
            return GovernorDecision { state: chosen, stops_tick: true };
        }
        // The tick that goes on ends it at the latest.
        let fits = states[..=chosen].iter().rposition(|state| state.target_residency <= known.to_tick);
        GovernorDecision { state: fits.unwrap_or(0), stops_tick: false }
    }

    /// Learns how long a CPU was in a state, its exit latency among it.
    pub(crate) fn reflect(&mut self, state: &IdleState, time: Nanos, woken_by: WokenBy, tick: Nanos) {
        let measured = match woken_by {
            // It would have idled on.
            WokenBy::Tick if self.to_timer > tick => Nanos(9 * MAX_INTERESTING.0 / 10),
            WokenBy::PollLimit => self.to_timer,
            _ if time.0 > 2 * state.exit_latency.0 => time - state.exit_latency,
            // It did not get there.
            _ => Nanos(time.0 / 2),
        };
        let measured = measured.min(self.to_timer);
        let correction = &mut self.corrections[self.bucket];
        *correction -= *correction / DECAY;
        *correction += if self.to_timer > Nanos::ZERO && measured < MAX_INTERESTING {
            RESOLUTION * measured.0 / self.to_timer.0
        } else {
            RESOLUTION
        };
        self.intervals_us[self.next] = measured.0 / 1000;
        self.next = (self.next + 1) % NR_INTERVALS;
    }

    /// How long it will idle, in whole microseconds.
    fn expected(&self) -> Nanos {
        let whole = RESOLUTION * DECAY * 1000;
        let corrected_us = (self.to_timer.0 * self.corrections[self.bucket] + whole / 2) / whole;
        let typical_us = self.typical_interval_us(corrected_us).unwrap_or(u64::MAX);
        Nanos(corrected_us.min(typical_us) * 1000)
    }

    /// The mean of the last idle times, if they are alike. Up to a quarter of them, the longest, may be left out for that. Not
    /// computed if it cannot be below `bound_us`.
    fn typical_interval_us(&self, bound_us: u64) -> Option<u64> {
        let mut longest = u64::MAX;
        loop {
            let kept = || self.intervals_us.iter().copied().filter(|&value| value <= longest);
            let nr_kept = kept().count();
            if nr_kept == 0 || kept().min()? >= bound_us {
                return None;
            }
            let mean = kept().sum::<u64>() / nr_kept as u64;
            let squares = kept().map(|value| u128::from(value.abs_diff(mean)).pow(2)).sum::<u128>();
            let variance = squares / nr_kept as u128;
            let is_most = nr_kept * 4 >= NR_INTERVALS * 3;
            if (u128::from(mean).pow(2) > 36 * variance && is_most) || variance <= u128::from(SMALL_VARIANCE) {
                return Some(mean);
            }
            if nr_kept * 4 <= NR_INTERVALS * 3 {
                return None;
            }
            longest = kept().max()?.checked_sub(1)?;
        }
    }
}

/// Which correction belongs to a time to the next timer.
fn bucket_of(to_timer: Nanos) -> usize {
    const FIRST_BOUND: u64 = 10_000;
    let bounds = core::iter::successors(Some(FIRST_BOUND), |bound| Some(bound * 10));
    bounds.take(NR_BUCKETS - 1).take_while(|&bound| to_timer.0 >= bound).count()
}

/// How long a CPU polls before its governor is asked again: the target residency of the next state that is worth it, at most a
/// sixteenth of a tick. Models `cpuidle_poll_time()` (6.1).
pub(crate) fn poll_limit(states: &[IdleState], tick: Nanos) -> Nanos {
    const LEAST: Nanos = Nanos::from_micros(10);
    let most = Nanos(tick.0 / 16);
    let next = states.iter().skip(1).map(|state| state.target_residency).find(|&residency| residency >= LEAST);
    next.map_or(most, |residency| residency.min(most))
}

#[cfg(test)]
mod tests;
