// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle governor `menu`: the choice of an idle state and the decision about the tick.
//!
//! Models `menu_select()`, `menu_update()` and `get_typical_interval()` (6.1, the same since 4.17). Rules, in
//! order:
//! 1. The expected idle time is the time to the next timer, scaled by a correction factor. There is one
//!    factor for each order of magnitude; it is the average ratio of idle time to that time.
//! 2. If the last idle times are similar (long outliers excluded), the expected idle time is at most their
//!    mean.
//! 3. With the tick stopped, an expected idle time below one tick could be wrong for a long time; the time to
//!    the next timer is used instead.
//! 4. The choice is the deepest state whose target residency is at most the expected idle time, and whose
//!    exit latency is at most the PM QoS limit and the expected idle time. A polling state is skipped unless
//!    the next timer is near. With a PM QoS limit of 0, or one below the exit latency of the second state,
//!    the choice is the first state.
//! 5. The tick keeps running if the state polls or if the expected idle time is below one tick.
//!
//! Left out: tasks in I/O wait (`nr_iowaiters` is always 0), and disabled states.

use crate::hardware::IdleState;
use fairlab_sched::units::Nanos;

/// Number of recent idle times (`INTERVALS`).
const NR_INTERVALS: usize = 8;
/// Number of correction factors (half of `BUCKETS`: the other half is for CPUs with tasks in I/O wait).
const NR_BUCKETS: usize = 6;
/// Fixed-point 1 of a single ratio (`RESOLUTION`).
const RESOLUTION: u64 = 1024;
/// Weight of the past relative to one new idle time (`DECAY`).
const DECAY: u64 = 8;
/// Idle times from this length on count as the full time to the timer (`MAX_INTERESTING`).
const MAX_INTERESTING: Nanos = Nanos::from_millis(50);
/// Upper bound of the time to the next timer: each CPU of a usual kernel has a watchdog timer every four
/// seconds (`watchdog_timer_fn()`). Here that timer does nothing and takes no time, but the governor includes
/// it.
pub(crate) const HORIZON: Nanos = Nanos::from_secs(4);
/// Variance below which idle times are similar regardless of their mean, in us^2.
const SMALL_VARIANCE: u64 = 400;

/// Inputs of the governor when a CPU begins to idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GovernorInput {
    /// Time to the CPU's next timer, excluding its tick.
    pub(crate) to_timer: Nanos,
    /// Time to the CPU's next tick.
    pub(crate) to_tick: Nanos,
    /// Length of a tick.
    pub(crate) tick: Nanos,
    /// Whether the CPU's tick is stopped already.
    pub(crate) is_tick_stopped: bool,
    /// Maximum exit latency that PM QoS allows (`cpuidle_governor_latency_req()`); [`Nanos::NEVER`] without a
    /// request.
    pub(crate) latency_limit: Nanos,
}

/// Decision of the governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GovernorDecision {
    /// Index of the state.
    pub(crate) state: usize,
    /// Whether the tick should stop, if it is running.
    pub(crate) stops_tick: bool,
}

/// Cause of the end of an idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WokenBy {
    Tick,
    /// Expiry of the polling limit.
    PollLimit,
    /// Interrupt other than the tick.
    Other,
}

