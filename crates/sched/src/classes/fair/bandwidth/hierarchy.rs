// SPDX-License-Identifier: GPL-2.0-or-later
//! Traversals of a group and all groups below it, and whether a group is throttled.
//!
//! Models the two traversals of `walk_tg_tree_from()` (6.1) that throttling needs. Children are visited in
//! the kernel's order, the newest first, because the order determines the order of cfs_rqs in the leaf list.

use crate::state::fair_tree::FairTree;
use crate::types::ids::{CpuId, GroupId};

impl FairTree {
    /// Returns the next group of a traversal of everything below `top`, parents before children.
    pub(crate) fn next_downwards(&self, top: GroupId, mut group: GroupId) -> Option<GroupId> {
        if let Some(child) = self.groups[group].first_child {
            return Some(child);
        }
        while group != top {
            let this = &self.groups[group];
            if this.next_sibling.is_some() {
                return this.next_sibling;
            }
            group = this.parent.expect("everything below a group has a parent");
        }
        None
    }

    /// Returns the first group of a traversal with children before parents.
    pub(crate) fn first_upwards(&self, mut group: GroupId) -> GroupId {
        while let Some(child) = self.groups[group].first_child {
            group = child;
        }
        group
    }

    /// Returns the next group of a traversal of everything below `top`, children before parents.
    pub(crate) fn next_upwards(&self, top: GroupId, group: GroupId) -> Option<GroupId> {
        if group == top {
            return None;
        }
        let this = &self.groups[group];
        this.next_sibling.map(|sibling| self.first_upwards(sibling)).or(this.parent)
    }

    /// Returns the nearest throttled group on a CPU, from `group` upwards.
    pub(crate) fn throttled_group(&self, mut group: GroupId, cpu: CpuId) -> Option<GroupId> {
        if !self.cfs_rqs[self.cfs_rq_of_group(group, cpu)].is_throttled_hierarchy() {
            return None;
        }
        while !self.cfs_rqs[self.cfs_rq_of_group(group, cpu)].throttled {
            group = self.groups[group].parent?;
        }
        Some(group)
    }

    /// Whether a group is throttled at the source or at the destination (`throttled_lb_pair()`).
    pub(crate) fn is_throttled_pair(&self, group: GroupId, src: CpuId, dst: CpuId) -> bool {
        [src, dst].iter().any(|&cpu| self.cfs_rqs[self.cfs_rq_of_group(group, cpu)].is_throttled_hierarchy())
    }
}
