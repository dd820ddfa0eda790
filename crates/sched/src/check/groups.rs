// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants of task groups: their load, their weights, and the lists of cfs_rqs that have load.

use crate::check::{Checked, ensure};
use crate::paths::sched::Sched;
use crate::state::entity::Owner;
use crate::types::ids::{CfsRqId, CpuId, GroupId};
use crate::types::weight::SHARES_RANGE;
use alloc::vec::Vec;

/// `most_shares` has, for each group, the most shares that it has had so far. An entity may still have the weight of a share
/// that was taken away: the kernel leaves a hierarchy alone while it is throttled (`update_cfs_group()`).
pub(crate) fn check(sched: &Sched, most_shares: &mut Vec<u64>) -> Checked {
    most_shares.resize(sched.groups.len(), 0);
    for (index, most) in most_shares.iter_mut().enumerate() {
        *most = sched.groups[index].shares.max(*most);
        check_group(sched, GroupId::from_index(index), *most)?;
    }
    for cpu in sched.cpu_ids() {
        check_leaf_list(sched, cpu)?;
    }
    Ok(())
}

fn check_group(sched: &Sched, id: GroupId, most_shares: u64) -> Checked {
    let group = &sched.groups[id.index()];
    let mut load_avg = 0i64;
    for cpu in sched.cpu_ids() {
        let below = sched.cfs_rq_of_group(id, cpu);
        let cfs_rq = &sched.cfs_rqs[below.index()];
        ensure!((cfs_rq.cpu, cfs_rq.group) == (cpu, id), "{below:?} is not that of {id:?} on {cpu:?}");
        load_avg = load_avg.wrapping_add(cfs_rq.tg_load_avg_contrib as i64);
        let Some(entity) = cfs_rq.entity else { continue };
        let se = &sched.entities[entity.index()];
        ensure!(se.owner == Owner::Group(below), "{entity:?} of {below:?} stands for {:?}", se.owner);
        ensure!(cfs_rq.is_idle == group.is_idle, "{below:?} is idle: {}, {id:?}: {}", cfs_rq.is_idle, group.is_idle);
        let weight = se.load.weight;
        ensure!(
            weight >= *SHARES_RANGE.start() && weight <= most_shares.max(crate::types::weight::NICE_0_LOAD),
            "{entity:?} of {id:?} with {} shares, at most {most_shares} so far, has weight {weight}",
            group.shares
        );
    }
    ensure!(load_avg == group.load_avg, "{id:?} has load {}, its cfs_rqs have given it {load_avg}", group.load_avg);
    Ok(())
}

/// The list has each cfs_rq once, children before parents, and every one that must be there; no branch is unfinished.
fn check_leaf_list(sched: &Sched, cpu: CpuId) -> Checked {
    ensure!(!sched.has_unfinished_branch(cpu), "a branch of {cpu:?} waits for its parent");
    let of_cpu = (0..sched.groups.len()).map(|group| sched.cfs_rq_of_group(GroupId::from_index(group), cpu));
    let nr_marked = of_cpu.clone().filter(|id| sched.cfs_rqs[id.index()].on_list).count();
    let members = core::iter::successors(sched.first_leaf_cfs_rq(cpu), |&id| sched.next_leaf_cfs_rq(id));
    let mut nr_members = 0;
    for id in members.take(nr_marked + 1) {
        nr_members += 1;
        let cfs_rq = &sched.cfs_rqs[id.index()];
        ensure!(cfs_rq.on_list && cfs_rq.cpu == cpu, "{id:?} is in the list of {cpu:?}, but not marked so");
        if let Some(parent) = sched.parent_cfs_rq(id) {
            ensure!(
                is_behind(sched, id, parent, nr_marked) || may_be_missing(sched, parent),
                "{id:?} is in the list of {cpu:?}, but its parent {parent:?} is not behind it"
            );
        }
    }
    ensure!(
        nr_members == nr_marked,
        "{nr_marked} cfs_rqs of {cpu:?} are marked as in its list, {nr_members} are there"
    );
    for id in of_cpu {
        let cfs_rq = &sched.cfs_rqs[id.index()];
        ensure!(
            cfs_rq.on_list || cfs_rq.nr_running == 0 || cfs_rq.throttle_count > 0,
            "{id:?} of {cpu:?} has {} entities and is not in the list",
            cfs_rq.nr_running
        );
    }
    Ok(())
}

/// A parent leaves the list once it is empty and decayed, unless the member just before it is a child. A child that stands
/// farther away, with another branch between, may so stay behind with the rest of its averages.
fn may_be_missing(sched: &Sched, parent: CfsRqId) -> bool {
    let parent = &sched.cfs_rqs[parent.index()];
    !parent.on_list && parent.load.weight == 0 && parent.avg.is_decayed()
}

fn is_behind(sched: &Sched, id: CfsRqId, parent: CfsRqId, nr_members: usize) -> bool {
    core::iter::successors(sched.next_leaf_cfs_rq(id), |&id| sched.next_leaf_cfs_rq(id))
        .take(nr_members)
        .any(|member| member == parent)
}
