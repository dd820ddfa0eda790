// SPDX-License-Identifier: GPL-2.0-or-later
//! List of a CPU's cfs_rqs that have load, children before parents: the kernel's `rq->leaf_cfs_rq_list`.
//!
//! Models `list_add_leaf_cfs_rq()` and `list_del_leaf_cfs_rq()` (6.1). Updating blocked load goes through the
//! list in order, so a child has to be before its parent. While a branch of the group tree is enqueued from
//! the bottom, the parent of the added part may not be in the list yet; `tmp_alone_branch` remembers where
//! that part ends.

use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::types::arena::Arena;
use crate::types::ids::CfsRqId;
use crate::types::kernel_rules::KernelRules;

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

impl FairTree {
    /// cfs_rq of the parent group on the same CPU.
    pub(crate) fn parent_cfs_rq(&self, id: CfsRqId) -> Option<CfsRqId> {
        let cfs_rq = &self.cfs_rqs[id];
        self.groups[cfs_rq.group].parent.map(|parent| self.cfs_rq_of_group(parent, cfs_rq.cpu))
    }

    /// Adds a cfs_rq to the list. Returns whether its branch is complete.
    ///
    /// Rules, in order:
    /// 1. A member stays at its position.
    /// 2. If the parent is a member, the cfs_rq is inserted just before it, and the branch is complete.
    /// 3. A root cfs_rq is inserted at the end, and the branch is complete.
    /// 4. Any other cfs_rq is inserted behind the part of the branch added so far, which waits for the
    ///    parent.
    pub(crate) fn list_add_leaf_cfs_rq(&mut self, rq: &mut Rq, id: CfsRqId) -> bool {
        let cfs_rq = &mut self.cfs_rqs[id];
        if core::mem::replace(&mut cfs_rq.on_list, true) {
            return !rq.leaf_list.has_unfinished_branch();
        }
        let parent = self.parent_cfs_rq(id);
        let (cfs_rqs, list) = (&mut self.cfs_rqs, &mut rq.leaf_list);
        match parent {
            Some(parent) if !cfs_rqs[parent].on_list => {
                let prev = list.tmp_alone_branch;
                let next = list.links_mut(cfs_rqs, prev).next;
                list.insert(cfs_rqs, id, LeafLinks { prev, next });
                list.tmp_alone_branch = Some(id);
                false
            }
            next => {
                let prev = list.links_mut(cfs_rqs, next).prev;
                list.insert(cfs_rqs, id, LeafLinks { prev, next });
                list.tmp_alone_branch = None;
                true
            }
        }
    }

    /// Whether a child is just before this cfs_rq, or before the position that it would get:
    /// `child_cfs_rq_on_list()`.
    pub(crate) fn child_cfs_rq_on_list(&self, rq: &Rq, id: CfsRqId) -> bool {
        let cfs_rq = &self.cfs_rqs[id];
        let before = if cfs_rq.on_list { cfs_rq.leaf.prev } else { rq.leaf_list.tmp_alone_branch };
        before.is_some_and(|before| self.groups[self.cfs_rqs[before].group].parent == Some(cfs_rq.group))
    }

    /// Whether a cfs_rq has no weight, no sums, and no child in the list just before it.
    pub(crate) fn cfs_rq_is_decayed(&self, rq: &Rq, rules: &KernelRules, id: CfsRqId) -> bool {
        let cfs_rq = &self.cfs_rqs[id];
        let has_share = rules.lists_cfs_rq_with_share && cfs_rq.tg_load_avg_contrib != 0;
        cfs_rq.load.weight == 0 && cfs_rq.avg.is_decayed() && !self.child_cfs_rq_on_list(rq, id) && !has_share
    }
}

impl LeafList {
    /// First member: a cfs_rq without children in the list.
    pub(crate) const fn first(&self) -> Option<CfsRqId> {
        self.ends.next
    }

    /// Whether a branch that was added from the bottom is still without its upper part.
    pub(crate) const fn has_unfinished_branch(&self) -> bool {
        self.tmp_alone_branch.is_some()
    }

    /// Removes a cfs_rq from the list, if it is a member (`list_del_leaf_cfs_rq()`).
    pub(crate) fn remove(&mut self, cfs_rqs: &mut Arena<CfsRqId, CfsRq>, id: CfsRqId) {
        let cfs_rq = &mut cfs_rqs[id];
        if !core::mem::take(&mut cfs_rq.on_list) {
            return;
        }
        let LeafLinks { prev, next } = cfs_rq.leaf;
        if self.tmp_alone_branch == Some(id) {
            self.tmp_alone_branch = prev;
        }
        self.links_mut(cfs_rqs, prev).next = next;
        self.links_mut(cfs_rqs, next).prev = prev;
    }

    fn insert(&mut self, cfs_rqs: &mut Arena<CfsRqId, CfsRq>, id: CfsRqId, links: LeafLinks) {
        cfs_rqs[id].leaf = links;
        self.links_mut(cfs_rqs, links.prev).next = Some(id);
        self.links_mut(cfs_rqs, links.next).prev = Some(id);
    }

    /// Links of a member, or of the head of the list.
    fn links_mut<'a>(
        &'a mut self,
        cfs_rqs: &'a mut Arena<CfsRqId, CfsRq>,
        member: Option<CfsRqId>,
    ) -> &'a mut LeafLinks {
        match member {
            Some(id) => &mut cfs_rqs[id].leaf,
            None => &mut self.ends,
        }
    }
}

impl CfsRq {
    /// Member of the list behind this one.
    pub(crate) const fn next_leaf(&self) -> Option<CfsRqId> {
        self.leaf.next
    }
}
