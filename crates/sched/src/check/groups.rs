// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of task groups: their load, their weights, and the lists of cfs_rqs that have load.

use crate::check::{CheckResult, ensure};
use crate::paths::sched::Sched;
use crate::state::entity::EntityOwner;
use crate::types::ids::{CfsRqId, CpuId, GroupId};
use crate::types::weight::SHARES_RANGE;
use alloc::vec::Vec;

/// Checks all groups. `most_shares` contains, for each group, the highest number of shares that it has had so
/// far.
///
/// An entity may still have the weight of shares that were taken away, because the kernel does not update a
/// throttled hierarchy (`update_cfs_group()`).
pub(crate) fn check(sched: &Sched, most_shares: &mut Vec<u64>) -> CheckResult {
    most_shares.resize(sched.fair.groups.len(), 0);
    for (index, most) in most_shares.iter_mut().enumerate() {
        *most = sched.fair.groups[GroupId::from_index(index)].shares.max(*most);
        check_group(sched, GroupId::from_index(index), *most)?;
    }
    for cpu in sched.cpu_ids() {
        check_leaf_list(sched, cpu)?;
    }
    Ok(())
}

fn check_group(sched: &Sched, id: GroupId, most_shares: u64) -> CheckResult {
    let group = &sched.fair.groups[id];
    let mut load_avg = 0i64;
    for cpu in sched.cpu_ids() {
        let below = sched.fair.cfs_rq_of_group(id, cpu);
        let cfs_rq = &sched.fair.cfs_rqs[below];
        ensure!((cfs_rq.cpu, cfs_rq.group) == (cpu, id), "{below:?} is not the cfs_rq of {id:?} on {cpu:?}");
        load_avg = load_avg.wrapping_add(cfs_rq.tg_load_avg_contrib as i64);
        let Some(entity) = cfs_rq.entity else { continue };
        let se = &sched.fair.entities[entity];
        ensure!(se.owner == EntityOwner::Group(below), "{entity:?} of {below:?} represents {:?}", se.owner);
        ensure!(
            cfs_rq.is_idle == group.is_idle,
            "is_idle of {below:?} is {}, but that of {id:?} is {}",
            cfs_rq.is_idle,
            group.is_idle
        );
        let weight = se.load.weight;
        ensure!(
            weight >= *SHARES_RANGE.start() && weight <= most_shares.max(crate::types::weight::NICE_0_LOAD),
            "{entity:?} of {id:?} with {} shares, at most {most_shares} so far, has weight {weight}",
            group.shares
        );
    }
    ensure!(
        load_avg == group.load_avg,
        "load_avg of {id:?} is {}, but its cfs_rqs contribute {load_avg}",
        group.load_avg
    );
    Ok(())
}

/// Checks the list of cfs_rqs with load: each is there once, children before parents, none is missing, and no
/// branch is unfinished.
fn check_leaf_list(sched: &Sched, cpu: CpuId) -> CheckResult {
    ensure!(!sched.rqs[cpu].leaf_list.has_unfinished_branch(), "a branch of the list of {cpu:?} has no parent");
    let of_cpu = (0..sched.fair.groups.len()).map(|group| sched.fair.cfs_rq_of_group(GroupId::from_index(group), cpu));
    let nr_marked = of_cpu.clone().filter(|id| sched.fair.cfs_rqs[*id].on_list()).count();
    let members = core::iter::successors(sched.rqs[cpu].leaf_list.first(), |&id| sched.fair.cfs_rqs[id].next_leaf());
    let mut nr_members = 0;
    for id in members.take(nr_marked + 1) {
        nr_members += 1;
        let cfs_rq = &sched.fair.cfs_rqs[id];
        ensure!(
            cfs_rq.on_list() && cfs_rq.cpu == cpu,
            "{id:?} is in the list of {cpu:?}, but is not marked as a member"
        );
        if let Some(parent) = sched.fair.parent_cfs_rq(id) {
            ensure!(
                is_behind(sched, id, parent, nr_marked) || may_be_missing(sched, parent),
                "{id:?} is in the list of {cpu:?}, but its parent {parent:?} is not behind it"
            );
        }
    }
    ensure!(
        nr_members == nr_marked,
        "the list of {cpu:?} has length {nr_members}, but the number of marked cfs_rqs is {nr_marked}"
    );
    for id in of_cpu {
        let cfs_rq = &sched.fair.cfs_rqs[id];
        ensure!(
            cfs_rq.on_list() || cfs_rq.nr_running == 0 || cfs_rq.throttle_count > 0,
            "{id:?} of {cpu:?} has nr_running {} and is not in the list",
            cfs_rq.nr_running
        );
    }
    Ok(())
}

/// Whether the parent of a list member may be missing.
///
/// A parent leaves the list once it is empty and decayed, unless the member just before it is a child. A
/// child farther away, with another branch in between, may remain with the rest of its averages.
fn may_be_missing(sched: &Sched, parent: CfsRqId) -> bool {
    let parent = &sched.fair.cfs_rqs[parent];
    !parent.on_list() && parent.load.weight == 0 && parent.avg.is_decayed()
}

fn is_behind(sched: &Sched, id: CfsRqId, parent: CfsRqId, nr_members: usize) -> bool {
    core::iter::successors(sched.fair.cfs_rqs[id].next_leaf(), |&id| sched.fair.cfs_rqs[id].next_leaf())
        .take(nr_members)
        .any(|member| member == parent)
}
