// SPDX-License-Identifier: GPL-2.0-or-later
//! Collection of latencies, and their summary statistics.

use crate::histogram::{self, Histogram};
use crate::measure::histogram::PowerHistogram;
use serde::{Deserialize, Serialize};

/// Number of significant digits of quantiles.
const DIGITS: u32 = 3;

/// Number of values that are stored individually. A histogram takes 200 kB, and most families of a large
/// workload have few wake-ups.
const MAX_EXACT_VALUES: usize = 1024;

/// Latencies of one kind. Count, sum, minimum and maximum are exact; quantiles have three significant digits and lie
/// between minimum and maximum.
///
/// A latency that has not ended when the statistics are made is open: its value is a lower bound. It ranks above
/// ended ones of equal length.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Individual values, up to [`MAX_EXACT_VALUES`].
    few: Vec<u64>,
    /// Histogram of all values, once there are more.
    histogram: Option<Box<Histogram>>,
    sum: u128,
    /// Greater than `max` without any latency.
    min: u64,
    max: u64,
    /// Values of open latencies.
    open: Vec<u64>,
}

/// Members of summary statistics that rest on latencies that have not ended, as a list of their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowerBounds(u8);

/// Summary statistics of latencies, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatencySummary {
    /// Number of latencies, open ones included.
    pub count: u64,
    /// Number of latencies that had not ended. They count with the time that they had lasted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Smallest latency, in nanoseconds.
    pub min_ns: u64,
    /// Mean in nanoseconds, rounded down.
    pub mean_ns: u64,
    /// Median (50th percentile), in nanoseconds, with three significant digits.
    pub p50_ns: u64,
    /// 90th percentile, in nanoseconds, with three significant digits.
    pub p90_ns: u64,
    /// 99th percentile, in nanoseconds, with three significant digits.
    pub p99_ns: u64,
    /// Largest latency, in nanoseconds.
    pub max_ns: u64,
    /// Names of the members above whose values are lower bounds, because the latency of their rank had not ended.
    #[serde(default, skip_serializing_if = "LowerBounds::is_empty")]
    pub lower_bounds: LowerBounds,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl LowerBounds {
    /// Members that can be lower bounds.
    pub const MEMBERS: [&'static str; 6] = ["min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"];

    fn from_members(are_open: [bool; Self::MEMBERS.len()]) -> Self {
        Self(are_open.iter().rev().fold(0, |bits, is_open| bits << 1 | u8::from(*is_open)))
    }

    /// Whether no member is a lower bound.
    pub const fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Whether a member is a lower bound.
    pub fn has(self, member: &str) -> bool {
        Self::MEMBERS.iter().position(|name| *name == member).is_some_and(|index| self.0 >> index & 1 == 1)
    }
}

impl Serialize for LowerBounds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(Self::MEMBERS.iter().filter(|name| self.has(name)))
    }
}

impl<'de> Deserialize<'de> for LowerBounds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        Ok(Self::from_members(Self::MEMBERS.map(|member| names.iter().any(|name| name == member))))
    }
}

impl schemars::JsonSchema for LowerBounds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LowerBounds".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "array", "items": { "type": "string", "enum": Self::MEMBERS } })
    }
}

impl LatencySummary {
    /// Returns a member in nanoseconds by its name, such as `p99_ns`.
    pub fn member(&self, name: &str) -> Option<u64> {
        let values = [self.min_ns, self.mean_ns, self.p50_ns, self.p90_ns, self.p99_ns, self.max_ns];
        LowerBounds::MEMBERS.iter().position(|member| *member == name).map(|index| values[index])
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self { few: Vec::new(), histogram: None, sum: 0, min: u64::MAX, max: 0, open: Vec::new() }
    }
}

