// SPDX-License-Identifier: GPL-2.0-or-later
//! Collection of latencies, and their summary statistics.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Number of significant digits of quantiles.
const DIGITS: u8 = 3;

/// Number of values that are stored individually. A histogram takes 200 kB, and most families of a large
/// workload have few wake-ups.
const MAX_EXACT_VALUES: usize = 1024;

/// Latencies of one kind. Count, sum, minimum and maximum are exact; quantiles have three significant digits.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    /// Individual values, up to [`MAX_EXACT_VALUES`].
    few: Vec<u64>,
    /// Histogram of all values, once there are more.
    histogram: Option<Box<Histogram<u64>>>,
    sum: u128,
    min: u64,
    max: u64,
}

/// Summary statistics of latencies, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatencySummary {
    /// Number of recorded latencies.
    pub count: u64,
    /// Smallest latency, in nanoseconds.
    pub min_ns: u64,
    /// Mean in nanoseconds, rounded down.
    pub mean_ns: u64,
    /// Median (50th percentile), in nanoseconds.
    pub p50_ns: u64,
    /// 90th percentile, in nanoseconds.
    pub p90_ns: u64,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// Largest latency, in nanoseconds.
    pub max_ns: u64,
}

impl Latency {
    /// Records one latency, in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if self.count() == 0 {
            (self.min, self.max) = (ns, ns);
        }
        match &mut self.histogram {
            Some(histogram) => add(histogram, ns),
            None if self.few.len() < MAX_EXACT_VALUES => self.few.push(ns),
            None => {
                self.few.push(ns);
                self.histogram = Some(histogram_of(&self.few));
                self.few = Vec::new();
            }
        }
        self.sum += u128::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(self.few.len() as u64, |histogram| histogram.len())
    }

    /// Sum of all latencies, in nanoseconds.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the quantile `part`, from 0 to 1, in nanoseconds.
    pub fn quantile(&self, part: f64) -> u64 {
        self.quantiles([part])[0]
    }

    fn quantiles<const N: usize>(&self, parts: [f64; N]) -> [u64; N] {
        let of =
            |histogram: &Histogram<u64>| parts.map(|part| histogram.value_at_quantile(part).clamp(self.min, self.max));
        self.histogram.as_ref().map_or_else(|| of(&histogram_of(&self.few)), |histogram| of(histogram))
    }

    /// Returns the summary statistics, or `None` without any latency.
    pub fn summary(&self) -> Option<LatencySummary> {
        let count = self.count();
        (count > 0).then(|| {
            let [p50_ns, p90_ns, p99_ns] = self.quantiles([0.5, 0.9, 0.99]);
            let mean_ns = u64::try_from(self.sum / u128::from(count)).expect("a mean is no greater than the greatest");
            LatencySummary { count, min_ns: self.min, mean_ns, p50_ns, p90_ns, p99_ns, max_ns: self.max }
        })
    }
}

fn histogram_of(values: &[u64]) -> Box<Histogram<u64>> {
    let mut histogram = Histogram::new(DIGITS).expect("the number of digits is one that histograms may have");
    values.iter().for_each(|&ns| add(&mut histogram, ns));
    Box::new(histogram)
}

#[inline]
fn add(histogram: &mut Histogram<u64>, ns: u64) {
    histogram.record(ns).expect("the histogram grows with its values");
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
    fn exact_values_and_histograms_have_equal_summaries() {
        let mut latency = Latency::default();
        for ns in 0..MAX_EXACT_VALUES as u64 {
            latency.record(ns * 1_000_003);
        }
        let mut all = latency.clone();
        all.histogram = Some(histogram_of(&std::mem::take(&mut all.few)));
        assert_eq!(latency.summary(), all.summary());
        latency.record(7);
        assert!(latency.few.is_empty(), "from here on there is a histogram");
        assert_eq!((latency.count(), latency.quantile(0.0)), (MAX_EXACT_VALUES as u64 + 1, 0));
    }

    #[test]
    fn without_latencies_there_is_no_summary() {
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
