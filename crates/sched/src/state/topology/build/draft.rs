// SPDX-License-Identifier: GPL-2.0-or-later
//! Flags and numbers of domains, before any is dropped.
//!
//! Models `sd_init()`, `asym_cpu_capacity_classify()` and the computation of `imb_numa_nr` in
//! `build_sched_domains()` (6.1).

use crate::state::topology::build::groups::RingId;
use crate::state::topology::build::spans::{SpanId, Spans};
use crate::state::topology::level::Level;
use crate::state::topology::{MachineTopology, SdFlags};
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::vec;
use alloc::vec::Vec;

/// Sched domain under construction.
#[derive(Clone, Debug)]
pub(crate) struct DomainDraft {
    pub(crate) cpu: CpuId,
    pub(crate) level: usize,
    pub(crate) span: SpanId,
    pub(crate) flags: SdFlags,
    pub(crate) imbalance_pct: u32,
    pub(crate) cache_nice_tries: u32,
    /// Number of CPUs in the level's unit: not the domain's weight where its span was widened.
    pub(crate) unit_weight: u32,
    /// First CPU of the level's unit, whose `SchedDomainShared` is used.
    pub(crate) unit_first: CpuId,
    pub(crate) imb_numa_nr: u32,
    pub(crate) ring: RingId,
    /// Position in the ring of the group that contains the CPU.
    pub(crate) own_group: usize,
    pub(crate) dropped: bool,
}

/// Drafts of all CPUs. Those of one CPU are adjacent, from the lowest level upward.
#[derive(Clone, Debug)]
pub(crate) struct DomainDrafts {
    domains: Vec<DomainDraft>,
    /// Index of the first draft of each CPU, with a final entry for the end.
    begin: Vec<usize>,
}

impl DomainDrafts {
    /// Drafts of a CPU, from the lowest level upward.
    pub(crate) fn of(&self, cpu: CpuId) -> &[DomainDraft] {
        &self.domains[self.begin[cpu.index()]..self.begin[cpu.index() + 1]]
    }

    pub(crate) fn of_mut(&mut self, cpu: CpuId) -> &mut [DomainDraft] {
        &mut self.domains[self.begin[cpu.index()]..self.begin[cpu.index() + 1]]
    }

    pub(crate) fn get(&self, level: usize, cpu: CpuId) -> Option<&DomainDraft> {
        self.of(cpu).get(level)
    }

    /// Number of CPUs of the machine.
    pub(crate) const fn nr_cpus(&self) -> usize {
        self.begin.len() - 1
    }

    /// All CPUs of the machine, including those without domains.
    pub(crate) fn cpus(&self) -> impl DoubleEndedIterator<Item = CpuId> + use<> {
        (0..self.nr_cpus()).map(CpuId::from_index)
    }

    pub(crate) fn iter(&self) -> core::slice::Iter<'_, DomainDraft> {
        self.domains.iter()
    }
}

/// Properties that a domain takes from its unit, whether or not its span was widened beyond the unit.
#[derive(Clone, Copy)]
struct UnitInfo {
    weight: u32,
    first: CpuId,
    asym: SdFlags,
}

/// Classification of units by the capacities of their CPUs.
struct CapacityRanks {
    /// By CPU: rank of its capacity among those that occur.
    ranks: Vec<usize>,
    nr_ranks: usize,
}

impl CapacityRanks {
    fn new(machine: &MachineTopology, online: &CpuMask) -> Self {
        let mut values: Vec<_> = online.iter().map(|cpu| machine.capacity[cpu.index()]).collect();
        values.sort_unstable();
        values.dedup();
        let rank = |capacity| values.partition_point(|&value| value < capacity);
        Self { ranks: machine.capacity.iter().map(|&capacity| rank(capacity)).collect(), nr_ranks: values.len() }
    }

