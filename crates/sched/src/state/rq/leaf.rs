// SPDX-License-Identifier: GPL-2.0-or-later
//! List of a CPU's cfs_rqs that have load, children before parents: the kernel's `rq->leaf_cfs_rq_list`.
//!
//! Models `list_add_leaf_cfs_rq()` and `list_del_leaf_cfs_rq()` (6.1). Updating blocked load goes through the
//! list in order, so a child has to be before its parent. While a branch of the group tree is enqueued from
//! the bottom, the parent of the added part may not be in the list yet; `tmp_alone_branch` remembers where
//! that part ends.

use crate::state::State;
use crate::types::ids::{CfsRqId, CpuId, GroupId};

/// Neighbours in the list; `None` is the head of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafLinks {
    prev: Option<CfsRqId>,
    next: Option<CfsRqId>,
}

/// Head of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafList {
    /// First and last member.
    ends: LeafLinks,
    /// Member after which the next one of an unfinished branch is inserted; the head if no branch is
    /// unfinished.
    tmp_alone_branch: Option<CfsRqId>,
}

impl State {
    /// Adds a cfs_rq to the list. Returns whether its branch is complete.
    ///
    /// Rules, in order:
    /// 1. A member stays at its position.
    /// 2. If the parent is a member, the cfs_rq is inserted just before it, and the branch is complete.
    /// 3. A root cfs_rq is inserted at the end, and the branch is complete.
    /// 4. Any other cfs_rq is inserted behind the part of the branch added so far, which waits for the
    ///    parent.
    pub(crate) fn list_add_leaf_cfs_rq(&mut self, id: CfsRqId) -> bool {
        let cpu = self.cfs_rqs[id].cpu;
        if self.cfs_rqs[id].on_list {
            return self.rqs[cpu].leaf_list.tmp_alone_branch.is_none();
        }
        self.cfs_rqs[id].on_list = true;
        let parent = self.parent_cfs_rq(id);
        match parent {
            Some(parent) if !self.cfs_rqs[parent].on_list => {
                let after = self.rqs[cpu].leaf_list.tmp_alone_branch;
                let next = self.leaf_next(cpu, after);
                self.leaf_insert(cpu, id, after, next);
                self.rqs[cpu].leaf_list.tmp_alone_branch = Some(id);
                false
            }
            before => {
                let prev = self.leaf_prev(cpu, before);
                self.leaf_insert(cpu, id, prev, before);
                self.rqs[cpu].leaf_list.tmp_alone_branch = None;
                true
            }
        }
    }

    /// Removes a cfs_rq from the list, if it is a member.
    pub(crate) fn list_del_leaf_cfs_rq(&mut self, id: CfsRqId) {
        let cfs_rq = &mut self.cfs_rqs[id];
        if !cfs_rq.on_list {
            return;
        }
        cfs_rq.on_list = false;
        let (cpu, LeafLinks { prev, next }) = (cfs_rq.cpu, cfs_rq.leaf);
        let list = &mut self.rqs[cpu].leaf_list;
        if list.tmp_alone_branch == Some(id) {
            list.tmp_alone_branch = prev;
        }
        self.leaf_links_mut(cpu, prev).next = next;
        self.leaf_links_mut(cpu, next).prev = prev;
    }

    /// First member: a cfs_rq without children in the list.
    pub(crate) fn first_leaf_cfs_rq(&self, cpu: CpuId) -> Option<CfsRqId> {
        self.rqs[cpu].leaf_list.ends.next
    }

    /// Member behind a cfs_rq.
    pub(crate) fn next_leaf_cfs_rq(&self, id: CfsRqId) -> Option<CfsRqId> {
        self.cfs_rqs[id].leaf.next
    }

    /// Whether a branch that was added from the bottom is still without its upper part.
    pub(crate) fn has_unfinished_branch(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].leaf_list.tmp_alone_branch.is_some()
    }

    /// Whether a child is just before this cfs_rq, or before the position that it would get:
    /// `child_cfs_rq_on_list()`.
    pub(crate) fn child_cfs_rq_on_list(&self, id: CfsRqId) -> bool {
        let cfs_rq = &self.cfs_rqs[id];
        let before = if cfs_rq.on_list { cfs_rq.leaf.prev } else { self.rqs[cfs_rq.cpu].leaf_list.tmp_alone_branch };
        before.is_some_and(|before| self.parent_group(self.cfs_rqs[before].group) == Some(cfs_rq.group))
    }

    /// cfs_rq of the parent group on the same CPU.
    pub(crate) fn parent_cfs_rq(&self, id: CfsRqId) -> Option<CfsRqId> {
        let cfs_rq = &self.cfs_rqs[id];
        self.parent_group(cfs_rq.group).map(|parent| self.cfs_rq_of_group(parent, cfs_rq.cpu))
    }

    fn parent_group(&self, group: GroupId) -> Option<GroupId> {
        self.groups[group].parent
    }

    fn leaf_links_mut(&mut self, cpu: CpuId, member: Option<CfsRqId>) -> &mut LeafLinks {
        match member {
            Some(id) => &mut self.cfs_rqs[id].leaf,
            None => &mut self.rqs[cpu].leaf_list.ends,
        }
    }

    fn leaf_next(&mut self, cpu: CpuId, member: Option<CfsRqId>) -> Option<CfsRqId> {
        self.leaf_links_mut(cpu, member).next
    }

    fn leaf_prev(&mut self, cpu: CpuId, member: Option<CfsRqId>) -> Option<CfsRqId> {
        self.leaf_links_mut(cpu, member).prev
    }

    fn leaf_insert(&mut self, cpu: CpuId, id: CfsRqId, prev: Option<CfsRqId>, next: Option<CfsRqId>) {
        self.cfs_rqs[id].leaf = LeafLinks { prev, next };
        self.leaf_links_mut(cpu, prev).next = Some(id);
        self.leaf_links_mut(cpu, next).prev = Some(id);
    }
}
