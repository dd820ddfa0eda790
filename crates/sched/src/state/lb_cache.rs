// SPDX-License-Identifier: GPL-2.0-or-later
//! Cached load-balance statistics: values that load balancing and the slow path of wake-ups read of each CPU,
//! and their sums over groups of CPUs.
//!
//! The kernel has no such cache: it reads each runqueue of a domain, one cache line after the other. With the
//! cache, the host time of a pass over many CPUs grows with the number of CPUs that have changed since the
//! last pass. Results do not depend on it.
//!
//! Rules:
//! 1. Code that changes a value of which a [`LbSample`] is made marks the CPU dirty: [`LbCache::mark_dirty`],
//!    [`LbCache::mark_cfs_rq_dirty`].
//! 2. Code that reads the cache first brings it up to date ([`crate::track::lb_cache`]).
//! 3. The entry of a CPU that is not dirty equals its runqueue: [`crate::check::lb_cache`] recomputes it.
//!
//! The cache serves whole groups only. A pass that leaves out CPUs, or needs other values, reads each
//! runqueue.

use crate::state::topology::{DomainId, SchedDomain, SchedDomains, SchedGroup, SchedGroupId, SdFlags};
use crate::types::arena::Arena;
use crate::types::cpumask::{CpuMask, MAX_CPUS};
use crate::types::ids::{CfsRqId, CpuId};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Fewest CPUs of a group for which a sum is kept. CPUs of smaller groups are added up on request.
pub(crate) const MIN_SUMMED_CPUS: u32 = 4;

const BITS: usize = u64::BITS as usize;
const WORDS: usize = MAX_CPUS / BITS;
const NO_SUM: u32 = u32::MAX;

/// Load-balance statistics of one CPU, or their sums over a group.
///
/// No sum overflows: there are at most 4096 CPUs, and a machine with so many tasks or so much load would not
/// fit into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LbSample {
    /// Sum of `load_avg` of the root cfs_rqs.
    pub load: u64,
    /// Sum of `runnable_avg` of the root cfs_rqs.
    pub runnable: u64,
    /// Utilisation by the fair class: `cpu_util_cfs()`.
    pub util: u32,
    /// Runnable tasks of all classes.
    pub nr_running: u32,
    /// Number of runnable fair tasks (`cfs.h_nr_running`).
    pub h_nr_running: u32,
    /// Number of CPUs with more than one runnable task.
    pub overloaded_cpus: u32,
    /// Number of CPUs with one fair task on which other classes reduce the capacity.
    pub reduced_cpus: u32,
    /// Number of idle CPUs: `idle_cpu()`.
    pub idle_cpus: u32,
}

impl LbSample {
    /// Adds two samples. Sums wrap, and wrap back when the same is subtracted, so that no branch is needed.
    #[inline]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.combine(other, u64::wrapping_add, u32::wrapping_add)
    }

    #[inline]
    fn minus(&self, other: &Self) -> Self {
        self.combine(other, u64::wrapping_sub, u32::wrapping_sub)
    }

    #[inline(always)]
    fn combine(&self, other: &Self, long: impl Fn(u64, u64) -> u64, short: impl Fn(u32, u32) -> u32) -> Self {
        Self {
            load: long(self.load, other.load),
            runnable: long(self.runnable, other.runnable),
            util: short(self.util, other.util),
            nr_running: short(self.nr_running, other.nr_running),
            h_nr_running: short(self.h_nr_running, other.h_nr_running),
            overloaded_cpus: short(self.overloaded_cpus, other.overloaded_cpus),
            reduced_cpus: short(self.reduced_cpus, other.reduced_cpus),
            idle_cpus: short(self.idle_cpus, other.idle_cpus),
        }
    }
}

/// Location of a sched group's statistics.
#[derive(Clone, Copy, Debug)]
struct LbCacheIndex {
    /// Index of the sums, or [`NO_SUM`].
    sums: u32,
    /// Without sums: position of the group's CPUs in `few`. Nothing is cached of the group if `nr` is 0.
    first: u32,
    nr: u32,
}

