// SPDX-License-Identifier: GPL-2.0-or-later
//! Removal of domains that add nothing, and transfer of the remaining ones into the arenas.
//!
//! Models `cpu_attach_domain()` with `sd_degenerate()` and `sd_parent_degenerate()`, and
//! `update_top_cache_domain()` (6.1).

use crate::state::topology::build::draft::{DomainDraft, DomainDrafts};
use crate::state::topology::build::groups::{DraftCapacity, GroupCpus, RingGroup, RingId, Rings};
use crate::state::topology::level::LevelTable;
use crate::state::topology::{
    CapacityId, CpuDomains, CpuUnits, DomainId, DomainStats, MachineTopology, RootDomain, SchedDomain,
    SchedDomainShared, SchedDomains, SchedGroup, SchedGroupCapacity, SchedGroupId, SdFlags, SharedId,
};
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::kernel_rules::KernelRules;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Marks the drafts that add nothing. Rules for the chain of a CPU, in order:
/// 1. From the lowest domain upward, a domain drops the next one if that one spans the same CPUs and has no
///    use of its own, and inherits its `PREFER_SIBLING`. In 6.12, the group of the domain above gets the flags of
///    the domain that stays.
/// 2. If the lowest domain then has no use, it is dropped too, and the group of the next one that represented
///    it loses its flags.
pub(crate) fn drop_degenerate(drafts: &mut DomainDrafts, rings: &mut Rings<'_>, rules: KernelRules) {
    for cpu in drafts.cpus() {
        let chain = drafts.of_mut(cpu);
        let mut kept = 0;
        for above in 1..chain.len() {
            if sd_parent_degenerate(rings, &chain[kept], &chain[above]) {
                chain[above].dropped = true;
                let flags = chain[kept].flags;
                if let Some(next) = chain.get_mut(above + 1).filter(|_| rules.aligns_degenerate_group_flags) {
                    set_own_group_flags(rings, next, flags);
                }
                let inherited = chain[above].flags.contains(SdFlags::PREFER_SIBLING);
                chain[kept].flags.0 |= if inherited { SdFlags::PREFER_SIBLING.0 } else { 0 };
            } else {
                kept = above;
            }
        }
        if chain.first().is_some_and(|base| sd_degenerate(rings, base)) {
            chain[0].dropped = true;
            if let Some(base) = chain.iter_mut().find(|draft| !draft.dropped) {
                set_own_group_flags(rings, base, SdFlags::EMPTY);
            }
        }
    }
}

/// Whether a domain has no use by itself: it has one CPU, or only one group and no flag that acts without a
/// second.
fn sd_degenerate(rings: &Rings<'_>, sd: &DomainDraft) -> bool {
    let several_groups = rings.ring(sd.ring).len() > 1;
    rings.spans.weight(sd.span) == 1
        || !(sd.flags.intersects(SdFlags::NEEDS_GROUPS) && several_groups || sd.flags.contains(SdFlags::WAKE_AFFINE))
}

/// Whether `parent` adds nothing to `sd`: it has no use by itself, or spans the same CPUs and has no acting
/// flag that `sd` lacks.
fn sd_parent_degenerate(rings: &Rings<'_>, sd: &DomainDraft, parent: &DomainDraft) -> bool {
    let spans = rings.spans;
    let single_group = rings.ring(parent.ring).len() == 1;
    let acting = if single_group { parent.flags.without(SdFlags::NEEDS_GROUPS) } else { parent.flags };
    sd_degenerate(rings, parent)
        || spans.cpus(sd.span) == spans.cpus(parent.span) && acting.without(sd.flags) == SdFlags::EMPTY
}

/// Sets the flags of the CPU's own group. Where groups do not overlap, all CPUs of the group see the
/// change; where they overlap, each CPU has groups of its own.
fn set_own_group_flags(rings: &mut Rings<'_>, draft: &mut DomainDraft, flags: SdFlags) {
    if draft.flags.contains(SdFlags::OVERLAP) {
        let mut ring = rings.ring(draft.ring).to_vec();
        ring.rotate_left(draft.own_group);
        ring[0].flags = flags;
        (draft.ring, draft.own_group) = rings.intern(ring);
    } else {
        rings.own_group_mut(draft).flags = flags;
    }
}

