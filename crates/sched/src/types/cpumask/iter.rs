// SPDX-License-Identifier: GPL-2.0-or-later
//! Iteration over the CPUs of one mask or of the intersection of two, from any CPU around.

use crate::types::cpumask::{BITS, cpu_at, from_bit};
use crate::types::ids::CpuId;
use core::ops::Range;

/// Source of the words of an iteration.
pub(crate) trait WordSource: Clone {
    fn word(&self, index: usize) -> u64;
}

#[derive(Clone)]
pub(crate) struct SingleSource<'a>(pub(crate) &'a [u64]);

impl WordSource for SingleSource<'_> {
    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.0[index]
    }
}

#[derive(Clone)]
pub(crate) struct PairSource<'a>(pub(crate) &'a [u64], pub(crate) &'a [u64]);

impl WordSource for PairSource<'_> {
    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.0[index] & self.1[index]
    }
}

/// Iterates once over a range of words, outside which all are 0: the upper bits of the first word, the other words,
/// and the lower bits of the first word.
#[derive(Clone)]
pub(crate) struct CpuMaskIter<S> {
    source: S,
    /// Remaining bits of the word at `index`.
    current: u64,
    index: usize,
    /// Number of words still to load; the last of them is the first word again.
    words_left: usize,
    /// Bits of the first word that come last.
    last_bits: u64,
    /// Range of the words.
    lowest: usize,
    end: usize,
}

impl<S: WordSource> CpuMaskIter<S> {
    /// Iterates over all words of a mask.
    #[inline]
    pub(crate) fn over_all(source: S, start: CpuId, nr_words: usize) -> Self {
        let index = start.index() / BITS;
        Self {
            current: source.word(index) & from_bit(start),
            index,
            words_left: nr_words - usize::from(start.index().is_multiple_of(BITS)),
            last_bits: !from_bit(start),
            source,
            lowest: 0,
            end: nr_words,
        }
    }

    /// Iterates over the words of a range, outside which all are 0.
    pub(crate) fn over_used(source: S, start: CpuId, used: Range<usize>) -> Self {
        let index = start.index() / BITS;
        let word = source.word(index);
        if !used.contains(&index) {
            return Self::in_order(source, used);
        }
        Self {
            current: word & from_bit(start),
            index,
            words_left: used.len() - usize::from(start.index().is_multiple_of(BITS)),
            last_bits: !from_bit(start),
            source,
            lowest: used.start,
            end: used.end,
        }
    }

    /// Iterates over the words in ascending order, from a start above or below all of them.
    fn in_order(source: S, used: Range<usize>) -> Self {
        let (current, words_left) = if used.is_empty() { (0, 0) } else { (source.word(used.start), used.len() - 1) };
        Self { current, index: used.start, words_left, last_bits: 0, source, lowest: used.start, end: used.end }
    }

    /// Loads the next word, which may be 0. Returns false if there is none.
    #[inline]
    fn load_next_word(&mut self) -> bool {
        if self.words_left == 0 {
            return false;
        }
        self.words_left -= 1;
        self.index += 1;
        if self.index == self.end {
            self.index = self.lowest;
        }
        self.current = self.source.word(self.index);
        if self.words_left == 0 && self.last_bits != 0 {
            self.current &= self.last_bits;
        }
        true
    }
}

impl<S: WordSource> Iterator for CpuMaskIter<S> {
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

    /// Iterates by whole words, for `for_each()` and sums.
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
