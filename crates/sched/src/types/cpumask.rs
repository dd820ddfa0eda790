// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets of CPUs.
//!
//! [`CpuMask`] models the kernel's `struct cpumask` (6.1, `include/linux/cpumask.h`) for machines of 1 to
//! 4096 CPUs. The number of words is fixed at construction, so only construction and cloning allocate. All
//! masks of one operation must belong to machines of the same size.

pub(crate) mod iter;
#[cfg(test)]
mod tests;

use crate::types::ids::CpuId;
use alloc::boxed::Box;
use alloc::vec;
use core::fmt;
use core::ops::Range;
use iter::{CpuMaskIter, PairSource, SingleSource};

const BITS: usize = u64::BITS as usize;
/// Number of words stored without a heap allocation: machines of up to 256 CPUs.
const INLINE_WORDS: usize = 4;

/// Maximum number of CPUs. The kernel's `NR_CPUS` is at most 8192 in common configurations; half of that
/// suffices here.
pub const MAX_CPUS: usize = 4096;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Words {
    Inline([u64; INLINE_WORDS]),
    Heap(Box<[u64]>),
}

/// A set of CPUs of a machine.
///
/// Bits at and beyond the number of CPUs are always clear.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuMask {
    nr_cpus: u32,
    words: Words,
}

impl CpuMask {
    /// Returns the empty set for a machine of `nr_cpus` CPUs.
    ///
    /// # Panics
    /// If `nr_cpus` is 0 or more than [`MAX_CPUS`].
    pub fn new(nr_cpus: usize) -> Self {
        assert!((1..=MAX_CPUS).contains(&nr_cpus), "a machine has 1 to {MAX_CPUS} cpus, not {nr_cpus}");
        let words = if nr_cpus <= INLINE_WORDS * BITS {
            Words::Inline([0; INLINE_WORDS])
        } else {
            Words::Heap(vec![0; nr_cpus.div_ceil(BITS)].into_boxed_slice())
        };
        Self { nr_cpus: nr_cpus as u32, words }
    }

