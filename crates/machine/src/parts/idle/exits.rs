// SPDX-License-Identifier: GPL-2.0-or-later
//! Exit latency: the time that a CPU needs to leave an idle state.
//!
//! The exit latency of cpuidle is the worst case: an interrupt arrives when the CPU has just begun to enter
//! the state, and the exit is slow. Measurements show a median and a rare worst case. Rules, in order:
//! 1. An interrupt that arrives during the entry waits for the end of the entry.
//! 2. The exit takes its maximum time if no typical exit is known. Otherwise it is random: half of the exits
//!    are up to an eighth faster than the typical one, the others are slower, and slower exits are rarer.
//!    About one of ten thousand takes the maximum time.
//! 3. Entry and exit together take at most the worst case.
//!
//! The shape between median and worst case is an assumption. Median and worst case are those of the machine
//! file.

use crate::hardware::IdleState;
use crate::streams::RandomStream;
use fairlab_sched::units::Nanos;

/// Divisor of the median: a typical exit is faster than the median by at most this fraction.
const FASTER: u64 = 8;
/// Number of squarings of the random fraction: the excess over the median is its 64th power.
const NR_SQUARINGS: u32 = 6;
/// Fixed-point representation of 1.
const FIXED_POINT_ONE: u64 = 1 << 32;

/// Returns the time from an interrupt until the CPU executes instructions. `since_entry` is the time since
/// the CPU began to enter the state.
pub(crate) fn exit_time(state: &IdleState, since_entry: Nanos, stream: &mut RandomStream) -> Nanos {
    let still_enters = state.entry_latency.saturating_since(since_entry);
    let longest = state.exit_latency.saturating_since(state.entry_latency);
    let exit = state.exit_typical.map_or(longest, |typical| draw_exit(typical, longest, stream));
    (still_enters + exit).min(state.exit_latency)
}

/// Draws an exit time with this median and maximum.
fn draw_exit(typical: Nanos, longest: Nanos, stream: &mut RandomStream) -> Nanos {
    let number = stream.draw();
    let mut fraction = number >> 32;
    let is_faster = number & 1 == 0;
    if is_faster {
        return Nanos(typical.0 - scale(typical.0 / FASTER, fraction));
    }
    for _ in 0..NR_SQUARINGS {
        fraction = fraction * fraction / FIXED_POINT_ONE;
    }
    Nanos(typical.0 + scale(longest.0.saturating_sub(typical.0), fraction))
}

/// Multiplies a time by a fraction, rounded down. Times of idle states are at most ten seconds (34 bits).
fn scale(time: u64, fraction: u64) -> u64 {
    (u128::from(time) * u128::from(fraction) / u128::from(FIXED_POINT_ONE)) as u64
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
        let (state, mut stream) = (state(Some(200), 400), RandomStream::new(1, "idle-exit", 0));
        let mut exits: Vec<u64> = (0..10_000).map(|_| exit_time(&state, LONG_AGO, &mut stream).0).collect();
        exits.sort_unstable();
        assert!(exits[0] >= 175_000 && exits[9_999] <= 650_000, "{} to {}", exits[0], exits[9_999]);
        assert!(exits[5_000].abs_diff(200_000) < 1_000, "{}", exits[5_000]);
        assert!(exits[9_000] < 225_000, "a tenth takes at least {}", exits[9_000]);
        assert!(exits[9_998] > 600_000, "the slowest takes {}", exits[9_998]);
    }

    #[test]
    fn without_a_typical_exit_each_takes_the_longest_time() {
        let mut stream = RandomStream::new(1, "idle-exit", 0);
        assert_eq!(exit_time(&state(None, 0), LONG_AGO, &mut stream), Nanos::from_micros(1050));
        assert_eq!(exit_time(&state(None, 400), LONG_AGO, &mut stream), Nanos::from_micros(650));
    }

    #[test]
    fn an_interrupt_during_the_entry_waits_for_its_end_and_never_longer_than_the_worst_case() {
        let mut stream = RandomStream::new(1, "idle-exit", 0);
        let exit = exit_time(&state(Some(200), 400), Nanos::from_micros(100), &mut stream);
        assert!((475_000..=950_000).contains(&exit.0), "{exit}");
        assert_eq!(exit_time(&state(None, 400), Nanos::ZERO, &mut stream), Nanos::from_micros(1050));
    }
}
