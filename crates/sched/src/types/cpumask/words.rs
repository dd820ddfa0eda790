// SPDX-License-Identifier: GPL-2.0-or-later
//! Storage of the words of a CPU mask.
//!
//! Masks of small machines are in the value itself. Masks of large machines are allocated and know which of their
//! words are in use, so that an operation on few CPUs does not visit 64 words.

use alloc::boxed::Box;
use alloc::vec;
use core::cmp::Ordering;
use core::hash::{Hash, Hasher};
use core::ops::Range;

/// Number of words stored without a heap allocation: machines of up to 256 CPUs.
pub(super) const INLINE_WORDS: usize = 4;

/// Words of a mask. Masks of one machine are stored alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Words {
    Inline([u64; INLINE_WORDS]),
    Heap(HeapWords),
}

/// Words of a mask of a large machine.
#[derive(Clone)]
pub(super) struct HeapWords {
    words: Box<[u64]>,
    /// All other words are 0. Words inside can be 0 too.
    first: u8,
    end: u8,
}

impl HeapWords {
    /// Returns words that are all 0.
    pub(super) fn new(nr_words: usize) -> Self {
        Self { words: vec![0; nr_words].into_boxed_slice(), first: 0, end: 0 }
    }

    #[inline]
    pub(super) fn all(&self) -> &[u64] {
        &self.words
    }

    /// Range of words outside which all words are 0.
    #[inline]
    pub(super) fn used(&self) -> Range<usize> {
        usize::from(self.first)..usize::from(self.end)
    }

    /// Range of words outside which a word is 0 in one of two masks.
    #[inline]
    pub(super) fn used_in_both(&self, other: &Self) -> Range<usize> {
        let first = self.first.max(other.first);
        usize::from(first)..usize::from(self.end.min(other.end).max(first))
    }

    fn set_used(&mut self, used: &Range<usize>) {
        (self.first, self.end) = if used.is_empty() { (0, 0) } else { (used.start as u8, used.end as u8) };
    }

    fn extend_used(&mut self, used: Range<usize>) {
        if self.first == self.end {
            self.set_used(&used);
        } else if !used.is_empty() {
            self.first = self.first.min(used.start as u8);
            self.end = self.end.max(used.end as u8);
        }
    }

    pub(super) fn set(&mut self, index: usize, bits: u64) {
        self.words[index] |= bits;
        self.extend_used(index..index + 1);
    }

    pub(super) fn clear(&mut self, index: usize, bits: u64) {
        self.words[index] &= !bits;
    }

    /// Sets all bits of all words, and returns the last word.
    pub(super) fn set_all(&mut self) -> &mut u64 {
        self.words.fill(u64::MAX);
        self.set_used(&(0..self.words.len()));
        self.words.last_mut().expect("a mask has words")
    }

    pub(super) fn clear_all(&mut self) {
        let used = self.used();
        self.words[used].fill(0);
        self.set_used(&(0..0));
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        let used = other.used();
        self.clear_beyond(&used);
        self.words[used.clone()].copy_from_slice(&other.words[used]);
    }

    /// Sets the words to those that two masks have in common.
    pub(super) fn assign_and(&mut self, a: &Self, b: &Self) {
        let used = a.used_in_both(b);
        self.clear_beyond(&used);
        for (word, (a, b)) in self.words[used.clone()].iter_mut().zip(a.words[used.clone()].iter().zip(&b.words[used]))
        {
            *word = a & b;
        }
    }

    pub(super) fn and_with(&mut self, other: &Self) {
        let used = self.used_in_both(other);
        self.clear_beyond(&used);
        for (word, other) in self.words[used.clone()].iter_mut().zip(&other.words[used]) {
            *word &= other;
        }
    }

    pub(super) fn or_with(&mut self, other: &Self) {
        let used = other.used();
        for (word, other) in self.words[used.clone()].iter_mut().zip(&other.words[used.clone()]) {
            *word |= other;
        }
        self.extend_used(used);
    }

    pub(super) fn and_not_with(&mut self, other: &Self) {
        let used = self.used_in_both(other);
        for (word, other) in self.words[used.clone()].iter_mut().zip(&other.words[used]) {
            *word &= !other;
        }
    }

    /// Makes a range the one in use. Words of the former one outside it become 0; the others keep their values.
    fn clear_beyond(&mut self, used: &Range<usize>) {
        let former = self.used();
        self.words[former.start..used.start.clamp(former.start, former.end)].fill(0);
        self.words[used.end.clamp(former.start, former.end)..former.end].fill(0);
        self.set_used(used);
    }
}

// The range in use is not a part of a mask's value.
impl PartialEq for HeapWords {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for HeapWords {}

impl PartialOrd for HeapWords {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeapWords {
    fn cmp(&self, other: &Self) -> Ordering {
        self.words.cmp(&other.words)
    }
}

impl Hash for HeapWords {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words.hash(state);
    }
}