/// Moves the remaining drafts into the arenas, and sets the domains that each CPU caches.
pub(crate) fn attach(
    machine: &MachineTopology,
    online: CpuMask,
    table: LevelTable,
    drafts: &DomainDrafts,
    rings: &Rings<'_>,
    jiffies: u64,
) -> SchedDomains {
    let mut arenas = ArenaBuilder::new(rings, &table, jiffies);
    let bases: Vec<_> = drafts.cpus().map(|cpu| arenas.add_chain(drafts.of(cpu))).collect();
    let ArenaBuilder { domains, groups, capacities, shared, .. } = arenas;
    let max_cpu_capacity = online.iter().map(|cpu| machine.capacity[cpu.index()]).max().unwrap_or(0);
    let cores = CpuUnits::by_number(&online, |cpu| machine.cpus[cpu.index()].core);
    let root = RootDomain { span: online.clone(), online, overload: false, overutilized: false, max_cpu_capacity };
    let mut sds = SchedDomains {
        domains,
        groups,
        capacities,
        shared,
        cpus: Arena::new(),
        root,
        asym_cpucapacity: drafts.iter().any(|draft| draft.flags.contains(SdFlags::ASYM_CPUCAPACITY)),
        cluster_active: false,
        smt_present: cores.masks().iter().any(|cpus| cpus.weight() > 1),
        cores,
        nodes: table.nodes,
        numa_topology: table.numa_topology,
    };
    sds.cpus = drafts.cpus().zip(bases).map(|(cpu, base)| CpuDomains::without_caches(cpu, base)).collect();
    for cpu in drafts.cpus() {
        update_top_cache_domain(&mut sds, cpu);
        sds.cluster_active |= sds.lowest_flag_domain(cpu, SdFlags::CLUSTER).is_some();
    }
    count_cores(&mut sds);
    sds
}

/// Counts the cores of each group.
fn count_cores(sds: &mut SchedDomains) {
    let SchedDomains { groups, cores, .. } = sds;
    for group in groups.iter_mut() {
        let is_first = |cpu: &CpuId| cores.mask_of(*cpu).first_and(&group.span) == Some(*cpu);
        group.cores = group.span.iter().filter(is_first).count() as u32;
    }
}

impl CpuDomains {
    /// Creates the entry of a CPU before `update_top_cache_domain()`.
    const fn without_caches(cpu: CpuId, base: Option<DomainId>) -> Self {
        Self {
            base,
            sd_llc: None,
            sd_llc_size: 1,
            sd_llc_id: cpu,
            sd_share_id: cpu,
            sd_llc_shared: None,
            sd_numa: None,
            sd_asym_packing: None,
            sd_asym_cpucapacity: None,
        }
    }
}

fn update_top_cache_domain(sds: &mut SchedDomains, cpu: CpuId) {
    let mut cached = sds.cpus[cpu];
    cached.sd_llc = sds.highest_flag_domain(cpu, SdFlags::SHARE_PKG_RESOURCES);
    if let Some(llc) = cached.sd_llc.map(|llc| &sds.domains[llc]) {
        cached.sd_llc_size = llc.span_weight;
        cached.sd_llc_id = llc.span.first().expect("a domain spans its own cpu");
        cached.sd_llc_shared = llc.shared;
    }
    let cluster = sds.lowest_flag_domain(cpu, SdFlags::CLUSTER).and_then(|sd| sds.domains[sd].span.first());
    cached.sd_share_id = cluster.unwrap_or(cached.sd_llc_id);
    cached.sd_numa = sds.lowest_flag_domain(cpu, SdFlags::NUMA);
    cached.sd_asym_packing = sds.highest_flag_domain(cpu, SdFlags::ASYM_PACKING);
    cached.sd_asym_cpucapacity = sds.lowest_flag_domain(cpu, SdFlags::ASYM_CPUCAPACITY_FULL);
    sds.cpus[cpu] = cached;
}

/// Arenas while they are filled.
struct ArenaBuilder<'a> {
    rings: &'a Rings<'a>,
    table: &'a LevelTable,
    jiffies: u64,
    domains: Arena<DomainId, SchedDomain>,
    groups: Arena<SchedGroupId, SchedGroup>,
    capacities: Arena<CapacityId, SchedGroupCapacity>,
    shared: Arena<SharedId, SchedDomainShared>,
    /// By ring: index of its first group.
    ring_begin: Vec<Option<usize>>,
    /// By [`Rings::place`]: id of the capacity, once it is added.
    capacity_at: Vec<Option<CapacityId>>,
    /// By level and first CPU of the unit: id of the shared state.
    shared_at: BTreeMap<(usize, CpuId), SharedId>,
}

impl<'a> ArenaBuilder<'a> {
    fn new(rings: &'a Rings<'a>, table: &'a LevelTable, jiffies: u64) -> Self {
        Self {
            rings,
            table,
            jiffies,
            domains: Arena::new(),
            groups: Arena::new(),
            capacities: Arena::new(),
            shared: Arena::new(),
            ring_begin: vec![None; rings.len()],
            capacity_at: vec![None; rings.nr_places()],
            shared_at: BTreeMap::new(),
        }
    }

