// SPDX-License-Identifier: GPL-2.0-or-later
//! Walks over a group and all groups below it.
//!
//! Models the two walks of `walk_tg_tree_from()` (6.1) that throttling needs. Children come in the kernel's order, the
//! newest first, because the order decides where cfs_rqs stand in the list of those that have load.

use crate::state::State;
use crate::types::ids::GroupId;

impl State {
    /// The group after `group` in a walk over everything below `top`, parents before children.
    pub(crate) fn next_downwards(&self, top: GroupId, mut group: GroupId) -> Option<GroupId> {
        if let Some(child) = self.groups[group.index()].first_child {
            return Some(child);
        }
        while group != top {
            let this = &self.groups[group.index()];
            if this.next_sibling.is_some() {
                return this.next_sibling;
            }
            group = this.parent.expect("everything below a group has a parent");
        }
        None
    }

    /// Where a walk begins that visits children before parents.
    pub(crate) fn first_upwards(&self, mut group: GroupId) -> GroupId {
        while let Some(child) = self.groups[group.index()].first_child {
            group = child;
        }
        group
    }

    /// The group after `group` in a walk over everything below `top`, children before parents.
    pub(crate) fn next_upwards(&self, top: GroupId, group: GroupId) -> Option<GroupId> {
        if group == top {
            return None;
        }
        let this = &self.groups[group.index()];
        this.next_sibling.map(|sibling| self.first_upwards(sibling)).or(this.parent)
    }
}
