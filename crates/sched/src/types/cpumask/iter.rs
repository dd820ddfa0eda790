// SPDX-License-Identifier: GPL-2.0-or-later
//! Walking over the CPUs of one mask, or of what two have in common, from any CPU around.

use crate::types::cpumask::{BITS, cpu_at, from_bit};
use crate::types::ids::CpuId;

/// Where an iteration gets its words from.
pub(crate) trait WordSource: Clone {
    fn nr_words(&self) -> usize;
    fn word(&self, index: usize) -> u64;
}

#[derive(Clone)]
pub(crate) struct SingleSource<'a>(pub(crate) &'a [u64]);

impl WordSource for SingleSource<'_> {
    #[inline]
    fn nr_words(&self) -> usize {
        self.0.len()
    }
    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.0[index]
    }
}

#[derive(Clone)]
pub(crate) struct PairSource<'a>(pub(crate) &'a [u64], pub(crate) &'a [u64]);

impl WordSource for PairSource<'_> {
    #[inline]
    fn nr_words(&self) -> usize {
        self.0.len()
    }
    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.0[index] & self.1[index]
    }
}

/// Walks the words once around: the upper part of the first word, the others, the lower part of the first word.
#[derive(Clone)]
pub(crate) struct Cpus<S> {
    source: S,
    /// What is left of the word at `index`.
    current: u64,
    index: usize,
    /// Words still to load; the last of them is the first word again.
    words_left: usize,
    /// The bits of the first word that come last.
    last_bits: u64,
}

impl<S: WordSource> Cpus<S> {
    #[inline]
    pub(crate) fn new(source: S, start: CpuId) -> Self {
        let index = start.index() / BITS;
        Self {
            current: source.word(index) & from_bit(start),
            index,
            words_left: source.nr_words() - usize::from(start.index().is_multiple_of(BITS)),
            last_bits: !from_bit(start),
            source,
        }
    }

    /// Goes on to the next word, which may have no CPUs. Returns whether there is one.
    #[inline]
    fn load_next_word(&mut self) -> bool {
        if self.words_left == 0 {
            return false;
        }
        self.words_left -= 1;
        self.index += 1;
        if self.index == self.source.nr_words() {
            self.index = 0;
        }
        self.current = self.source.word(self.index);
        if self.words_left == 0 && self.last_bits != 0 {
            self.current &= self.last_bits;
        }
        true
    }
}

impl<S: WordSource> Iterator for Cpus<S> {
    type Item = CpuId;

    #[inline]
    fn next(&mut self) -> Option<CpuId> {
        while self.current == 0 {
            if !self.load_next_word() {
                return None;
            }
        }
        let cpu = cpu_at(self.index, self.current);
        self.current &= self.current - 1;
        Some(cpu)
    }

    /// Whole words at a time: what `for_each` and sums use.
    #[inline]
    fn fold<B, F: FnMut(B, CpuId) -> B>(mut self, init: B, mut f: F) -> B {
        let mut result = init;
        loop {
            let mut word = self.current;
            while word != 0 {
                result = f(result, cpu_at(self.index, word));
                word &= word - 1;
            }
            if !self.load_next_word() {
                return result;
            }
        }
    }
}