    /// Returns the capacity flags of a unit. Models `asym_cpu_capacity_classify()`.
    ///
    /// CPUs of equal capacity have no flag. Others have `ASYM_CPUCAPACITY`, and also `ASYM_CPUCAPACITY_FULL`
    /// if they have every capacity that occurs among the CPUs in use.
    fn classify(&self, cpus: &CpuMask) -> SdFlags {
        if self.nr_ranks == 1 {
            return SdFlags::EMPTY;
        }
        let mut ranks: Vec<_> = cpus.iter().map(|cpu| self.ranks[cpu.index()]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        match ranks.len() {
            0 | 1 => SdFlags::EMPTY,
            count if count < self.nr_ranks => SdFlags::ASYM_CPUCAPACITY,
            _ => SdFlags::ASYM_CPUCAPACITY | SdFlags::ASYM_CPUCAPACITY_FULL,
        }
    }
}

/// Drafts the domains of all CPUs. The weights of units are taken from the same levels of `counted`.
pub(crate) fn draft_domains(
    machine: &MachineTopology,
    levels: &[Level],
    counted: &[Level],
    spans: &Spans,
    online: &CpuMask,
) -> DomainDrafts {
    let capacities = CapacityRanks::new(machine, online);
    let unit = |cpus: &CpuMask| UnitInfo {
        weight: 0,
        first: cpus.first().expect("a unit has a cpu"),
        asym: capacities.classify(cpus),
    };
    let units: Vec<Vec<UnitInfo>> = levels.iter().map(|level| level.units.masks().iter().map(unit).collect()).collect();
    let mut drafts = DomainDrafts { domains: Vec::new(), begin: vec![0] };
    for cpu in (0..online.nr_cpus()).map(CpuId::from_index) {
        let begin = drafts.domains.len();
        for (number, level) in levels.iter().enumerate() {
            let Some(span) = spans.at(number, cpu) else { break };
            let weight = counted[number].units.mask_of(cpu).weight() as u32;
            let unit = UnitInfo { weight, ..units[number][level.units.place_of(cpu)] };
            let draft = sd_init(level, number, cpu, span, unit);
            if draft.flags.contains(SdFlags::ASYM_CPUCAPACITY)
                && let Some(child) = drafts.domains[begin..].last_mut()
            {
                child.flags.remove(SdFlags::PREFER_SIBLING);
            }
            drafts.domains.push(draft);
        }
        drafts.begin.push(drafts.domains.len());
    }
    drafts
}

/// Drafts a domain. Models `sd_init()`. Rules, in order:
/// 1. Every domain balances when newly idle, on exec and on fork, lets wake-ups pull, and prefers siblings.
/// 2. With capacities that differ, the domain below does not prefer siblings (see [`draft_domains`]).
/// 3. A core: 110 %. A cache: one try before cache-hot tasks move. Nodes: two tries, one balancer at a time,
///    no preference for siblings, and no placement beyond the reclaim distance. Others: one try.
fn sd_init(level: &Level, number: usize, cpu: CpuId, span: SpanId, unit: UnitInfo) -> DomainDraft {
    const PLACE: SdFlags = SdFlags::BALANCE_EXEC.with(SdFlags::BALANCE_FORK).with(SdFlags::WAKE_AFFINE);
    let mut flags = PLACE | SdFlags::BALANCE_NEWIDLE | SdFlags::PREFER_SIBLING | level.flags | unit.asym;
    let (imbalance_pct, cache_nice_tries) = if flags.contains(SdFlags::SHARE_CPUCAPACITY) {
        (110, 0)
    } else if flags.contains(SdFlags::SHARE_PKG_RESOURCES) {
        (117, 1)
    } else if flags.contains(SdFlags::NUMA) {
        flags.remove(SdFlags::PREFER_SIBLING);
        flags.insert(SdFlags::SERIALIZE);
        if level.beyond_reclaim_distance {
            flags.remove(PLACE);
        }
        (117, 2)
    } else {
        (117, 1)
    };
    if level.overlap {
        flags.insert(SdFlags::OVERLAP);
    }
    DomainDraft {
        cpu,
        level: number,
        span,
        flags,
        imbalance_pct,
        cache_nice_tries,
        unit_weight: unit.weight,
        unit_first: unit.first,
        imb_numa_nr: 0,
        ring: RingId::NONE,
        own_group: 0,
        dropped: false,
    }
}

/// Sets the number of running tasks that may stay together in a domain before a NUMA imbalance counts. Rules,
/// in order:
/// 1. Up to the last-level cache: 0.
/// 2. The first domain above it: the number of its caches, or an eighth of its CPUs if it has one cache; at
///    least 1.
/// 3. Above that: the number of rule 2 times the number of units in the domain. The unit is the first domain
///    that spans nodes, or the domain of rule 2 if there is none.
pub(crate) fn set_imb_numa_nr(drafts: &mut DomainDrafts, spans: &Spans) {
    for cpu in drafts.cpus() {
        let chain = drafts.of_mut(cpu);
        let (mut imb, mut imb_span) = (0, 1);
        for place in 0..chain.len() {
            let weight = spans.weight(chain[place].span);
            let child = place.checked_sub(1).map(|below| &chain[below]);
            let above_llc = child
                .filter(|child| child.flags.contains(SdFlags::SHARE_PKG_RESOURCES))
                .filter(|_| !chain[place].flags.contains(SdFlags::SHARE_PKG_RESOURCES));
            chain[place].imb_numa_nr = if let Some(llc) = above_llc {
                let nr_llcs = weight / spans.weight(llc.span);
                imb = if nr_llcs == 1 { weight >> 3 } else { nr_llcs }.max(1);
                let numa = chain[place + 1..].iter().find(|above| above.flags.contains(SdFlags::NUMA));
                imb_span = numa.map_or(weight, |numa| spans.weight(numa.span));
                imb
            } else {
                imb * (weight / imb_span).max(1)
            };
        }
    }
}