/// Cached load-balance statistics of a machine.
#[derive(Clone, Debug)]
pub(crate) struct LbCache {
    /// Dirty CPUs, 64 to a word. Sized for the largest machine, so that marking a CPU needs no bounds check.
    dirty: [u64; WORDS],
    /// Words of `dirty` that are not 0, a bit each, so that an update visits no others.
    dirty_words: u64,
    nr_cpus: u32,
    cpus: Arena<CpuId, LbSample>,
    idle: CpuMask,
    /// CPUs with fair tasks.
    busy: CpuMask,
    sums: Vec<LbSample>,
    /// By CPU: index in `sums_of` at which its sums begin.
    sums_from: Vec<u32>,
    sums_of: Vec<u32>,
    indices: Arena<SchedGroupId, LbCacheIndex>,
    few: Vec<CpuId>,
    /// By domain: words of `dirty` that contain its CPUs, a bit each.
    words_of_domain: Arena<DomainId, u64>,
    /// By domain: index of its sums, or [`NO_SUM`].
    sums_of_domain: Arena<DomainId, u32>,
}

impl LbCache {
    /// Creates a cache in which all CPUs are dirty.
    pub(crate) fn new(nr_cpus: usize, domains: &SchedDomains) -> Self {
        let mut tallies = Self {
            dirty: [0; WORDS],
            dirty_words: 0,
            nr_cpus: nr_cpus as u32,
            cpus: Arena::filled(LbSample::default(), nr_cpus),
            idle: CpuMask::new(nr_cpus),
            busy: CpuMask::new(nr_cpus),
            sums: Vec::new(),
            sums_from: Vec::new(),
            sums_of: Vec::new(),
            indices: Arena::new(),
            few: Vec::new(),
            words_of_domain: Arena::new(),
            sums_of_domain: Arena::new(),
        };
        tallies.rebuild(domains);
        tallies
    }

    /// Assigns sums to the groups of rebuilt sched domains and marks all CPUs dirty.
    pub(crate) fn rebuild(&mut self, domains: &SchedDomains) {
        let mut places = LbCacheLayout::default();
        self.indices = domains.groups.iter().map(|group| places.place(group)).collect();
        for id in groups_beyond_their_domains(domains) {
            self.indices[id] = LbCacheIndex { sums: NO_SUM, first: 0, nr: 0 };
        }
        let words_of = |span: &CpuMask| span.used_words().fold(0, |words, word| words | 1 << word);
        self.words_of_domain = domains.domains.iter().map(|sd| words_of(&sd.span)).collect();
        self.sums_of_domain =
            domains.domains.iter().map(|sd| places.place_domain(domains, sd, &self.indices)).collect();
        let mut of_cpu = vec![Vec::new(); self.cpus.len()];
        for (place, span) in places.summed.iter().enumerate() {
            for cpu in span.iter() {
                of_cpu[cpu.index()].push(place as u32);
            }
        }
        self.sums = vec![LbSample::default(); places.summed.len()];
        self.sums_of = of_cpu.concat();
        self.sums_from = core::iter::once(0)
            .chain(of_cpu.iter().scan(0, |from, sums| {
                *from += sums.len() as u32;
                Some(*from)
            }))
            .collect();
        self.few = places.few;
        self.cpus.iter_mut().for_each(|sample| *sample = LbSample::default());
        self.idle.clear_all();
        self.busy.clear_all();
        self.mark_all_dirty();
    }

    /// Marks a CPU dirty, because one of its values has changed.
    #[inline]
    pub(crate) fn mark_dirty(&mut self, cpu: CpuId) {
        let word = cpu.index() / BITS % WORDS;
        self.dirty[word] |= 1 << (cpu.index() % BITS);
        self.dirty_words |= 1 << word;
    }

    /// Marks the CPU of a root cfs_rq dirty. Other cfs_rqs are not cached; root cfs_rqs have the numbers of
    /// their CPUs.
    #[inline]
    pub(crate) fn mark_cfs_rq_dirty(&mut self, cfs_rq: CfsRqId) {
        if cfs_rq.0 < self.nr_cpus {
            self.mark_dirty(CpuId(cfs_rq.0));
        }
    }