impl Latency {
    /// Records one latency, in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.add_to_totals(ns);
        match &mut self.histogram {
            Some(histogram) => histogram.record(ns),
            None if self.few.len() < MAX_EXACT_VALUES => self.few.push(ns),
            None => {
                self.few.push(ns);
                self.histogram = Some(histogram_of(&self.few));
                self.few = Vec::new();
            }
        }
    }

    /// Records a latency that has not ended, in nanoseconds so far.
    pub fn record_open(&mut self, ns: u64) {
        self.add_to_totals(ns);
        let index = self.open.partition_point(|&open| open <= ns);
        self.open.insert(index, ns);
    }

    #[inline]
    fn add_to_totals(&mut self, ns: u64) {
        self.sum += u128::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Number of recorded latencies.
    #[inline]
    pub fn count(&self) -> u64 {
        self.nr_ended() + self.open.len() as u64
    }

    #[inline]
    fn nr_ended(&self) -> u64 {
        self.histogram.as_ref().map_or(self.few.len() as u64, |histogram| histogram.len())
    }

    /// Latencies that have ended, by power of two of microseconds: each number of nanoseconds stands for its bucket, whose bounds
    /// are on the same side of each power.
    pub(crate) fn ended_by_power(&self) -> PowerHistogram {
        let mut powers = PowerHistogram::default();
        let in_buckets =
            self.histogram.iter().flat_map(|histogram| histogram.buckets().map(|(least, _, count)| (least, count)));
        for (ns, count) in self.few.iter().map(|&ns| (ns, 1)).chain(in_buckets) {
            powers.record_n(ns / 1000, count);
        }
        powers
    }

    /// Sum of all latencies, in nanoseconds.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the quantile `part`, from 0 to 1, in nanoseconds.
    pub fn quantile(&self, part: f64) -> u64 {
        self.quantiles([part])[0].0
    }

    /// Returns quantiles, and whether their values are lower bounds.
    fn quantiles<const N: usize>(&self, parts: [f64; N]) -> [(u64, bool); N] {
        match &self.histogram {
            _ if self.count() == 0 => [(0, false); N],
            Some(histogram) => self.quantiles_in(histogram, parts),
            None if self.open.is_empty() => self.quantiles_of_few(parts),
            None => self.quantiles_in(&histogram_of(&self.few), parts),
        }
    }

    /// Returns quantiles without a histogram. The values are those of buckets, as with one.
    fn quantiles_of_few<const N: usize>(&self, parts: [f64; N]) -> [(u64, bool); N] {
        let mut few = self.few.clone();
        few.sort_unstable();
        parts.map(|part| (histogram::quantile_of_sorted(&few, part).clamp(self.min, self.max), false))
    }

    fn quantiles_in<const N: usize>(&self, ended: &Histogram, parts: [f64; N]) -> [(u64, bool); N] {
        if self.open.is_empty() {
            return parts.map(|part| (ended.quantile(part).clamp(self.min, self.max), false));
        }
        // Rank of each open latency: it follows the ended ones that are not longer, and the open ones before it.
        let rank = |(before, &ns): (usize, &u64)| {
            // Buckets that can contain the open latency count as shorter.
            let shorter = ended.buckets().take_while(|&(least, ..)| least <= ns);
            shorter.map(|(.., count)| count).sum::<u64>() + before as u64 + 1
        };
        let ranks: Vec<u64> = self.open.iter().enumerate().map(rank).collect();
        parts.map(|part| {
            let wanted = ((part * self.count() as f64).ceil() as u64).max(1);
            let before = ranks.partition_point(|&rank| rank < wanted);
            if ranks.get(before) == Some(&wanted) {
                return (self.open[before], true);
            }
            // Half a rank below, so that a rounding error does not lead to the next rank.
            let part = ((wanted - before as u64) as f64 - 0.5) / ended.len() as f64;
            (ended.quantile(part).clamp(self.min, self.max), false)
        })
    }

    /// Returns the summary statistics, or `None` without any latency.
    pub fn summary(&self) -> Option<LatencySummary> {
        let count = self.count();
        (count > 0).then(|| {
            let [p50, p90, p99] = self.quantiles([0.5, 0.9, 0.99]);
            let [is_min_open, is_max_open] =
                if self.open.is_empty() { [false; 2] } else { self.quantiles([0.0, 1.0]).map(|(_, is_open)| is_open) };
            let mean_ns = u64::try_from(self.sum / u128::from(count)).expect("a mean is no greater than the greatest");
            // A mean is a lower bound if open latencies contribute more than the resolution of quantiles.
            let sum_of_open: u128 = self.open.iter().map(|&ns| u128::from(ns)).sum();
            let is_mean_open = sum_of_open > 0 && sum_of_open * 10_u128.pow(DIGITS) >= self.sum;
            LatencySummary {
                count,
                open: self.open.len() as u64,
                min_ns: self.min,
                mean_ns,
                p50_ns: p50.0,
                p90_ns: p90.0,
                p99_ns: p99.0,
                max_ns: self.max,
                lower_bounds: LowerBounds::from_members([is_min_open, is_mean_open, p50.1, p90.1, p99.1, is_max_open]),
            }
        })
    }
}

fn histogram_of(values: &[u64]) -> Box<Histogram> {
    let mut histogram = Box::<Histogram>::default();
    values.iter().for_each(|&ns| histogram.record(ns));
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_do_not_cross_powers_of_two_of_microseconds() {
        let (mut latency, mut expected) = (Latency::default(), PowerHistogram::default());
        // One to three nanoseconds around the bounds, and enough others that values are in buckets.
        let near = (0..40).flat_map(|power| (0..7).map(move |off| (1000 << power) - 3 + off));
        for ns in near.chain((0..2000).map(|index| index * index * 17)) {
            latency.record(ns);
            expected.record(ns / 1000);
            assert_eq!(latency.ended_by_power(), expected, "{ns}");
        }
        assert!(latency.histogram.is_some());
    }

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

    #[test]
    fn an_open_latency_ranks_above_ended_ones_of_equal_length_and_is_a_lower_bound() {
        let mut latency = Latency::default();
        (1..=98).for_each(|us| latency.record(us * 1000));
        latency.record_open(3_000_000_000);
        latency.record_open(50_000);
        let summary = latency.summary().expect("there are some");
        assert_eq!((summary.count, summary.open, summary.max_ns), (100, 2, 3_000_000_000));
        assert!(summary.p99_ns.abs_diff(98_000) < 98, "the open one of 50 us has rank 51: {summary:?}");
        let named: Vec<&str> = LowerBounds::MEMBERS.into_iter().filter(|name| summary.lower_bounds.has(name)).collect();
        assert_eq!(named, ["mean_ns", "max_ns"]);
        latency.record_open(2_000_000_000);
        let summary = latency.summary().expect("there are some");
        assert_eq!((summary.p99_ns, summary.lower_bounds.has("p99_ns")), (2_000_000_000, true));
        let json = serde_json::to_value(summary).expect("it is JSON");
        assert_eq!(json["lower_bounds"], serde_json::json!(["mean_ns", "p50_ns", "p99_ns", "max_ns"]));
        assert_eq!(serde_json::from_value::<LatencySummary>(json).expect("it is one"), summary);
    }

    #[test]
    fn a_single_open_latency_is_all_of_its_statistics() {
        let mut latency = Latency::default();
        latency.record_open(7);
        let summary = latency.summary().expect("there is one");
        assert_eq!((summary.min_ns, summary.p50_ns, summary.max_ns, summary.mean_ns), (7, 7, 7, 7));
        assert!(LowerBounds::MEMBERS.iter().all(|member| summary.lower_bounds.has(member)));
    }
}
