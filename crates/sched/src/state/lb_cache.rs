// SPDX-License-Identifier: GPL-2.0-or-later
//! Tallies: what balancing and the slow path of wake-ups read of each CPU, side by side, and sums of it over groups of CPUs.
//!
//! The kernel has no such thing: it looks at each runqueue of a domain, one cache line after the other. Here a pass over many
//! CPUs costs as much as what has changed on them since the last one. Rules:
//! 1. Who changes something of a CPU that a [`Tally`] is made of notes the CPU: [`LbCache::note`], [`LbCache::mark_cfs_rq_dirty`].
//! 2. Who reads tallies has them brought up to date first ([`crate::track::tallies`]).
//! 3. What is not noted equals what the runqueue says: [`crate::check::tallies`] computes it anew.
//!
//! Tallies answer for whole groups only. A pass that leaves out CPUs, or asks for more than is here, looks at each runqueue.

use crate::state::topology::{ArenaId, DomainId, SchedDomain, SchedDomains, SchedGroup, SchedGroupId, SdFlags};
use crate::types::cpumask::{CpuMask, MAX_CPUS};
use crate::types::ids::{CfsRqId, CpuId};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Groups of fewer CPUs have no sums of their own: their CPUs are added up when they are asked for.
pub(crate) const LEAST: u32 = 4;

const BITS: usize = u64::BITS as usize;
const WORDS: usize = MAX_CPUS / BITS;
const NO_SUM: u32 = u32::MAX;

/// What CPUs are like together: one, or all of a group.
///
/// No sum overflows: there are at most 4096 CPUs, and a machine that had so many tasks or so much load would not fit into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LbSample {
    /// `load_avg` of the root cfs_rqs.
    pub load: u64,
    /// `runnable_avg` of the root cfs_rqs.
    pub runnable: u64,
    /// What the fair class uses: `cpu_util_cfs()`.
    pub util: u32,
    /// Runnable tasks of all classes.
    pub nr_running: u32,
    /// Fair tasks.
    pub h_nr_running: u32,
    /// CPUs with more than one task.
    pub overloaded_cpus: u32,
    /// CPUs with one fair task, to which other classes leave less than there is.
    pub reduced_cpus: u32,
    /// CPUs that are idle: `idle_cpu()`.
    pub idle_cpus: u32,
}

impl LbSample {
    /// Both together. Sums wrap, and wrap back when what was added is taken out: so no branch is in the way.
    #[inline]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.combine(other, u64::wrapping_add, u32::wrapping_add)
    }

    /// What is left without some.
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

/// Where the tally of a sched group is.
#[derive(Clone, Copy, Debug)]
struct LbCacheIndex {
    /// Its sums.
    sums: u32,
    /// Without sums: its CPUs in `few`. None of them says that nothing is kept of the group.
    first: u32,
    nr: u32,
}

/// The tallies of a machine.
#[derive(Clone, Debug)]
pub(crate) struct LbCache {
    /// CPUs that were noted, 64 to a word. There is room for the largest machine, so that a note needs no look at the length.
    changed: [u64; WORDS],
    nr_cpus: u32,
    cpus: Vec<LbSample>,
    /// CPUs that are idle.
    idle: CpuMask,
    /// CPUs with fair tasks.
    busy: CpuMask,
    sums: Vec<LbSample>,
    /// By CPU: where its sums begin in `sums_of`.
    sums_from: Vec<u32>,
    sums_of: Vec<u32>,
    places: Vec<LbCacheIndex>,
    few: Vec<CpuId>,
    /// By domain: in which words of `changed` its CPUs are.
    words_of_domain: Vec<Range<usize>>,
    /// By domain: its sums, if it has any.
    sums_of_domain: Vec<u32>,
}

impl LbCache {
    /// Of nothing: each CPU is noted.
    pub(crate) fn new(nr_cpus: usize, domains: &SchedDomains) -> Self {
        let mut tallies = Self {
            changed: [0; WORDS],
            nr_cpus: nr_cpus as u32,
            cpus: vec![LbSample::default(); nr_cpus],
            idle: CpuMask::new(nr_cpus),
            busy: CpuMask::new(nr_cpus),
            sums: Vec::new(),
            sums_from: Vec::new(),
            sums_of: Vec::new(),
            places: Vec::new(),
            few: Vec::new(),
            words_of_domain: Vec::new(),
            sums_of_domain: Vec::new(),
        };
        tallies.follow_domains(domains);
        tallies
    }

    /// Sched domains were built anew: other groups have sums.
    pub(crate) fn follow_domains(&mut self, domains: &SchedDomains) {
        let mut places = LbCacheIndices::default();
        self.places = domains.groups.iter().map(|group| places.place(group)).collect();
        for id in groups_beyond_their_domains(domains) {
            self.places[id.index()] = LbCacheIndex { sums: NO_SUM, first: 0, nr: 0 };
        }
        self.words_of_domain = domains.domains.iter().map(|sd| sd.span.used_words()).collect();
        self.sums_of_domain = domains.domains.iter().map(|sd| places.place_domain(domains, sd, &self.places)).collect();
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
        self.cpus.fill(LbSample::default());
        self.idle.clear_all();
        self.busy.clear_all();
        self.mark_all_dirty();
    }

    /// Something of a CPU has changed.
    #[inline]
    pub(crate) fn mark_dirty(&mut self, cpu: CpuId) {
        self.changed[cpu.index() / BITS % WORDS] |= 1 << (cpu.index() % BITS);
    }

