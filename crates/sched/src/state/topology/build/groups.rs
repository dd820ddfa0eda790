// SPDX-License-Identifier: GPL-2.0-or-later
//! Groups of domains that do not overlap, and the store of all rings of groups.
//!
//! Models `build_sched_groups()` and `get_group()` (6.1). All CPUs of a span share one ring; each enters it
//! at its own group.

use crate::state::topology::SdFlags;
use crate::state::topology::build::BuildParams;
use crate::state::topology::build::draft::{DomainDraft, DomainDrafts};
use crate::state::topology::build::spans::{SpanId, Spans};
use crate::state::topology::level::Level;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Id of a ring of groups in [`Rings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RingId(u32);

impl RingId {
    /// Ring of a draft that has none yet.
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// CPUs of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupCpus {
    /// One CPU, at the lowest level.
    One(CpuId),
    /// CPUs of a child domain.
    Span(SpanId),
}

/// Sched group under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RingGroup {
    pub(crate) cpus: GroupCpus,
    pub(crate) flags: SdFlags,
    /// Level whose capacity the group has: lower than the domain's level where overlapping groups had to be
    /// narrowed.
    pub(crate) level: usize,
    /// First CPU that may balance for the group. The group has that CPU's capacity entry.
    pub(crate) balance_cpu: CpuId,
    /// Index of the group's mask in [`Rings::balance_masks`]; `None` if all its CPUs may balance.
    pub(crate) balance_mask: Option<u32>,
}

/// Capacity of a group under construction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DraftCapacity {
    pub(crate) capacity: Capacity,
    pub(crate) min_capacity: Capacity,
    pub(crate) max_capacity: Capacity,
    pub(crate) next_update: u64,
}

/// All rings of groups, with the tables to which groups refer.
pub(crate) struct Rings<'a> {
    pub(crate) spans: &'a Spans,
    /// Priority of each CPU for `ASYM_PACKING`.
    priority: Option<&'a [i32]>,
    rings: Vec<Vec<RingGroup>>,
    /// Index of rings that several domains may build independently.
    by_content: BTreeMap<Vec<RingGroup>, RingId>,
    pub(crate) balance_masks: Vec<CpuMask>,
    /// By level and CPU, in the order of [`place`](Self::place).
    capacities: Vec<DraftCapacity>,
    nr_cpus: usize,
}

impl<'a> Rings<'a> {
    pub(crate) fn new(spans: &'a Spans, params: &'a BuildParams, nr_cpus: usize) -> Self {
        Self {
            spans,
            priority: params.asym_priority.as_deref(),
            rings: Vec::new(),
            by_content: BTreeMap::new(),
            balance_masks: Vec::new(),
            capacities: vec![DraftCapacity::default(); spans.nr_levels() * nr_cpus],
            nr_cpus,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.rings.len()
    }

    pub(crate) fn ring(&self, ring: RingId) -> &[RingGroup] {
        &self.rings[ring.index()]
    }

    /// Group of a domain that contains the domain's CPU.
    pub(crate) fn own_group(&self, draft: &DomainDraft) -> &RingGroup {
        &self.ring(draft.ring)[draft.own_group]
    }

    pub(crate) fn own_group_mut(&mut self, draft: &DomainDraft) -> &mut RingGroup {
        &mut self.rings[draft.ring.index()][draft.own_group]
    }

    pub(crate) fn weight(&self, group: &RingGroup) -> u32 {
        match group.cpus {
            GroupCpus::One(_) => 1,
            GroupCpus::Span(span) => self.spans.weight(span),
        }
    }

    pub(crate) fn capacity(&self, group: &RingGroup) -> &DraftCapacity {
        &self.capacities[self.place(group)]
    }

    pub(crate) fn set_capacity(&mut self, group: &RingGroup, capacity: DraftCapacity) {
        let place = self.place(group);
        self.capacities[place] = capacity;
    }

    /// Index of a group's capacity. Groups with equal indices share it.
    pub(crate) const fn place(&self, group: &RingGroup) -> usize {
        group.level * self.nr_cpus + group.balance_cpu.index()
    }

    /// Returns the CPU with the highest priority, of several the lowest, as `sched_asym_prefer()` compares.
    pub(crate) fn preferred(&self, cpus: &CpuMask) -> CpuId {
        let priority = |cpu: &CpuId| self.priority.map_or(0, |priority| priority[cpu.index()]);
        cpus.iter().reduce(|best, cpu| if priority(&cpu) > priority(&best) { cpu } else { best }).unwrap_or(CpuId(0))
    }

    pub(crate) const fn nr_cpus(&self) -> usize {
        self.nr_cpus
    }

    pub(crate) const fn nr_places(&self) -> usize {
        self.capacities.len()
    }

    /// Sets the capacity that a group has until it is computed.
    pub(crate) fn set_nominal_capacity(&mut self, group: &RingGroup) {
        let nominal = DraftCapacity {
            capacity: SCHED_CAPACITY_SCALE * Capacity::from(self.weight(group)),
            min_capacity: SCHED_CAPACITY_SCALE,
            max_capacity: SCHED_CAPACITY_SCALE,
            next_update: 0,
        };
        self.set_capacity(group, nominal);
    }

    fn add(&mut self, ring: Vec<RingGroup>) -> RingId {
        self.rings.push(ring);
        RingId(self.rings.len() as u32 - 1)
    }

    /// Returns the ring of these groups, at whichever group it begins, and the position of `ring[0]` in it.
    pub(crate) fn intern(&mut self, mut ring: Vec<RingGroup>) -> (RingId, usize) {
        let lowest = (0..ring.len()).min_by_key(|&place| ring[place]).expect("a ring has a group");
        let own_group = (ring.len() - lowest) % ring.len();
        ring.rotate_left(lowest);
        if let Some(&id) = self.by_content.get(&ring) {
            return (id, own_group);
        }
        let id = self.add(ring.clone());
        self.by_content.insert(ring, id);
        (id, own_group)
    }
}

/// Builds the groups of all domains that do not overlap.
///
/// A ring has the order in which the highest CPU of the span meets the groups, because that CPU is the last
/// to link them.
pub(crate) fn build_sched_groups(drafts: &mut DomainDrafts, rings: &mut Rings<'_>, levels: &[Level]) {
    let spans = rings.spans;
    for number in (0..spans.nr_levels()).filter(|&number| !levels[number].overlap) {
        // Position in the ring, by the lowest CPU of a group.
        let mut place_of = vec![None; drafts.nr_cpus()];
        for last in drafts.cpus() {
            let Some(span) = spans.at(number, last).filter(|&span| spans.last(span) == last) else { continue };
            let mut ring = Vec::new();
            for cpu in spans.cpus(span).iter_wrap_from(last) {
                let group = get_group(drafts, spans, number, cpu);
                let place = &mut place_of[group.balance_cpu.index()];
                if place.is_none() {
                    *place = Some(ring.len());
                    rings.set_nominal_capacity(&group);
                    ring.push(group);
                }
            }
            let ring = rings.add(ring);
            for cpu in spans.cpus(span).iter() {
                let first = get_group(drafts, spans, number, cpu).balance_cpu;
                let draft = &mut drafts.of_mut(cpu)[number];
                draft.ring = ring;
                draft.own_group = place_of[first.index()].expect("the ring has the groups of all cpus of the span");
            }
        }
    }
}

/// Returns the group of a CPU at a level: the CPUs of the domain below, or the CPU itself at the lowest
/// level.
fn get_group(drafts: &DomainDrafts, spans: &Spans, level: usize, cpu: CpuId) -> RingGroup {
    let child = level.checked_sub(1).and_then(|below| drafts.get(below, cpu));
    let (cpus, flags, balance_cpu) = match child {
        Some(child) => (GroupCpus::Span(child.span), child.flags, spans.first(child.span)),
        None => (GroupCpus::One(cpu), SdFlags::EMPTY, cpu),
    };
    RingGroup { cpus, flags, level, balance_cpu, balance_mask: None }
}
