// SPDX-License-Identifier: GPL-2.0-or-later
//! Latencies: how they are collected, and the few figures that are told of them.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Digits to which quantiles are exact.
const DIGITS: u8 = 3;

/// Latencies of one kind. Count, sum, least and greatest are exact, quantiles to three digits.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    /// Made at the first record: most runs have families that never wake up.
    histogram: Option<Box<Histogram<u64>>>,
    sum: u128,
    min: u64,
    max: u64,
}

/// What is told of latencies. All in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatencySummary {
    /// How many there were.
    pub count: u64,
    /// The least.
    pub min_ns: u64,
    /// The mean, rounded down.
    pub mean_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The greatest.
    pub max_ns: u64,
}

impl Latency {
    /// Adds one, in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let histogram = self.histogram.get_or_insert_with(|| {
            Box::new(Histogram::new(DIGITS).expect("the number of digits is one that histograms may have"))
        });
        if histogram.is_empty() {
            (self.min, self.max) = (ns, ns);
        }
        histogram.record(ns).expect("the histogram grows with its values");
        self.sum += u128::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.len())
    }

    /// The value below which this part of them lies.
    pub fn quantile(&self, part: f64) -> u64 {
        let value = self.histogram.as_ref().map_or(0, |histogram| histogram.value_at_quantile(part));
        value.clamp(self.min, self.max)
    }

    /// What is told of them; `None` if there are none.
    pub fn summary(&self) -> Option<LatencySummary> {
        let count = self.count();
        (count > 0).then(|| LatencySummary {
            count,
            min_ns: self.min,
            mean_ns: u64::try_from(self.sum / u128::from(count)).expect("a mean is no greater than the greatest"),
            p50_ns: self.quantile(0.5),
            p90_ns: self.quantile(0.9),
            p99_ns: self.quantile(0.99),
            max_ns: self.max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_three_digits_and_bounds_exactly() {
        let mut latency = Latency::default();
        for ns in 1..=100_000 {
            latency.record(ns);
        }
        let summary = latency.summary().expect("there are some");
        assert_eq!((summary.count, summary.min_ns, summary.mean_ns, summary.max_ns), (100_000, 1, 50_000, 100_000));
        for (quantile, exact) in [(summary.p50_ns, 50_000), (summary.p90_ns, 90_000), (summary.p99_ns, 99_000)] {
            assert!(quantile.abs_diff(exact) * 1000 <= exact, "{quantile} for {exact}");
        }
    }

    #[test]
    fn nothing_is_told_of_no_latencies() {
        assert_eq!(Latency::default().summary(), None);
    }

    #[test]
    fn zeros_count() {
        let mut latency = Latency::default();
        latency.record(0);
        latency.record(0);
        assert_eq!(latency.summary(), Some(LatencySummary { count: 2, ..LatencySummary::default() }));
    }
}
