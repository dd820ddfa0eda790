// SPDX-License-Identifier: GPL-2.0-or-later
//! Named streams of random numbers, derived from the seed of a run.
//!
//! Each consumer has a stream of its own, so that a new consumer does not shift the numbers of the others.

/// A stream of 64-bit random numbers: splitmix64 (Steele, Lea and Flood 2014) with its own start value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomStream(u64);

impl RandomStream {
    /// Returns the stream for a name and an index (a CPU or a task) in a run with this seed.
    pub fn new(seed: u64, name: &str, index: u64) -> Self {
        let mut stream = Self(seed);
        for word in name.bytes().map(u64::from).chain([index]) {
            stream.0 = stream.draw() ^ word;
        }
        stream
    }

    /// Returns the next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number from 0 to `sides - 1`.
    pub const fn draw_below(&mut self, sides: u64) -> u64 {
        self.draw() % sides
    }

    /// Returns true with a probability of 1 / `sides`.
    pub const fn draw_one_in(&mut self, sides: u64) -> bool {
        self.draw_below(sides) == 0
    }

    /// Returns one of several values.
    ///
    /// # Panics
    /// If `choices` is empty.
    pub fn draw_one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.draw_below(choices.len() as u64) as usize]
    }
}

/// Finalizer of splitmix64: a bijection of 64-bit numbers.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_in_seed_name_and_number_and_repeat() {
        let first = |seed, name, index| RandomStream::new(seed, name, index).draw();
        let all = [first(1, "a", 0), first(2, "a", 0), first(1, "b", 0), first(1, "a", 1), first(1, "aa", 0)];
        for (place, number) in all.iter().enumerate() {
            assert!(!all[..place].contains(number));
        }
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
    }
}