    /// Marks all CPUs dirty.
    pub(crate) fn mark_all_dirty(&mut self) {
        for cpu in 0..self.nr_cpus {
            self.mark_dirty(CpuId(cpu));
        }
    }

    /// Whether a CPU is dirty.
    pub(crate) fn is_dirty(&self, cpu: CpuId) -> bool {
        self.dirty[cpu.index() / BITS % WORDS] & 1 << (cpu.index() % BITS) != 0
    }

    /// Takes a dirty CPU, which is clean from then on.
    #[inline]
    pub(crate) fn take_dirty(&mut self) -> Option<CpuId> {
        if self.dirty_words == 0 {
            return None;
        }
        self.take_dirty_in_word(self.dirty_words.trailing_zeros() as usize, u64::MAX)
    }

    /// Takes a dirty CPU of a domain, which is clean from then on.
    #[inline]
    pub(crate) fn take_dirty_in(&mut self, sd: DomainId, span: &CpuMask) -> Option<CpuId> {
        let mut words = self.words_of_domain[sd] & self.dirty_words;
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            let taken = self.take_dirty_in_word(word, span.word(word));
            if taken.is_some() {
                return taken;
            }
            words &= words - 1;
        }
        None
    }

    /// Whether a CPU of a word is dirty or has fair tasks.
    #[inline]
    pub(crate) fn has_dirty_or_busy_in(&self, word: usize, among: u64) -> bool {
        (self.dirty[word % WORDS] | self.busy.word(word)) & among != 0
    }

    #[inline]
    fn take_dirty_in_word(&mut self, word: usize, among: u64) -> Option<CpuId> {
        let changed = &mut self.dirty[word % WORDS];
        let noted = *changed & among;
        *changed &= !(noted & noted.wrapping_neg());
        if *changed == 0 {
            self.dirty_words &= !(1 << (word % WORDS));
        }
        (noted != 0).then(|| CpuId((word * BITS) as u32 + noted.trailing_zeros()))
    }

    /// Stores the sample of a CPU and updates the sums that contain it.
    #[inline]
    pub(crate) fn set(&mut self, cpu: CpuId, new: LbSample) {
        let old = core::mem::replace(&mut self.cpus[cpu], new);
        if old.idle_cpus != new.idle_cpus {
            self.idle.assign(cpu, new.idle_cpus > 0);
        }
        if (old.h_nr_running > 0) != (new.h_nr_running > 0) {
            self.busy.assign(cpu, new.h_nr_running > 0);
        }
        let change = new.minus(&old);
        for &sums in &self.sums_of[self.sums_of(cpu)] {
            let sums = &mut self.sums[sums as usize];
            *sums = sums.plus(&change);
        }
    }

    fn sums_of(&self, cpu: CpuId) -> Range<usize> {
        self.sums_from[cpu.index()] as usize..self.sums_from[cpu.index() + 1] as usize
    }

    /// Sample of a CPU.
    #[inline]
    pub(crate) fn cpu(&self, cpu: CpuId) -> &LbSample {
        &self.cpus[cpu]
    }

    #[inline]
    pub(crate) fn idle(&self) -> &CpuMask {
        &self.idle
    }

    /// CPUs with runnable fair tasks.
    #[inline]
    pub(crate) fn busy(&self) -> &CpuMask {
        &self.busy
    }

    /// Whether statistics of a group are cached.
    #[inline]
    pub(crate) fn has(&self, group: SchedGroupId) -> bool {
        let place = &self.indices[group];
        place.sums != NO_SUM || place.nr > 0
    }

    /// Statistics of a group; `None` if they are not cached.
    #[inline]
    pub(crate) fn group(&self, group: SchedGroupId) -> Option<LbSample> {
        let place = self.indices[group];
        if place.sums != NO_SUM {
            return Some(self.sums[place.sums as usize]);
        }
        let (&first, others) = self.few[place.first as usize..][..place.nr as usize].split_first()?;
        Some(others.iter().fold(self.cpus[first], |sum, cpu| sum.plus(&self.cpus[*cpu])))
    }

    /// Number of runnable fair tasks of a group whose statistics are cached.
    #[inline]
    pub(crate) fn h_nr_running(&self, group: SchedGroupId) -> u32 {
        let place = self.indices[group];
        if place.sums != NO_SUM {
            return self.sums[place.sums as usize].h_nr_running;
        }
        let few = &self.few[place.first as usize..][..place.nr as usize];
        few.iter().fold(0, |sum, cpu| sum.wrapping_add(self.cpus[*cpu].h_nr_running))
    }

    /// Statistics of a whole domain; `None` where its groups overlap or it is too small.
    #[inline]
    pub(crate) fn domain(&self, sd: DomainId) -> Option<&LbSample> {
        self.sums.get(self.sums_of_domain[sd] as usize)
    }
}

