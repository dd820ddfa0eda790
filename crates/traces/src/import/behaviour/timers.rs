// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects sleeps that a periodic timer ended: their ends lie on a grid, while their lengths vary.
//!
//! A task with constant work per period has sleeps of constant length as well. The two cases cannot be
//! distinguished, so these sleeps stay sleeps.

/// Sleep with its start and end in ns from the start of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sleep {
    pub(super) from: u64,
    pub(super) to: u64,
}

const MIN_SLEEPS: usize = 8;
/// Minimum period in ns. Shorter sleeps are waits for a device.
const MIN_PERIOD_NS: u64 = 500_000;
/// Divisor of the period that gives the tolerated distance of an end from the grid.
const TOLERANCE_DIVISOR: u64 = 32;

/// Returns the period in ns of the timer that ends a task's sleeps, if there is one.
pub(super) fn period_of(sleeps: &[Sleep]) -> Option<u64> {
    if sleeps.len() < MIN_SLEEPS {
        return None;
    }
    let gaps: Vec<u64> = sleeps.windows(2).map(|two| two[1].to.saturating_sub(two[0].to)).collect();
    let lengths: Vec<u64> = sleeps.iter().map(|sleep| sleep.to.saturating_sub(sleep.from)).collect();
    let period = median(&gaps);
    if period < MIN_PERIOD_NS {
        return None;
    }
    // The gap may cover one or several periods.
    let off = |gap: u64| {
        let nr = ((gap + period / 2) / period).max(1);
        gap.abs_diff(nr * period)
    };
    let regular = gaps.iter().filter(|&&gap| off(gap) <= period / TOLERANCE_DIVISOR).count();
    let usual = median(&lengths);
    let spread = median(&lengths.iter().map(|length| length.abs_diff(usual)).collect::<Vec<_>>());
    let jitter = median(&gaps.iter().map(|&gap| off(gap)).collect::<Vec<_>>());
    (regular * 10 >= gaps.len() * 9 && spread > 4 * jitter + 1000).then_some(period)
}

fn median(numbers: &[u64]) -> u64 {
    let mut sorted = numbers.to_vec();
    let middle = sorted.len() / 2;
    *sorted.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeps(nr: u64, of: impl Fn(u64) -> (u64, u64)) -> Vec<Sleep> {
        (0..nr).map(of).map(|(from, to)| Sleep { from, to }).collect()
    }

    #[test]
    fn ends_on_a_grid_are_a_timer_s_unless_lengths_are_as_regular() {
        const MS: u64 = 1_000_000;
        let busy = |i: u64| (i * 7919 % 13) * 300_000;
        let timer = sleeps(20, |i| (i * 10 * MS + busy(i), (i + 1) * 10 * MS + i % 3 * 1000));
        let is_10_ms = |sleeps: &[Sleep]| period_of(sleeps).is_some_and(|period| period.abs_diff(10 * MS) <= 2000);
        assert!(is_10_ms(&timer));
        let missing = sleeps(20, |i| (i * 10 * MS + busy(i), (i + 1 + u64::from(i > 9)) * 10 * MS));
        assert!(is_10_ms(&missing), "one expiry was missed");
        assert_eq!(
            period_of(&sleeps(20, |i| (i * 10 * MS + MS, (i + 1) * 10 * MS))),
            None,
            "the two cases cannot be distinguished"
        );
        let mut at = 0;
        let relative: Vec<Sleep> = (0..20)
            .map(|i| {
                at += busy(i) + MS;
                let from = at;
                at += 3 * MS;
                Sleep { from, to: at }
            })
            .collect();
        assert_eq!(period_of(&relative), None);
        assert_eq!(period_of(&timer[..7]), None, "too few");
    }

    #[test]
    fn lengths_must_vary_more_than_a_microsecond_around_an_exact_grid() {
        const MS: u64 = 1_000_000;
        let with = |step: u64| sleeps(21, |i| ((10 * i + 5) * MS - step * (i % 3), (10 * i + 10) * MS));
        assert_eq!((period_of(&with(1000)), period_of(&with(1001))), (None, Some(10 * MS)));
    }
}
