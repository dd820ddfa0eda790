// SPDX-License-Identifier: GPL-2.0-or-later
//! Random numbers of the models: each task has its own stream, derived from the seed of the run.

use fairlab_sched::units::Nanos;

/// Random number generator SplitMix64 of Steele, Lea and Flood ("Fast splittable pseudorandom number
/// generators", 2014).
#[derive(Clone, Debug)]
pub(super) struct ModelRandom(u64);

impl ModelRandom {
    /// Returns the stream of a seed, a model and one of its tasks.
    pub(super) fn new(seed: u64, model: &str, index: u64) -> Self {
        let mut stream = Self(seed);
        for word in model.bytes().map(u64::from).chain([index]) {
            stream.0 = stream.next() ^ word;
        }
        stream
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws a time below a limit; zero if the limit is zero.
    pub(super) fn below(&mut self, limit: Nanos) -> Nanos {
        Nanos(if limit.0 == 0 { 0 } else { self.next() % limit.0 })
    }

    /// Draws a time from half of the mean to one and a half of it.
    pub(super) fn around(&mut self, mean: Nanos) -> Nanos {
        Nanos(mean.0 / 2) + self.below(Nanos(mean.0 + 1))
    }

    /// Draws an index with probabilities in proportion to weights.
    pub(super) fn pick(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let sum: u64 = weights.clone().map(u64::from).sum();
        let mut drawn = self.next() % sum;
        for (place, weight) in weights.enumerate() {
            if drawn < u64::from(weight) {
                return place;
            }
            drawn -= u64::from(weight);
        }
        unreachable!("a draw is less than the sum of the weights")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_in_their_range_and_fall_on_weights_in_proportion() {
        let mut random = ModelRandom::new(1, "test", 0);
        let mut counts = [0_u32; 3];
        for _ in 0..10_000 {
            assert!(random.below(Nanos(7)).0 < 7);
            assert!((5..=15).contains(&random.around(Nanos(10)).0));
            counts[random.pick([1, 0, 3].into_iter())] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((2_300..2_700).contains(&counts[0]), "{counts:?}");
        assert_eq!(random.below(Nanos::ZERO), Nanos::ZERO);
    }
}