/// State of a CPU's menu governor.
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    /// Ratio of idle time to the time to the timer, for each order of magnitude of the latter; 8192 is a
    /// ratio of 1.
    corrections: [u64; NR_BUCKETS],
    /// Last idle times in microseconds; the oldest is at `next`.
    intervals_us: [u64; NR_INTERVALS],
    next: usize,
    /// Correction factor of the last choice, as an index into `corrections`.
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
    /// Chooses one of the CPU's states, which are ordered from the shallowest to the deepest. There is at
    /// least one.
    pub(crate) fn select(&mut self, states: &[IdleState], known: GovernorInput) -> GovernorDecision {
        // The governor ignores a running tick as a timer, but does not stop the tick for a timer that is
        // near.
        self.to_timer = known.to_timer.min(HORIZON);
        self.bucket = bucket_of(self.to_timer);
        let limit = known.latency_limit;
        let is_first = states.len() == 1 || limit == Nanos::ZERO;
        if is_first || self.to_timer < states[1].target_residency || limit < states[1].exit_latency {
            return GovernorDecision { state: 0, stops_tick: !states[0].polls };
        }
        let mut expected = self.expected_idle();
        let mut latency = limit;
        if !known.is_tick_stopped {
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
                } else if expected >= known.tick && !known.is_tick_stopped {
                    // The governor chooses again at the next tick.
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
        if known.is_tick_stopped || !(states[chosen].polls || expected < known.tick) {
            return GovernorDecision { state: chosen, stops_tick: true };
        }
        // The running tick ends the state at the latest.
        let fits = states[..=chosen].iter().rposition(|state| state.target_residency <= known.to_tick);
        GovernorDecision { state: fits.unwrap_or(0), stops_tick: false }
    }

    /// Records the time that a CPU spent in a state, including the exit latency.
    pub(crate) fn reflect(&mut self, state: &IdleState, time: Nanos, woken_by: WokenBy, tick: Nanos) {
        let measured = match woken_by {
            // Without the tick the CPU would have stayed idle.
            WokenBy::Tick if self.to_timer > tick => Nanos(9 * MAX_INTERESTING.0 / 10),
            WokenBy::PollLimit => self.to_timer,
            _ if time.0 > 2 * state.exit_latency.0 => time - state.exit_latency,
            // The CPU did not complete the entry.
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

    /// Returns the expected idle time, in whole microseconds.
    fn expected_idle(&self) -> Nanos {
        let whole = RESOLUTION * DECAY * 1000;
        let corrected_us = (self.to_timer.0 * self.corrections[self.bucket] + whole / 2) / whole;
        let typical_us = self.typical_interval_us(corrected_us).unwrap_or(u64::MAX);
        Nanos(corrected_us.min(typical_us) * 1000)
    }

    /// Returns the mean of the last idle times if they are similar. Up to a quarter of them, the longest, may
    /// be excluded. `None` if the mean cannot be below `bound_us`.
    fn typical_interval_us(&self, bound_us: u64) -> Option<u64> {
        let mut longest = u64::MAX;
        loop {
            let kept = || self.intervals_us.iter().copied().filter(|&value| value <= longest);
            let (mut nr_kept, mut least, mut greatest, mut sum) = (0, u64::MAX, 0, 0);
            for value in kept() {
                nr_kept += 1;
                sum += value;
                (least, greatest) = (least.min(value), greatest.max(value));
            }
            if nr_kept == 0 || least >= bound_us {
                return None;
            }
            let mean = sum / nr_kept as u64;
            let squares = kept().map(|value| u128::from(value.abs_diff(mean)).pow(2)).sum::<u128>();
            let variance = squares / nr_kept as u128;
            let is_most = nr_kept * 4 >= NR_INTERVALS * 3;
            if (u128::from(mean).pow(2) > 36 * variance && is_most) || variance <= u128::from(SMALL_VARIANCE) {
                return Some(mean);
            }
            if nr_kept * 4 <= NR_INTERVALS * 3 {
                return None;
            }
            longest = greatest.checked_sub(1)?;
        }
    }
}

/// Returns the index of the correction factor for a time to the next timer.
fn bucket_of(to_timer: Nanos) -> usize {
    const FIRST_BOUND: u64 = 10_000;
    let bounds = core::iter::successors(Some(FIRST_BOUND), |bound| Some(bound * 10));
    bounds.take(NR_BUCKETS - 1).take_while(|&bound| to_timer.0 >= bound).count()
}

/// Returns the time that a CPU polls before its governor chooses again: the first target residency of at
/// least 10 us, and at most a sixteenth of a tick. Models `cpuidle_poll_time()` (6.1).
pub(crate) fn poll_limit(states: &[IdleState], tick: Nanos) -> Nanos {
    const LEAST: Nanos = Nanos::from_micros(10);
    let most = Nanos(tick.0 / 16);
    let next = states.iter().skip(1).map(|state| state.target_residency).find(|&residency| residency >= LEAST);
    next.map_or(most, |residency| residency.min(most))
}

#[cfg(test)]
mod tests;
