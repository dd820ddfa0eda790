// SPDX-License-Identifier: GPL-2.0-or-later
//! Histogram with three significant digits: values below 2048 have buckets of their own, and each further doubling has 1024
//! buckets of equal width.

/// Logarithm of the number of buckets per doubling.
const BITS: u32 = 10;
/// Number of buckets whose counts a quantile adds at once. Most buckets are empty.
const BUCKETS_AT_ONCE: usize = 128;

/// Counts of values by bucket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// Counts up to the bucket of the largest value.
    counts: Vec<u64>,
    len: u64,
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        let index = index_of(value);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.len += 1;
    }

    /// Number of values.
    #[inline]
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Buckets that have values, in ascending order: least and greatest value, and number of values.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(index, &count)| {
            let (least, greatest) = bounds_of(index);
            (least, greatest, count)
        })
    }

    /// Returns the quantile `part`, from 0 to 1: the greatest value of its bucket, and the least for 0.
    pub(crate) fn quantile(&self, part: f64) -> u64 {
        let rank = rank_of(part, self.len);
        let mut reached = 0;
        for (chunk, counts) in self.counts.chunks(BUCKETS_AT_ONCE).enumerate() {
            let in_chunk: u64 = counts.iter().sum();
            if reached + in_chunk >= rank {
                let place = counts.iter().position(|count| {
                    reached += count;
                    reached >= rank
                });
                let index = chunk * BUCKETS_AT_ONCE + place.expect("the rank is in this chunk");
                return bound_at(part, index);
            }
            reached += in_chunk;
        }
        0
    }
}

/// Returns the quantile `part` of values in ascending order: what [`Histogram::quantile`] returns for a histogram of them.
pub(crate) fn quantile_of_sorted(values: &[u64], part: f64) -> u64 {
    let rank = rank_of(part, values.len() as u64);
    values.get(rank as usize - 1).map_or(0, |&value| bound_at(part, index_of(value)))
}

/// Returns the rank, from 1, of the quantile `part` of a number of values.
fn rank_of(part: f64, nr_values: u64) -> u64 {
    ((part * nr_values as f64).ceil() as u64).max(1)
}

/// Returns the value that stands for a bucket: its greatest, and its least for the quantile 0.
fn bound_at(part: f64, index: usize) -> u64 {
    let (least, greatest) = bounds_of(index);
    if part == 0.0 { least } else { greatest }
}

/// Returns the bucket of a value. Of values with more than 11 bits the highest 11 bits count.
#[inline]
const fn index_of(value: u64) -> usize {
    let shift = (u64::BITS - BITS - 1).saturating_sub(value.leading_zeros());
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// Returns the least and the greatest value of a bucket.
const fn bounds_of(index: usize) -> (u64, u64) {
    let shift = (index >> BITS).saturating_sub(1);
    let top = (index - (shift << BITS)) as u64;
    (top << shift, (top << shift) + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_the_bucket_with_its_index_and_buckets_are_narrow() {
        let values = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1, u64::MAX >> bit]);
        for value in values.chain(0..5000) {
            let (least, greatest) = bounds_of(index_of(value));
            assert!((least..=greatest).contains(&value), "{value}: {least} to {greatest}");
            assert!((greatest - least) as u128 * 1024 <= u128::from(least), "{value}: {least} to {greatest}");
        }
        assert_eq!((index_of(2047), index_of(2048), index_of(4095), index_of(4096)), (2047, 2048, 3071, 3072));
    }

    #[test]
    fn quantiles_are_ranks_rounded_up() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), 0, "no values");
        [5, 7, 7, 5_000_000].into_iter().for_each(|value| histogram.record(value));
        let quantiles = [0.0, 0.25, 0.26, 0.75, 0.76, 1.0].map(|part| histogram.quantile(part));
        assert_eq!(quantiles, [5, 5, 7, 7, bounds_of(index_of(5_000_000)).1, bounds_of(index_of(5_000_000)).1]);
        let of_sorted = [0.0, 0.25, 0.26, 0.75, 0.76, 1.0].map(|part| quantile_of_sorted(&[5, 7, 7, 5_000_000], part));
        assert_eq!(of_sorted, quantiles);
        assert_eq!(quantile_of_sorted(&[], 0.5), 0);
        assert_eq!(histogram.buckets().map(|(.., count)| count).sum::<u64>(), histogram.len());
    }
}
