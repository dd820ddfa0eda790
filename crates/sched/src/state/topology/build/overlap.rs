// SPDX-License-Identifier: GPL-2.0-or-later
//! Groups of domains that span NUMA nodes, which may overlap.
//!
//! Models `build_overlap_sched_groups()`, `build_balance_mask()` and `find_descended_sibling()` (6.1). Rules
//! for the domain of a CPU, in order:
//! 1. From the CPU on and around, the next CPU of the span that no group covers yet provides the next group:
//!    the domain below its own domain of this level.
//! 2. If that group reaches beyond the span, the search descends to lower levels of that CPU until it does
//!    not.
//! 3. Only CPUs whose domain below the level equals the group balance for it and represent its capacity.

use crate::state::topology::BuildError;
use crate::state::topology::build::draft::DomainDrafts;
use crate::state::topology::build::groups::{GroupCpus, RingGroup, Rings};
use crate::state::topology::build::spans::{SpanId, Spans};
use crate::state::topology::level::Level;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Builds the groups of all domains that may overlap.
///
/// # Errors
/// If no domain of a CPU fits into the span, which happens only when a unit below the nodes lies in
///   several of them.
pub(crate) fn build_overlap_sched_groups(
    drafts: &mut DomainDrafts,
    rings: &mut Rings<'_>,
    levels: &[Level],
) -> Result<(), BuildError> {
    let spans = rings.spans;
    let mut balancers = BTreeMap::new();
    for number in (0..spans.nr_levels()).filter(|&number| levels[number].overlap) {
        let here = CpuMask::from_cpus(drafts.nr_cpus(), drafts.cpus().filter(|&cpu| spans.at(number, cpu).is_some()));
        let mut uncovered = here.clone();
        for cpu in here.iter() {
            let span = spans.at(number, cpu).expect("the cpu has a domain here");
            uncovered.assign_and(spans.cpus(span), &here);
            let mut ring = Vec::new();
            while let Some(next) = uncovered.next_wrap(cpu) {
                let crossing = || BuildError::UnitsCross { level: levels[number].name, cpu: next };
                let (level, child) = find_descended_sibling(spans, number, next, span).ok_or_else(crossing)?;
                let group = overlap_group(drafts, rings, &mut balancers, next, level, child);
                uncovered.and_not_with(spans.cpus(child));
                rings.set_nominal_capacity(&group);
                ring.push(group);
            }
            let (ring, own_group) = rings.intern(ring);
            let draft = &mut drafts.of_mut(cpu)[number];
            (draft.ring, draft.own_group) = (ring, own_group);
        }
    }
    Ok(())
}

/// Returns the widest domain of `cpu` below `level` that lies within `span`, and the level above that
/// domain's.
fn find_descended_sibling(spans: &Spans, level: usize, cpu: CpuId, span: SpanId) -> Option<(usize, SpanId)> {
    (1..=level).rev().find_map(|level| {
        let child = spans.below(level, cpu)?;
        spans.cpus(child).is_subset_of(spans.cpus(span)).then_some((level, child))
    })
}

/// Balancing CPUs of the groups over a span at a level: the index of their mask, if it is not the span
/// itself, and the first CPU.
type Balancers = BTreeMap<(usize, SpanId), (Option<u32>, CpuId)>;

fn overlap_group(
    drafts: &DomainDrafts,
    rings: &mut Rings<'_>,
    balancers: &mut Balancers,
    cpu: CpuId,
    level: usize,
    child: SpanId,
) -> RingGroup {
    let (balance_mask, balance_cpu) =
        *balancers.entry((level, child)).or_insert_with(|| build_balance_mask(rings, level, child));
    let flags = drafts.of(cpu)[level - 1].flags;
    RingGroup { cpus: GroupCpus::Span(child), flags, level, balance_cpu, balance_mask }
}

fn build_balance_mask(rings: &mut Rings<'_>, level: usize, child: SpanId) -> (Option<u32>, CpuId) {
    let spans = rings.spans;
    let balances = |cpu: &CpuId| spans.at(level, *cpu).is_some() && spans.below(level, *cpu) == Some(child);
    let group = spans.cpus(child);
    let mask = CpuMask::from_cpus(group.nr_cpus(), group.iter().filter(balances));
    let first = mask.first().expect("the cpu whose domain gave the group balances for it");
    if mask == *group {
        return (None, first);
    }
    rings.balance_masks.push(mask);
    (Some(rings.balance_masks.len() as u32 - 1), first)
}