    /// Adds the domains that a CPU keeps, and returns the lowest one.
    fn add_chain(&mut self, chain: &[DomainDraft]) -> Option<DomainId> {
        let mut child: Option<DomainId> = None;
        let mut base = None;
        for draft in chain.iter().filter(|draft| !draft.dropped) {
            let sd = self.new_domain(draft, child);
            let id = self.domains.push(sd);
            if let Some(child) = child {
                self.domains[child].parent = Some(id);
            }
            base = base.or(Some(id));
            child = Some(id);
        }
        base
    }

    fn new_domain(&mut self, draft: &DomainDraft, child: Option<DomainId>) -> SchedDomain {
        let spans = self.rings.spans;
        let begin = self.ring_begin(draft.ring, draft.flags.contains(SdFlags::ASYM_PACKING));
        let shared = draft.flags.contains(SdFlags::SHARE_PKG_RESOURCES).then(|| self.shared(draft));
        SchedDomain {
            cpu: draft.cpu,
            level: draft.level as u32,
            name: self.table.levels[draft.level].name,
            parent: None,
            child,
            groups: SchedGroupId::from_index(begin + draft.own_group),
            span: spans.cpus(draft.span).clone(),
            span_weight: spans.weight(draft.span),
            flags: draft.flags,
            imbalance_pct: draft.imbalance_pct,
            busy_factor: 16,
            min_interval_ms: draft.unit_weight,
            max_interval_ms: 2 * draft.unit_weight,
            cache_nice_tries: draft.cache_nice_tries,
            imb_numa_nr: draft.imb_numa_nr,
            shared,
            nohz_idle: false,
            last_balance: self.jiffies,
            balance_interval: draft.unit_weight,
            nr_balance_failed: 0,
            newidle_call: 512,
            newidle_success: 256,
            newidle_ratio: 512,
            max_newidle_lb_cost: 0,
            last_decay_max_lb_cost: self.jiffies,
            avg_scan_cost: 0,
            stats: DomainStats::default(),
        }
    }

    fn shared(&mut self, draft: &DomainDraft) -> SharedId {
        let nr_busy_cpus = draft.unit_weight as i32;
        let shared = &mut self.shared;
        *self
            .shared_at
            .entry((draft.level, draft.unit_first))
            .or_insert_with(|| shared.push(SchedDomainShared { nr_busy_cpus, has_idle_cores: false, nr_idle_scan: 0 }))
    }

    fn ring_begin(&mut self, ring: RingId, packing: bool) -> usize {
        if let Some(begin) = self.ring_begin[ring.index()] {
            return begin;
        }
        let begin = self.groups.len();
        let members = self.rings.ring(ring);
        for (place, group) in members.iter().enumerate() {
            let next = SchedGroupId::from_index(begin + (place + 1) % members.len());
            let mut group = self.new_group(group, next);
            if packing {
                group.asym_prefer_cpu = self.rings.preferred(&group.span);
            }
            self.groups.push(group);
        }
        self.ring_begin[ring.index()] = Some(begin);
        begin
    }

    fn new_group(&mut self, group: &RingGroup, next: SchedGroupId) -> SchedGroup {
        let rings = self.rings;
        let span = match group.cpus {
            GroupCpus::One(cpu) => CpuMask::from_cpus(rings.nr_cpus(), [cpu]),
            GroupCpus::Span(span) => rings.spans.cpus(span).clone(),
        };
        let balance_mask =
            group.balance_mask.map_or_else(|| span.clone(), |mask| rings.balance_masks[mask as usize].clone());
        SchedGroup {
            next,
            group_weight: rings.weight(group),
            cores: 0,
            capacity: self.capacity(group),
            asym_prefer_cpu: CpuId(0),
            flags: group.flags,
            balance_cpu: group.balance_cpu,
            span,
            balance_mask,
        }
    }

    fn capacity(&mut self, group: &RingGroup) -> CapacityId {
        let at = &mut self.capacity_at[self.rings.place(group)];
        if let Some(id) = *at {
            return id;
        }
        let DraftCapacity { capacity, min_capacity, max_capacity, next_update } = *self.rings.capacity(group);
        let id = group.balance_cpu;
        let capacity = SchedGroupCapacity { capacity, min_capacity, max_capacity, next_update, imbalance: false, id };
        *at.insert(self.capacities.push(capacity))
    }
}
