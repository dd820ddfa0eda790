// SPDX-License-Identifier: GPL-2.0-or-later
//! Slack of periodic tasks: the time from the arrival at a timer until its expiry, negative if the task is late.

use crate::latency::Latency;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};

/// Number of values whose percentiles are exact.
const MAX_EXACT_VALUES: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(crate) struct Slack {
    /// Slack of arrivals in time.
    early: Latency,
    /// Negated slack of late arrivals.
    late: Latency,
    /// Slack of each arrival, up to [`MAX_EXACT_VALUES`]; empty once there are more.
    few: Vec<i64>,
}

/// Summary statistics of slack, in nanoseconds. Low percentiles are those that matter for deadlines.
///
/// Minimum, mean and maximum are exact. Percentiles are exact for up to 1024 arrivals; beyond that they have three
/// significant digits, and lie between minimum and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SlackSummary {
    /// Number of arrivals.
    pub count: u64,
    /// Smallest slack, in nanoseconds.
    pub min_ns: i64,
    /// Mean in nanoseconds, rounded towards zero.
    pub mean_ns: i64,
    /// 1st percentile, in nanoseconds, to at least three significant digits.
    pub p1_ns: i64,
    /// 10th percentile, in nanoseconds, to at least three significant digits.
    pub p10_ns: i64,
    /// Median (50th percentile), in nanoseconds, to at least three significant digits.
    pub p50_ns: i64,
    /// Largest slack, in nanoseconds.
    pub max_ns: i64,
}

impl Slack {
    pub(crate) fn record(&mut self, arrival: Nanos, expiry: Nanos) {
        let nr_before = self.early.count() + self.late.count();
        if nr_before < MAX_EXACT_VALUES as u64 {
            self.few.push(expiry.0.wrapping_sub(arrival.0) as i64);
        } else {
            self.few = Vec::new();
        }
        if expiry > arrival {
            self.early.record((expiry - arrival).0);
        } else {
            self.late.record((arrival - expiry).0);
        }
    }

    pub(crate) fn nr_late(&self) -> u64 {
        self.late.count()
    }

    /// Returns the summary statistics, or `None` without any arrival.
    pub(crate) fn summary(&self) -> Option<SlackSummary> {
        let (nr_late, nr_early) = (self.late.count(), self.early.count());
        let count = nr_late + nr_early;
        let sum = self.early.sum() as i128 - self.late.sum() as i128;
        // The bounds of latencies are exact.
        let (early, late) = (self.early.summary().unwrap_or_default(), self.late.summary().unwrap_or_default());
        let mut few = self.few.clone();
        few.sort_unstable();
        let quantile = |part| self.quantile(&few, part);
        (count > 0).then(|| SlackSummary {
            count,
            min_ns: if nr_late > 0 { -(late.max_ns as i64) } else { early.min_ns as i64 },
            mean_ns: (sum / i128::from(count)) as i64,
            p1_ns: quantile(0.01),
            p10_ns: quantile(0.1),
            p50_ns: quantile(0.5),
            max_ns: if nr_early > 0 { early.max_ns as i64 } else { -(late.min_ns as i64) },
        })
    }

    /// Returns the quantile `part`, from 0 to 1: the value of the arrival with that rank in ascending order. `few` has the
    /// values in ascending order, or none.
    fn quantile(&self, few: &[i64], part: f64) -> i64 {
        let (nr_late, nr_early) = (self.late.count(), self.early.count());
        let rank = ((part * (nr_late + nr_early) as f64).ceil() as u64).max(1);
        if let Some(&exact) = few.get(rank as usize - 1) {
            exact
        } else if rank <= nr_late {
            -(self.late.quantile(part_of_rank(nr_late - rank + 1, nr_late)) as i64)
        } else {
            self.early.quantile(part_of_rank(rank - nr_late, nr_early)) as i64
        }
    }
}

/// Returns the quantile of the value with a rank, from 1. It lies half a rank below, so that rounding errors do not
/// lead to the next rank.
fn part_of_rank(rank: u64, count: u64) -> f64 {
    (rank as f64 - 0.5) / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_arrivals_have_negative_slack_and_count() {
        let mut slack = Slack::default();
        for ms in 1..=90 {
            slack.record(Nanos::from_millis(100 - ms), Nanos::from_millis(100));
        }
        for ms in 1..=10 {
            slack.record(Nanos::from_millis(100 + ms), Nanos::from_millis(100));
        }
        let summary = slack.summary().expect("there are arrivals");
        let near = |ns: i64, ms: i64| (ns - ms * 1_000_000).abs() * 500 <= ms.abs() * 1_000_000;
        assert_eq!((summary.count, summary.min_ns, summary.max_ns), (100, -10_000_000, 90_000_000));
        assert!(near(summary.p1_ns, -10) && near(summary.p10_ns, -1) && near(summary.p50_ns, 40), "{summary:?}");
        assert_eq!(summary.mean_ns, (90 * 91 / 2 - 55) * 10_000);
        assert_eq!(Slack::default().summary(), None);
    }

    #[test]
    fn bounds_are_exact_and_so_are_percentiles_of_few_arrivals() {
        let recorded = |count: u64| {
            let mut slack = Slack::default();
            (1..count).for_each(|_| slack.record(Nanos(2_000_000), Nanos(10_000_000)));
            slack.record(Nanos(0), Nanos(10_000_000));
            slack.summary().expect("there are arrivals")
        };
        let few = recorded(1024);
        assert_eq!((few.min_ns, few.p1_ns, few.p50_ns, few.max_ns), (8_000_000, 8_000_000, 8_000_000, 10_000_000));
        let many = recorded(1025);
        assert_eq!((many.min_ns, many.max_ns), (8_000_000, 10_000_000));
        assert!((8_000_000..8_008_000).contains(&many.p50_ns), "{many:?}");
    }

    #[test]
    fn each_rank_has_its_own_value() {
        for (late, early) in [(49, 6), (6, 49), (103, 0), (0, 103)] {
            let mut slack = Slack::default();
            let values: Vec<i64> = (1..=late).rev().map(|ns| -ns).chain(1..=early).collect();
            for &ns in &values {
                slack.record(Nanos((1000 - ns) as u64), Nanos(1000));
            }
            for (index, &ns) in values.iter().enumerate() {
                let part = (index as f64 + 0.5) / values.len() as f64;
                assert_eq!(slack.quantile(&[], part), ns, "rank {} of {late} and {early}", index + 1);
            }
        }
    }
}
