// SPDX-License-Identifier: GPL-2.0-or-later
//! How long a CPU takes to come out of an idle state.
//!
//! What cpuidle is told is the worst case: an interrupt that comes when the CPU has just begun to enter the state, and a slow way
//! back. Measurements tell a median and a rare worst case. Rules, in order:
//! 1. An interrupt that comes while the CPU is entering waits until it has entered.
//! 2. The way back takes the longest time if nothing is known of typical exits. Otherwise it is drawn: half of the exits are up to an
//!    eighth faster than a typical one, the others slower, and the slower the rarer. Of ten thousand one takes the longest time.
//! 3. Both together take no longer than the worst case.
//!
//! The shape between median and worst case is assumed; the two are those of the machine's file.

use crate::hardware::IdleState;
use crate::streams::Stream;
use fairlab_sched::units::Nanos;

/// A typical exit is at most so much (one over this) faster than the median.
const FASTER: u64 = 8;
/// How often the fraction is squared: the excess over the median is its 64th power.
const SQUARINGS: u32 = 6;
/// One, as a fraction.
const ONE: u64 = 1 << 32;

/// From an interrupt until the CPU executes, of a CPU that began to enter the state so long ago.
pub(crate) fn exit_time(state: &IdleState, since_entry: Nanos, stream: &mut Stream) -> Nanos {
    let still_enters = state.entry_latency.saturating_since(since_entry);
    let longest = state.exit_latency.saturating_since(state.entry_latency);
    let exit = state.exit_typical.map_or(longest, |typical| draw(typical, longest, stream));
    (still_enters + exit).min(state.exit_latency)
}

/// One of the exits whose median and longest are known.
fn draw(typical: Nanos, longest: Nanos, stream: &mut Stream) -> Nanos {
    let number = stream.draw();
    let mut fraction = number >> 32;
    let is_faster = number & 1 == 0;
    if is_faster {
        return Nanos(typical.0 - scale(typical.0 / FASTER, fraction));
    }
    for _ in 0..SQUARINGS {
        fraction = fraction * fraction / ONE;
    }
    Nanos(typical.0 + scale(longest.0.saturating_sub(typical.0), fraction))
}

/// A part of a time, rounded down. Times are those of idle states, at most ten seconds: 34 bits.
fn scale(time: u64, fraction: u64) -> u64 {
    (u128::from(time) * u128::from(fraction) / u128::from(ONE)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(typical_us: Option<u64>, entry_us: u64) -> IdleState {
        IdleState {
            name: "off".to_owned(),
            exit_latency: Nanos::from_micros(1050),
            exit_typical: typical_us.map(Nanos::from_micros),
            entry_latency: Nanos::from_micros(entry_us),
            target_residency: Nanos::from_micros(1500),
            polls: false,
            power_uw: None,
        }
    }

    const LONG_AGO: Nanos = Nanos::from_millis(10);

    #[test]
    fn half_of_the_exits_are_faster_than_the_typical_one_and_few_come_near_the_worst() {
        let (state, mut stream) = (state(Some(200), 400), Stream::new(1, "idle-exit", 0));
        let mut exits: Vec<u64> = (0..10_000).map(|_| exit_time(&state, LONG_AGO, &mut stream).0).collect();
        exits.sort_unstable();
        assert!(exits[0] >= 175_000 && exits[9_999] <= 650_000, "{} to {}", exits[0], exits[9_999]);
        assert!(exits[5_000].abs_diff(200_000) < 1_000, "{}", exits[5_000]);
        assert!(exits[9_000] < 225_000, "a tenth takes {}", exits[9_000]);
        assert!(exits[9_998] > 600_000, "the slowest takes {}", exits[9_998]);
    }

    #[test]
    fn without_a_typical_exit_each_takes_the_longest_time() {
        let mut stream = Stream::new(1, "idle-exit", 0);
        assert_eq!(exit_time(&state(None, 0), LONG_AGO, &mut stream), Nanos::from_micros(1050));
        assert_eq!(exit_time(&state(None, 400), LONG_AGO, &mut stream), Nanos::from_micros(650));
    }

    #[test]
    fn an_interrupt_during_the_entry_waits_for_its_end_and_never_longer_than_the_worst_case() {
        let mut stream = Stream::new(1, "idle-exit", 0);
        let exit = exit_time(&state(Some(200), 400), Nanos::from_micros(100), &mut stream);
        assert!((475_000..=950_000).contains(&exit.0), "{exit}");
        assert_eq!(exit_time(&state(None, 400), Nanos::ZERO, &mut stream), Nanos::from_micros(1050));
    }
}
