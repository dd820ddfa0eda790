// SPDX-License-Identifier: GPL-2.0-or-later
//! Flags and numbers of domains, before any is dropped.
//!
//! Models `sd_init()`, `asym_cpu_capacity_classify()` and the computation of `imb_numa_nr` in `build_sched_domains()` (6.1).

use crate::state::topology::build::groups::RingId;
use crate::state::topology::build::spans::{SpanId, Spans};
use crate::state::topology::level::Level;
use crate::state::topology::{MachineTopology, SdFlags};
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::vec;
use alloc::vec::Vec;

/// A domain in the making.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) cpu: CpuId,
    pub(crate) level: usize,
    pub(crate) span: SpanId,
    pub(crate) flags: SdFlags,
    pub(crate) imbalance_pct: u32,
    pub(crate) cache_nice_tries: u32,
    /// How many CPUs the level's unit has: not the domain's weight where its span was widened.
    pub(crate) unit_weight: u32,
    /// Its first CPU: the one whose `SchedDomainShared` is used.
    pub(crate) unit_first: CpuId,
    pub(crate) imb_numa_nr: u32,
    pub(crate) ring: RingId,
    /// The place in the ring of the group that the CPU is in.
    pub(crate) own_group: usize,
    pub(crate) dropped: bool,
}

/// The drafts of all CPUs, those of one CPU side by side from the lowest level upward.
#[derive(Clone, Debug)]
pub(crate) struct Drafts {
    domains: Vec<Draft>,
    /// Where the drafts of each CPU begin, and of one CPU more.
    begin: Vec<usize>,
}

impl Drafts {
    /// The drafts of a CPU, from the lowest level upward.
    pub(crate) fn of(&self, cpu: CpuId) -> &[Draft] {
        &self.domains[self.begin[cpu.index()]..self.begin[cpu.index() + 1]]
    }

    pub(crate) fn of_mut(&mut self, cpu: CpuId) -> &mut [Draft] {
        &mut self.domains[self.begin[cpu.index()]..self.begin[cpu.index() + 1]]
    }

    pub(crate) fn get(&self, level: usize, cpu: CpuId) -> Option<&Draft> {
        self.of(cpu).get(level)
    }

    /// How many CPUs the machine has.
    pub(crate) const fn nr_cpus(&self) -> usize {
        self.begin.len() - 1
    }

    /// All CPUs of the machine, also those without domains.
    pub(crate) fn cpus(&self) -> impl DoubleEndedIterator<Item = CpuId> + use<> {
        (0..self.nr_cpus()).map(CpuId::from_index)
    }

    pub(crate) fn iter(&self) -> core::slice::Iter<'_, Draft> {
        self.domains.iter()
    }
}

/// What domains take from their unit itself, whether or not their span was widened beyond it.
#[derive(Clone, Copy)]
struct Unit {
    weight: u32,
    first: CpuId,
    asym: SdFlags,
}

/// Tells units whose CPUs have the same capacity from others.
struct Capacities {
    /// The rank of each CPU's capacity among those that occur.
    ranks: Vec<usize>,
    nr_ranks: usize,
}

impl Capacities {
    fn new(machine: &MachineTopology, online: &CpuMask) -> Self {
        let mut values: Vec<_> = online.iter().map(|cpu| machine.capacity[cpu.index()]).collect();
        values.sort_unstable();
        values.dedup();
        let rank = |capacity| values.partition_point(|&value| value < capacity);
        Self { ranks: machine.capacity.iter().map(|&capacity| rank(capacity)).collect(), nr_ranks: values.len() }
    }

    /// Models `asym_cpu_capacity_classify()`: no flag if the CPUs are alike, otherwise `ASYM_CPUCAPACITY`, and
    /// `ASYM_CPUCAPACITY_FULL` as well if there is a CPU of every capacity that occurs among those in use.
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

/// Drafts the domains of all CPUs. The weights of units are those of the same levels as `counted` has them.
pub(crate) fn draft_domains(
    machine: &MachineTopology,
    levels: &[Level],
    counted: &[Level],
    spans: &Spans,
    online: &CpuMask,
) -> Drafts {
    let capacities = Capacities::new(machine, online);
    let unit = |cpus: &CpuMask| Unit {
        weight: 0,
        first: cpus.first().expect("a unit has a cpu"),
        asym: capacities.classify(cpus),
    };
    let units: Vec<Vec<Unit>> = levels.iter().map(|level| level.units.masks().iter().map(unit).collect()).collect();
    let mut drafts = Drafts { domains: Vec::new(), begin: vec![0] };
    for cpu in (0..online.nr_cpus()).map(CpuId::from_index) {
        let begin = drafts.domains.len();
        for (number, level) in levels.iter().enumerate() {
            let Some(span) = spans.at(number, cpu) else { break };
            let weight = counted[number].units.mask_of(cpu).weight() as u32;
            let unit = Unit { weight, ..units[number][level.units.place_of(cpu)] };
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

/// Models `sd_init()`. Rules, in order:
/// 1. Every domain balances when newly idle, on exec and on fork, lets wake-ups pull, and prefers siblings.
/// 2. With capacities that differ, the domain below does not prefer siblings (see [`draft_domains`]).
/// 3. A core's CPUs: 110 %. A cache's: one try before hot tasks move. Nodes: two tries, one balancer at a time, no
///    preference for siblings, and beyond the reclaim distance nothing is placed there. Others: one try.
fn sd_init(level: &Level, number: usize, cpu: CpuId, span: SpanId, unit: Unit) -> Draft {
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
    Draft {
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

/// How many running tasks may stay together in a domain before a NUMA imbalance counts. Rules, in order:
/// 1. Up to the last-level cache: 0.
/// 2. The first domain above it: as many as it has caches, or an eighth of its CPUs if it has one; at least 1.
/// 3. Above that: as many, times the number of such units in the domain, where the unit is the first domain that spans nodes, or
///    else the domain of rule 2.
pub(crate) fn set_imb_numa_nr(drafts: &mut Drafts, spans: &Spans) {
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