/// Assignment of sums to groups and domains.
#[derive(Default)]
struct LbCacheLayout<'a> {
    /// By index of the sums: the CPUs that they cover.
    summed: Vec<&'a CpuMask>,
    /// Sums of the widest domain, once they are assigned.
    widest: Option<u32>,
    /// By capacity: sums of the first group that has it, or [`NO_SUM`].
    by_capacity: Vec<u32>,
    few: Vec<CpuId>,
}

impl<'a> LbCacheLayout<'a> {
    /// Assigns a location to a group. Groups that share their capacity mostly have the same CPUs, so one sum
    /// is enough for them.
    fn place(&mut self, group: &'a SchedGroup) -> LbCacheIndex {
        if group.group_weight < MIN_SUMMED_CPUS {
            let first = self.few.len() as u32;
            self.few.extend(group.span.iter());
            return LbCacheIndex { sums: NO_SUM, first, nr: group.group_weight };
        }
        let capacity = group.capacity.index();
        if self.by_capacity.len() <= capacity {
            self.by_capacity.resize(capacity + 1, NO_SUM);
        }
        let known = self.by_capacity[capacity];
        if known != NO_SUM && *self.summed[known as usize] == group.span {
            return LbCacheIndex { sums: known, first: 0, nr: 0 };
        }
        let sums = self.sum(&group.span);
        self.by_capacity[capacity] = sums;
        LbCacheIndex { sums, first: 0, nr: 0 }
    }

    fn sum(&mut self, span: &'a CpuMask) -> u32 {
        self.summed.push(span);
        self.summed.len() as u32 - 1
    }

    /// Assigns sums to a domain: those of the group that represents it in the domain above. The widest domain
    /// has its own.
    fn place_domain(
        &mut self,
        domains: &'a SchedDomains,
        sd: &'a SchedDomain,
        places: &Arena<SchedGroupId, LbCacheIndex>,
    ) -> u32 {
        if sd.flags.contains(SdFlags::OVERLAP) || sd.span_weight < MIN_SUMMED_CPUS {
            return NO_SUM;
        }
        if let Some(parent) = sd.parent {
            let group = domains.domains[parent].groups;
            return if domains.groups[group].span == sd.span { places[group].sums } else { NO_SUM };
        }
        match self.widest {
            Some(sums) if *self.summed[sums as usize] == sd.span => sums,
            _ => {
                let sums = self.sum(&sd.span);
                self.widest = Some(sums);
                sums
            }
        }
    }
}

/// Groups with CPUs outside their domain, which a pass over the domain does not read. They exist only where
/// groups overlap.
fn groups_beyond_their_domains(domains: &SchedDomains) -> impl Iterator<Item = SchedGroupId> {
    let overlapping = domains.domains.ids().filter(|&sd| domains.domains[sd].flags.contains(SdFlags::OVERLAP));
    overlapping.flat_map(|sd| {
        let span = &domains.domains[sd].span;
        domains.ring(sd).filter(|&group| !domains.groups[group].span.is_subset_of(span))
    })
}