    /// Returns all CPUs of a machine of `nr_cpus` CPUs.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn full(nr_cpus: usize) -> Self {
        let mut mask = Self::new(nr_cpus);
        mask.set_all();
        mask
    }

    /// Returns the given CPUs of a machine of `nr_cpus` CPUs.
    ///
    /// # Panics
    /// As [`new`](Self::new) and [`set`](Self::set).
    pub fn from_cpus(nr_cpus: usize, cpus: impl IntoIterator<Item = CpuId>) -> Self {
        let mut mask = Self::new(nr_cpus);
        for cpu in cpus {
            mask.set(cpu);
        }
        mask
    }

    /// Number of CPUs of the machine, which is the maximum size of the set.
    pub const fn nr_cpus(&self) -> usize {
        self.nr_cpus as usize
    }

    #[inline]
    fn words(&self) -> &[u64] {
        match &self.words {
            Words::Inline(words) => &words[..(self.nr_cpus as usize).div_ceil(BITS)],
            Words::Heap(words) => words,
        }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.words {
            Words::Inline(words) => &mut words[..(self.nr_cpus as usize).div_ceil(BITS)],
            Words::Heap(words) => words,
        }
    }

    /// Returns a word of 64 CPUs; 0 beyond the last word.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.words().get(index).copied().unwrap_or(0)
    }

    /// Returns the range of words that contains all CPUs of the set.
    pub(crate) fn used_words(&self) -> Range<usize> {
        let words = self.words();
        let first = words.iter().position(|&word| word != 0).unwrap_or(0);
        let end = words.iter().rposition(|&word| word != 0).map_or(first, |last| last + 1);
        first..end
    }

    /// Adds a CPU to the set.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline]
    pub fn set(&mut self, cpu: CpuId) {
        assert!(cpu.0 < self.nr_cpus, "cpu {} of a machine of {}", cpu.0, self.nr_cpus);
        self.words_mut()[cpu.index() / BITS] |= bit(cpu);
    }

    /// Removes a CPU from the set.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline]
    pub fn clear(&mut self, cpu: CpuId) {
        assert!(cpu.0 < self.nr_cpus, "cpu {} of a machine of {}", cpu.0, self.nr_cpus);
        self.words_mut()[cpu.index() / BITS] &= !bit(cpu);
    }

    /// Adds a CPU if `is_in` is set, and removes it otherwise.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline]
    pub fn assign(&mut self, cpu: CpuId, is_in: bool) {
        if is_in {
            self.set(cpu);
        } else {
            self.clear(cpu);
        }
    }

    /// Adds all CPUs of the machine.
    pub fn set_all(&mut self) {
        let last_bits = self.nr_cpus as usize % BITS;
        let words = self.words_mut();
        words.fill(u64::MAX);
        if last_bits > 0
            && let Some(last) = words.last_mut()
        {
            *last = (1 << last_bits) - 1;
        }
    }

    /// Removes all CPUs from the mask.
    pub fn clear_all(&mut self) {
        self.words_mut().fill(0);
    }

    /// Whether the CPU is in the set; false for a CPU that the machine does not have.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words().get(cpu.index() / BITS).is_some_and(|word| word & bit(cpu) != 0)
    }

    /// Number of CPUs in the set.
    pub fn weight(&self) -> usize {
        self.words().iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Number of CPUs in both sets (`cpumask_weight_and()`).
    pub fn weight_and(&self, other: &Self) -> usize {
        self.pairs(other).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// Whether the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|&word| word == 0)
    }

    /// Returns the lowest CPU of the set.
    #[inline]
    pub fn first(&self) -> Option<CpuId> {
        lowest(self.words().iter().copied(), 0)
    }

    /// Returns the lowest CPU that is in both sets (`cpumask_first_and()`).
    #[inline]
    pub fn first_and(&self, other: &Self) -> Option<CpuId> {
        lowest(self.pairs(other).map(|(a, b)| a & b), 0)
    }

    /// Returns the lowest CPU that is in all three sets.
    #[inline]
    pub fn first_and_and(&self, second: &Self, third: &Self) -> Option<CpuId> {
        self.check_same_machine(third);
        lowest(self.pairs(second).zip(third.words()).map(|((a, b), c)| a & b & c), 0)
    }

    /// Returns the lowest CPU of the set that is at least `cpu` (`cpumask_next(cpu - 1)`).
    #[inline]
    pub fn next_from(&self, cpu: CpuId) -> Option<CpuId> {
        let start = cpu.index() / BITS;
        let word = *self.words().get(start)? & from_bit(cpu);
        let rest = &self.words()[start + 1..];
        lowest(core::iter::once(word).chain(rest.iter().copied()), start)
    }

    /// Returns the lowest CPU of the set that is at least `cpu`, or else the lowest of all.
    #[inline]
    pub fn next_wrap(&self, cpu: CpuId) -> Option<CpuId> {
        self.next_from(cpu).or_else(|| self.first())
    }

    /// Returns the lowest CPU of the set that is not `cpu` (`cpumask_any_but()`).
    pub fn any_but(&self, cpu: CpuId) -> Option<CpuId> {
        self.first().and_then(|first| if first == cpu { self.next_from(CpuId(cpu.0 + 1)) } else { Some(first) })
    }

    /// Removes the CPUs that are not in `other`.
    pub fn and_with(&mut self, other: &Self) {
        self.combine(other, |a, b| a & b);
    }

    /// Adds the CPUs of `other`.
    pub fn or_with(&mut self, other: &Self) {
        self.combine(other, |a, b| a | b);
    }

    /// Removes the CPUs of `other` (`cpumask_andnot()` in place).
    pub fn and_not_with(&mut self, other: &Self) {
        self.combine(other, |a, b| a & !b);
    }

    /// Copies `other`, without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.combine(other, |_, b| b);
    }

    /// Sets the mask to the intersection of `a` and `b` (`cpumask_and()`).
    ///
    /// # Panics
    /// If the masks belong to machines of different sizes.
    #[inline]
    pub fn assign_and(&mut self, a: &Self, b: &Self) {
        self.check_same_machine(a);
        for (word, (a, b)) in self.words_mut().iter_mut().zip(a.pairs(b)) {
            *word = a & b;
        }
    }

    /// Whether all CPUs of the set are also in `other`.
    #[inline]
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.pairs(other).all(|(a, b)| a & !b == 0)
    }

    /// Whether the two sets have a CPU in common.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.pairs(other).any(|(a, b)| a & b != 0)
    }

    /// Iterates over the CPUs of the set in ascending order (`for_each_cpu()`).
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + Clone {
        CpuMaskIter::new(SingleSource(self.words()), CpuId(0))
    }

    /// Iterates over the CPUs of the set in ascending order from `start` on, then over those below it
    /// (`for_each_cpu_wrap()`).
    ///
    /// # Panics
    /// If the machine has no CPU `start`.
    #[inline]
    pub fn iter_wrap_from(&self, start: CpuId) -> impl Iterator<Item = CpuId> + Clone {
        CpuMaskIter::new(SingleSource(self.words()), start)
    }

    /// Iterates over the CPUs that are in both sets, in ascending order (`for_each_cpu_and()`).
    #[inline]
    pub fn iter_and<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = CpuId> + Clone + 'a {
        self.iter_and_wrap_from(other, CpuId(0))
    }

    /// Iterates over the CPUs that are in both sets, from `start` on and then over those below it.
    ///
    /// # Panics
    /// If the machine has no CPU `start`, or the masks belong to machines of different sizes.
    #[inline]
    pub fn iter_and_wrap_from<'a>(&'a self, other: &'a Self, start: CpuId) -> impl Iterator<Item = CpuId> + Clone + 'a {
        self.check_same_machine(other);
        CpuMaskIter::new(PairSource(self.words(), other.words()), start)
    }

    /// Calls `act` for the CPUs that are in both sets, in ascending order. A faster [`CpuMask::iter_and`] for
    /// hot paths.
    ///
    /// # Panics
    /// If the masks belong to machines of different sizes.
    #[inline]
    pub fn for_each_and(&self, other: &Self, mut act: impl FnMut(CpuId)) {
        self.check_same_machine(other);
        for (index, (&word, &other_word)) in self.words().iter().zip(other.words()).enumerate() {
            let mut both = word & other_word;
            while both != 0 {
                act(cpu_at(index, both));
                both &= both - 1;
            }
        }
    }

    #[inline]
    fn check_same_machine(&self, other: &Self) {
        assert!(self.nr_cpus == other.nr_cpus, "masks of machines of {} and {} cpus meet", self.nr_cpus, other.nr_cpus);
    }

    #[inline]
    fn pairs(&self, other: &Self) -> impl Iterator<Item = (u64, u64)> {
        self.check_same_machine(other);
        self.words().iter().copied().zip(other.words().iter().copied())
    }

    fn combine(&mut self, other: &Self, operation: impl Fn(u64, u64) -> u64) {
        self.check_same_machine(other);
        for (word, &other_word) in self.words_mut().iter_mut().zip(other.words()) {
            *word = operation(*word, other_word);
        }
    }
}

impl fmt::Display for CpuMask {
    /// Formats the set as the kernel prints CPU lists: `0-3,8`; nothing for the empty set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(low) = cpus.next() {
            let mut high = low;
            while let Some(next) = cpus.next_if(|cpu| cpu.0 == high.0 + 1) {
                high = next;
            }
            write!(f, "{separator}{}", low.0)?;
            if high != low {
                write!(f, "-{}", high.0)?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuMask({self} of {})", self.nr_cpus)
    }
}

const fn bit(cpu: CpuId) -> u64 {
    1 << (cpu.index() % BITS)
}

/// Returns a word with the bit of `cpu` and all higher bits set.
const fn from_bit(cpu: CpuId) -> u64 {
    u64::MAX << (cpu.index() % BITS)
}

/// Returns the lowest CPU in words that start at word `offset` of a mask.
fn lowest(words: impl Iterator<Item = u64>, offset: usize) -> Option<CpuId> {
    words.enumerate().find(|&(_, word)| word != 0).map(|(index, word)| cpu_at(offset + index, word))
}

const fn cpu_at(index: usize, word: u64) -> CpuId {
    CpuId((index * BITS) as u32 + word.trailing_zeros())
}
