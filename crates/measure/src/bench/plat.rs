// SPDX-License-Identifier: GPL-2.0-or-later
//! Histogram of schbench with its percentiles, equal to the original in each bucket.
//!
//! Values up to 511 have a bucket each. Above that, each power of two is divided into 256 buckets, each of
//! which is represented by the middle of its range. There are 19 groups of 256 buckets; the last bucket takes
//! all larger values.

use fairlab_sched::units::Nanos;

/// Logarithm to base 2 of the number of buckets in a group.
const BITS: u32 = 8;
const GROUPS: usize = 19;
const BUCKETS: usize = GROUPS << BITS;

/// Histogram of microseconds, or of requests per second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plat {
    counts: Vec<u32>,
    samples: u64,
    min: u32,
    max: u32,
}

impl Default for Plat {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], samples: 0, min: 0, max: 0 }
    }
}

/// Percentile in the form of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Percentile {
    /// Percentage of samples, such as 99.
    pub percent: f64,
    /// Value of the percentile's bucket.
    pub value: u32,
    /// Number of samples up to this bucket, without those that lower percentiles have counted.
    pub samples: u64,
}

impl Plat {
    /// Adds a latency in microseconds, unless it is 0. Both times are rounded down, as by `gettimeofday()`.
    pub(super) fn add_latency(&mut self, from: Nanos, to: Nanos) {
        let micros = to.0 / 1000 - from.0 / 1000;
        if micros > 0 {
            self.add(u32::try_from(micros).unwrap_or(u32::MAX));
        }
    }

    /// Adds a sample.
    pub fn add(&mut self, value: u32) {
        self.counts[bucket_of(value)] += 1;
        self.max = self.max.max(value);
        // As in the benchmark, a minimum of 0 means that there is no sample yet.
        if self.min == 0 || value < self.min {
            self.min = value;
        }
        self.samples += 1;
    }

    /// Number of samples added so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Smallest sample, not rounded; 0 without samples.
    pub fn min(&self) -> u32 {
        self.min
    }

    /// Largest sample, not rounded; 0 without samples.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// Returns the values of the buckets with the given percentiles, which must be in ascending order.
    pub fn percentiles(&self, percents: &[f64]) -> Vec<Percentile> {
        let mut found = Vec::with_capacity(percents.len());
        let (mut sum, mut counted) = (0_u64, 0_u64);
        for (bucket, &count) in self.counts.iter().enumerate() {
            sum += u64::from(count);
            while let Some(&percent) = percents.get(found.len()) {
                if (sum as f64) < percent / 100.0 * self.samples as f64 {
                    break;
                }
                found.push(Percentile { percent, value: value_of(bucket), samples: sum - counted });
                counted = sum;
            }
        }
        found
    }

    /// Returns one percentile; 0 without samples.
    pub fn percentile(&self, percent: f64) -> u32 {
        self.percentiles(&[percent]).first().map_or(0, |percentile| percentile.value)
    }
}

fn bucket_of(value: u32) -> usize {
    let msb = value.checked_ilog2().unwrap_or(0);
    if msb <= BITS {
        return value as usize;
    }
    let error_bits = msb - BITS;
    let base = (error_bits as usize + 1) << BITS;
    let offset = (value >> error_bits) as usize & ((1 << BITS) - 1);
    (base + offset).min(BUCKETS - 1)
}

fn value_of(bucket: usize) -> u32 {
    if bucket < 2 << BITS {
        return bucket as u32;
    }
    let error_bits = (bucket >> BITS) as u32 - 1;
    let place = (bucket % (1 << BITS)) as u32;
    // The middle of the bucket, rounded down.
    (1 << (error_bits + BITS)) + (place << error_bits) + ((1 << error_bits) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_exact_up_to_511_and_their_middle_beyond() {
        for (value, expected) in [
            (0, 0),
            (1, 1),
            (255, 255),
            (511, 511),
            (512, 513),
            (513, 513),
            (514, 515),
            (703, 703),
            (12_656, 12_656),
            (12_640, 12_656),
            (13_424, 13_424),
            (u32::MAX, 67_043_328),
        ] {
            assert_eq!(value_of(bucket_of(value)), expected, "{value}");
        }
    }

    #[test]
    fn a_percentile_counts_what_earlier_ones_have_not() {
        let mut plat = Plat::default();
        (1..=200).for_each(|value| plat.add(value));
        let increments: Vec<(u32, u64)> =
            plat.percentiles(&[50.0, 90.0, 99.0, 99.9]).iter().map(|p| (p.value, p.samples)).collect();
        assert_eq!(increments, [(100, 100), (180, 80), (198, 18), (200, 2)]);
        assert_eq!((plat.min(), plat.max(), plat.samples()), (1, 200, 200));
        assert_eq!(Plat::default().percentile(99.0), 0);
    }
}
