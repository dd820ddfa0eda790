// SPDX-License-Identifier: GPL-2.0-or-later
//! State of netperf's pairs over time: the share of transactions on one CPU in each millisecond.

use super::slot_mut;
use fairlab_sched::units::Nanos;

/// Length of an interval. Intervals are aligned to the machine's clock.
const INTERVAL: Nanos = Nanos::from_millis(1);
/// Share of an interval's transactions on one CPU, from which on pairs count as stacked, in percent.
const STACKED_PERCENT: u64 = 75;
/// Change of the share from the first to the last quarter that is a change of state, in points.
const CHANGE_POINTS: f64 = 25.0;

/// Number of transactions.
#[derive(Clone, Copy, Debug, Default)]
struct TransactionCounts {
    all: u64,
    on_one_cpu: u64,
}

impl TransactionCounts {
    const fn is_stacked(self) -> bool {
        100 * self.on_one_cpu >= STACKED_PERCENT * self.all
    }

    fn share(self) -> f64 {
        self.on_one_cpu as f64 / self.all.max(1) as f64
    }
}

/// Transactions of each interval, from that of the first transaction on.
#[derive(Clone, Debug, Default)]
pub(super) struct PairStates {
    /// Number of the first interval on the machine's clock.
    first: usize,
    intervals: Vec<TransactionCounts>,
}

impl PairStates {
    /// Records the end of a transaction.
    #[inline]
    pub(super) fn record(&mut self, now: Nanos, is_on_one_cpu: bool) {
        let interval = (now.0 / INTERVAL.0) as usize;
        if self.intervals.is_empty() {
            self.first = interval;
        }
        let counts = slot_mut(&mut self.intervals, interval - self.first);
        counts.all += 1;
        counts.on_one_cpu += u64::from(is_on_one_cpu);
    }

    /// Returns the share of transactions on one CPU in each quarter of the intervals; nothing for fewer than four.
    pub(super) fn quarters(&self) -> Vec<f64> {
        let nr_intervals = self.intervals.len();
        let share = |quarter: usize| {
            let intervals = &self.intervals[quarter * nr_intervals / 4..(quarter + 1) * nr_intervals / 4];
            let sum = |counts: fn(&TransactionCounts) -> u64| intervals.iter().map(counts).sum();
            TransactionCounts { all: sum(|it| it.all), on_one_cpu: sum(|it| it.on_one_cpu) }.share()
        };
        if nr_intervals < 4 { Vec::new() } else { (0..4).map(share).collect() }
    }

    /// Returns the time from the first interval to the one from which on all are stacked; `None` if the last is not.
    pub(super) fn stacked_after(&self) -> Option<Nanos> {
        let after = self.intervals.iter().rposition(|counts| !counts.is_stacked()).map_or(0, |last| last + 1);
        (after < self.intervals.len()).then_some(Nanos(after as u64 * INTERVAL.0))
    }
}

/// Returns a sentence about a change of state between the first and the last quarter, if there was one.
pub(super) fn change_sentence(quarters: &[f64], stacked_after: Option<Nanos>) -> Option<String> {
    let (first, last) = (100.0 * quarters.first()?, 100.0 * quarters.last()?);
    if (first - last).abs() <= CHANGE_POINTS {
        return None;
    }
    let since = stacked_after.map_or_else(String::new, |after| format!(", stacked after {after}"));
    Some(format!("The state changed: {first:.0} % on one CPU in the first quarter, {last:.0} % in the last{since}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the states of 20 ms with 100 transactions in each, of which these are on one CPU.
    fn states(on_one_cpu: impl Fn(u64) -> u64) -> PairStates {
        let mut states = PairStates::default();
        for ms in 0..20 {
            for number in 0..100 {
                states.record(Nanos::from_millis(2000 + ms) + Nanos(number), number < on_one_cpu(ms));
            }
        }
        states
    }

    #[test]
    fn a_change_of_state_is_reported_with_its_time() {
        let changed = states(|ms| if ms < 15 { 10 } else { 90 });
        assert_eq!(changed.quarters(), [0.1, 0.1, 0.1, 0.9]);
        assert_eq!(changed.stacked_after(), Some(Nanos::from_millis(15)));
        let sentence = change_sentence(&changed.quarters(), changed.stacked_after()).expect("it changed");
        assert_eq!(
            sentence,
            "The state changed: 10 % on one CPU in the first quarter, 90 % in the last, stacked after 15ms"
        );
        let back = states(|ms| if ms < 15 { 90 } else { 10 });
        let sentence = change_sentence(&back.quarters(), back.stacked_after()).expect("it changed");
        assert!(sentence.ends_with("10 % in the last"), "{sentence}");
    }

    #[test]
    fn a_state_that_lasts_is_not_reported() {
        let (stacked, mixed) = (states(|_| 75), states(|ms| ms));
        assert_eq!((stacked.stacked_after(), mixed.stacked_after()), (Some(Nanos::ZERO), None));
        for states in [stacked, mixed, states(|ms| if ms == 7 { 100 } else { 0 })] {
            assert_eq!(change_sentence(&states.quarters(), states.stacked_after()), None);
        }
        assert_eq!(change_sentence(&PairStates::default().quarters(), None), None);
    }
}
