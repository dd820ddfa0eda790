// SPDX-License-Identifier: GPL-2.0-or-later
//! Tree of the fair class: groups, their cfs_rqs on each CPU, and the entities on these, of tasks and of groups.
//!
//! The layers above add to [`FairTree`] what needs nothing else. A method that also acts on a runqueue, or that follows a
//! tunable, gets this one value as a parameter.

use crate::state::entity::SchedEntity;
use crate::state::group::TaskGroup;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::rq::slice_tree::SliceTree;
use crate::state::rq::timeline::Timeline;
use crate::types::arena::Arena;
use crate::types::ids::{CfsRqId, CpuId, EntityId, GroupId};

/// Groups, cfs_rqs and entities of the fair class.
#[derive(Clone, Debug)]
pub struct FairTree {
    pub(crate) entities: Arena<EntityId, SchedEntity>,
    /// For each group, those of all CPUs; the root group comes first.
    pub(crate) cfs_rqs: Arena<CfsRqId, CfsRq>,
    pub(crate) groups: Arena<GroupId, TaskGroup>,
    pub(in crate::state) nr_cpus: usize,
}

/// Tasks for which the timeline of a root cfs_rq has room from the start. A timeline may grow and never
/// shrinks.
const ROOT_TIMELINE_CAPACITY: usize = 32;

impl FairTree {
    /// Creates the tree of a machine without tasks and groups: the root group with its cfs_rqs.
    pub(crate) fn new(nr_cpus: usize, has_slice_trees: bool) -> Self {
        let root_cfs_rq = |index| {
            let mut root = CfsRq::new(CpuId::from_index(index), GroupId::ROOT);
            root.timeline = Timeline::with_capacity(ROOT_TIMELINE_CAPACITY);
            if has_slice_trees {
                root.slice_tree = SliceTree::with_capacity(ROOT_TIMELINE_CAPACITY);
            }
            root
        };
        Self {
            entities: Arena::new(),
            cfs_rqs: (0..nr_cpus).map(root_cfs_rq).collect(),
            groups: [TaskGroup::new(None)].into_iter().collect(),
            nr_cpus,
        }
    }
}
