// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets of CPUs.
//!
//! [`CpuMask`] models the kernel's `struct cpumask` (6.1, `include/linux/cpumask.h`) for machines of 1 to
//! 4096 CPUs. The number of words is fixed at construction, so only construction and cloning allocate. All
//! masks of one operation must belong to machines of the same size.

pub(crate) mod iter;
#[cfg(test)]
mod tests;
mod words;

use crate::types::ids::CpuId;
use core::fmt;
use core::ops::Range;
use iter::{CpuMaskIter, PairSource, SingleSource};
use words::{HeapWords, INLINE_WORDS, Words};

const BITS: usize = u64::BITS as usize;

/// Maximum number of CPUs. The kernel's `NR_CPUS` is at most 8192 in common configurations; half of that
/// suffices here.
pub const MAX_CPUS: usize = 4096;

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
            Words::Heap(HeapWords::new(nr_cpus.div_ceil(BITS)))
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

    /// Number of words that have CPUs of the machine.
    #[inline]
    const fn nr_words(&self) -> usize {
        (self.nr_cpus as usize).div_ceil(BITS)
    }

    #[inline]
    fn words(&self) -> &[u64] {
        match &self.words {
            Words::Inline(words) => &words[..self.nr_words()],
            Words::Heap(words) => words.all(),
        }
    }

    /// Returns the words outside which all are 0, and the index of the first.
    #[inline]
    fn used(&self) -> (&[u64], usize) {
        match &self.words {
            Words::Inline(words) => (&words[..self.nr_words()], 0),
            Words::Heap(words) => (&words.all()[words.used()], words.used().start),
        }
    }

    /// Returns a word of 64 CPUs; 0 beyond the last word.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.words().get(index).copied().unwrap_or(0)
    }

    /// Returns the only word that can have CPUs of the set, with its index. `None` if there are several.
    #[inline]
    pub(crate) fn only_word(&self) -> Option<(usize, u64)> {
        match self.used() {
            (&[word], index) => Some((index, word)),
            _ => None,
        }
    }

    /// Returns the range of words that contains all CPUs of the set.
    pub(crate) fn used_words(&self) -> Range<usize> {
        let (words, offset) = self.used();
        let first = words.iter().position(|&word| word != 0).unwrap_or(0);
        let end = words.iter().rposition(|&word| word != 0).map_or(first, |last| last + 1);
        offset + first..offset + end
    }

    /// Adds a CPU to the set.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline]
    pub fn set(&mut self, cpu: CpuId) {
        assert!(cpu.0 < self.nr_cpus, "cpu {} of a machine of {}", cpu.0, self.nr_cpus);
        match &mut self.words {
            Words::Inline(words) => words[cpu.index() / BITS] |= bit(cpu),
            Words::Heap(words) => words.set(cpu.index() / BITS, bit(cpu)),
        }
    }

    /// Removes a CPU from the set.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline]
    pub fn clear(&mut self, cpu: CpuId) {
        assert!(cpu.0 < self.nr_cpus, "cpu {} of a machine of {}", cpu.0, self.nr_cpus);
        match &mut self.words {
            Words::Inline(words) => words[cpu.index() / BITS] &= !bit(cpu),
            Words::Heap(words) => words.clear(cpu.index() / BITS, bit(cpu)),
        }
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
        let (last_bits, nr_words) = (self.nr_cpus as usize % BITS, self.nr_words());
        let last = match &mut self.words {
            Words::Inline(words) => {
                words[..nr_words].fill(u64::MAX);
                &mut words[nr_words - 1]
            }
            Words::Heap(words) => words.set_all(),
        };
        if last_bits > 0 {
            *last = (1 << last_bits) - 1;
        }
    }

    /// Removes all CPUs from the mask.
    pub fn clear_all(&mut self) {
        match &mut self.words {
            Words::Inline(words) => words.fill(0),
            Words::Heap(words) => words.clear_all(),
        }
    }

    /// Whether the CPU is in the set; false for a CPU that the machine does not have.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words().get(cpu.index() / BITS).is_some_and(|word| word & bit(cpu) != 0)
    }

    /// Number of CPUs in the set.
    pub fn weight(&self) -> usize {
        self.used().0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Number of CPUs in both sets (`cpumask_weight_and()`).
    pub fn weight_and(&self, other: &Self) -> usize {
        self.pairs(other).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// Whether the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.used().0.iter().all(|&word| word == 0)
    }

    /// Returns the lowest CPU of the set.
    #[inline]
    pub fn first(&self) -> Option<CpuId> {
        let (words, first) = self.used();
        lowest(words.iter().copied(), first)
    }

    /// Returns the lowest CPU that is in both sets (`cpumask_first_and()`).
    #[inline]
    pub fn first_and(&self, other: &Self) -> Option<CpuId> {
        let (a, b, first) = self.pair(other);
        lowest(a.iter().zip(b).map(|(a, b)| a & b), first)
    }

    /// Returns the lowest CPU that is in all three sets.
    #[inline]
    pub fn first_and_and(&self, second: &Self, third: &Self) -> Option<CpuId> {
        self.check_same_machine(third);
        let (a, b, first) = self.pair(second);
        lowest(a.iter().zip(b).zip(&third.words()[first..]).map(|((a, b), c)| a & b & c), first)
    }

    /// Returns the lowest CPU of the set that is at least `cpu` (`cpumask_next(cpu - 1)`).
    #[inline]
    pub fn next_from(&self, cpu: CpuId) -> Option<CpuId> {
        match &self.words {
            Words::Inline(words) => lowest_from(&words[..self.nr_words()], cpu),
            Words::Heap(words) if cpu.index() / BITS < words.used().start => self.first(),
            Words::Heap(words) => lowest_from(&words.all()[..words.used().end], cpu),
        }
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
        self.combine(other, |a, b| a & b, HeapWords::and_with);
    }

    /// Adds the CPUs of `other`.
    pub fn or_with(&mut self, other: &Self) {
        self.combine(other, |a, b| a | b, HeapWords::or_with);
    }

    /// Removes the CPUs of `other` (`cpumask_andnot()` in place).
    pub fn and_not_with(&mut self, other: &Self) {
        self.combine(other, |a, b| a & !b, HeapWords::and_not_with);
    }

    /// Copies `other`, without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.combine(other, |_, b| b, HeapWords::copy_from);
    }

    /// Sets the mask to the intersection of `a` and `b` (`cpumask_and()`).
    ///
    /// # Panics
    /// If the masks belong to machines of different sizes.
    #[inline]
    pub fn assign_and(&mut self, a: &Self, b: &Self) {
        self.check_same_machine(a);
        a.check_same_machine(b);
        match (&mut self.words, &a.words, &b.words) {
            (Words::Inline(words), Words::Inline(a), Words::Inline(b)) => {
                for (word, (a, b)) in words.iter_mut().zip(a.iter().zip(b)) {
                    *word = a & b;
                }
            }
            (Words::Heap(words), Words::Heap(a), Words::Heap(b)) => words.assign_and(a, b),
            _ => unreachable!("masks of one machine are stored alike"),
        }
    }

    /// Whether all CPUs of the set are also in `other`.
    #[inline]
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.check_same_machine(other);
        let (words, first) = self.used();
        words.iter().zip(&other.words()[first..]).all(|(a, b)| a & !b == 0)
    }

    /// Whether the two sets have a CPU in common.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.pairs(other).any(|(a, b)| a & b != 0)
    }

    /// Iterates over the CPUs of the set in ascending order (`for_each_cpu()`).
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + Clone {
        self.iter_wrap_from(CpuId(0))
    }

    /// Iterates over the CPUs of the set in ascending order from `start` on, then over those below it
    /// (`for_each_cpu_wrap()`).
    ///
    /// # Panics
    /// If the machine has no CPU `start`.
    #[inline]
    pub fn iter_wrap_from(&self, start: CpuId) -> impl Iterator<Item = CpuId> + Clone {
        match &self.words {
            Words::Inline(words) => {
                CpuMaskIter::over_all(SingleSource(&words[..self.nr_words()]), start, self.nr_words())
            }
            Words::Heap(words) => CpuMaskIter::over_used(SingleSource(words.all()), start, words.used()),
        }
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
        match (&self.words, &other.words) {
            (Words::Inline(a), Words::Inline(b)) => {
                let nr_words = self.nr_words();
                CpuMaskIter::over_all(PairSource(&a[..nr_words], &b[..nr_words]), start, nr_words)
            }
            (Words::Heap(a), Words::Heap(b)) => {
                CpuMaskIter::over_used(PairSource(a.all(), b.all()), start, a.used_in_both(b))
            }
            _ => unreachable!("masks of one machine are stored alike"),
        }
    }

    /// Calls `act` for the CPUs that are in both sets, in ascending order. A faster [`CpuMask::iter_and`] for
    /// hot paths.
    ///
    /// # Panics
    /// If the masks belong to machines of different sizes.
    #[inline]
    pub fn for_each_and(&self, other: &Self, mut act: impl FnMut(CpuId)) {
        let (words, other_words, first) = self.pair(other);
        for (index, (&word, &other_word)) in words.iter().zip(other_words).enumerate() {
            let mut both = word & other_word;
            while both != 0 {
                act(cpu_at(first + index, both));
                both &= both - 1;
            }
        }
    }

    #[inline]
    fn check_same_machine(&self, other: &Self) {
        assert!(self.nr_cpus == other.nr_cpus, "masks of machines of {} and {} cpus meet", self.nr_cpus, other.nr_cpus);
    }

    /// Returns the words of two masks outside which a word is 0 in one of them, and the index of the first.
    #[inline]
    fn pair<'a>(&'a self, other: &'a Self) -> (&'a [u64], &'a [u64], usize) {
        self.check_same_machine(other);
        match (&self.words, &other.words) {
            (Words::Inline(a), Words::Inline(b)) => (&a[..self.nr_words()], &b[..self.nr_words()], 0),
            (Words::Heap(a), Words::Heap(b)) => {
                let used = a.used_in_both(b);
                (&a.all()[used.clone()], &b.all()[used.clone()], used.start)
            }
            _ => unreachable!("masks of one machine are stored alike"),
        }
    }

    #[inline]
    fn pairs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u64, u64)> + 'a {
        let (a, b, _) = self.pair(other);
        a.iter().copied().zip(b.iter().copied())
    }

    /// Combines the mask with another one. Operations on words must give 0 for two words that are 0.
    #[inline]
    fn combine(
        &mut self,
        other: &Self,
        on_inline: impl Fn(u64, u64) -> u64,
        on_heap: impl FnOnce(&mut HeapWords, &HeapWords),
    ) {
        self.check_same_machine(other);
        match (&mut self.words, &other.words) {
            (Words::Inline(words), Words::Inline(others)) => {
                for (word, &other_word) in words.iter_mut().zip(others) {
                    *word = on_inline(*word, other_word);
                }
            }
            (Words::Heap(words), Words::Heap(others)) => on_heap(words, others),
            _ => unreachable!("masks of one machine are stored alike"),
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

/// Returns the lowest CPU in the words of a mask that is at least `cpu`.
#[inline]
fn lowest_from(words: &[u64], cpu: CpuId) -> Option<CpuId> {
    let start = cpu.index() / BITS;
    let word = *words.get(start)? & from_bit(cpu);
    let rest = &words[start + 1..];
    lowest(core::iter::once(word).chain(rest.iter().copied()), start)
}

const fn cpu_at(index: usize, word: u64) -> CpuId {
    CpuId((index * BITS) as u32 + word.trailing_zeros())
}