    /// Something of a cfs_rq has changed. Only that of root cfs_rqs is read; they have the numbers of their CPUs.
    #[inline]
    pub(crate) fn mark_cfs_rq_dirty(&mut self, cfs_rq: CfsRqId) {
        if cfs_rq.0 < self.nr_cpus {
            self.mark_dirty(CpuId(cfs_rq.0));
        }
    }

    /// Something that concerns all CPUs has changed.
    pub(crate) fn mark_all_dirty(&mut self) {
        for cpu in 0..self.nr_cpus {
            self.mark_dirty(CpuId(cpu));
        }
    }

    /// Whether a CPU is noted.
    pub(crate) fn is_noted(&self, cpu: CpuId) -> bool {
        self.changed[cpu.index() / BITS % WORDS] & 1 << (cpu.index() % BITS) != 0
    }

    /// A CPU that is noted, which it is not any more.
    #[inline]
    pub(crate) fn take_dirty(&mut self) -> Option<CpuId> {
        let mut words = 0..(self.nr_cpus as usize).div_ceil(BITS);
        words.find_map(|word| self.take_dirty_of(word, u64::MAX))
    }

    /// The same of the CPUs of a domain.
    #[inline]
    pub(crate) fn take_dirty_in(&mut self, sd: DomainId, span: &CpuMask) -> Option<CpuId> {
        let mut words = self.words_of_domain[sd.index()].clone();
        words.find_map(|word| self.take_dirty_of(word, span.word(word)))
    }

    #[inline]
    fn take_dirty_of(&mut self, word: usize, among: u64) -> Option<CpuId> {
        let changed = &mut self.changed[word % WORDS];
        let noted = *changed & among;
        *changed &= !(noted & noted.wrapping_neg());
        (noted != 0).then(|| CpuId((word * BITS) as u32 + noted.trailing_zeros()))
    }

    /// A CPU is like this now.
    #[inline]
    pub(crate) fn set(&mut self, cpu: CpuId, new: LbSample) {
        let old = core::mem::replace(&mut self.cpus[cpu.index()], new);
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

    /// The tally of a CPU.
    #[inline]
    pub(crate) fn cpu(&self, cpu: CpuId) -> &LbSample {
        &self.cpus[cpu.index()]
    }

    /// The CPUs that are idle.
    #[inline]
    pub(crate) fn idle(&self) -> &CpuMask {
        &self.idle
    }

    /// The CPUs that have fair tasks.
    #[inline]
    pub(crate) fn busy(&self) -> &CpuMask {
        &self.busy
    }

    /// Whether anything is kept of a group.
    #[inline]
    pub(crate) fn has(&self, group: SchedGroupId) -> bool {
        let place = &self.places[group.index()];
        place.sums != NO_SUM || place.nr > 0
    }

    /// The tally of a group.
    #[inline]
    pub(crate) fn group(&self, group: SchedGroupId) -> Option<LbSample> {
        let place = self.places[group.index()];
        if place.sums != NO_SUM {
            return Some(self.sums[place.sums as usize]);
        }
        let (&first, others) = self.few[place.first as usize..][..place.nr as usize].split_first()?;
        Some(others.iter().fold(self.cpus[first.index()], |sum, cpu| sum.plus(&self.cpus[cpu.index()])))
    }

    /// Number of fair tasks of a group of which a tally is kept.
    #[inline]
    pub(crate) fn h_nr_running(&self, group: SchedGroupId) -> u32 {
        let place = self.places[group.index()];
        if place.sums != NO_SUM {
            return self.sums[place.sums as usize].h_nr_running;
        }
        let few = &self.few[place.first as usize..][..place.nr as usize];
        few.iter().fold(0, |sum, cpu| sum.wrapping_add(self.cpus[cpu.index()].h_nr_running))
    }

    /// The tally of a whole domain, where its groups do not overlap.
    #[inline]
    pub(crate) fn domain(&self, sd: DomainId) -> Option<&LbSample> {
        self.sums.get(self.sums_of_domain[sd.index()] as usize)
    }
}

/// Places are given out.
#[derive(Default)]
struct LbCacheIndices<'a> {
    /// The CPUs of those that have sums.
    summed: Vec<&'a CpuMask>,
    /// The sums of the widest domain, once they have a place.
    widest: Option<u32>,
    /// By capacity: the sums of the first group that has it.
    by_capacity: Vec<u32>,
    few: Vec<CpuId>,
}

impl<'a> LbCacheIndices<'a> {
    /// Groups that share their capacity have the same CPUs, mostly: one sum is enough for them.
    fn place(&mut self, group: &'a SchedGroup) -> LbCacheIndex {
        if group.group_weight < LEAST {
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

    /// The sums of a domain are those of the group that stands for it in the domain above. The widest one has its own.
    fn place_domain(&mut self, domains: &'a SchedDomains, sd: &'a SchedDomain, places: &[LbCacheIndex]) -> u32 {
        if sd.flags.contains(SdFlags::OVERLAP) || sd.span_weight < LEAST {
            return NO_SUM;
        }
        if let Some(parent) = sd.parent {
            let group = domains.domains[parent].groups;
            return if domains.groups[group].span == sd.span { places[group.index()].sums } else { NO_SUM };
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

/// Groups with CPUs that are not in their domain: a pass over the domain does not look at those. Only where groups overlap.
fn groups_beyond_their_domains(domains: &SchedDomains) -> impl Iterator<Item = SchedGroupId> {
    let overlapping = domains.domains.ids().filter(|&sd| domains.domains[sd].flags.contains(SdFlags::OVERLAP));
    overlapping.flat_map(|sd| {
        let span = &domains.domains[sd].span;
        domains.ring(sd).filter(|&group| !domains.groups[group].span.is_subset_of(span))
    })
}
