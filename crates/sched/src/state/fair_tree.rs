// SPDX-License-Identifier: GPL-2.0-or-later
//! Tree of the fair class: groups, their cfs_rqs on each CPU, and the entities on these, of tasks and of groups.
//!
//! The layers above add to [`FairTree`] what needs nothing else. One runqueue, or one tunable, is a parameter.

use crate::state::entity::SchedEntity;
use crate::state::group::TaskGroup;
use crate::state::rq::cfs_rq::CfsRq;
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

/// Number of tasks for which the timeline of a root cfs_rq has room from the start.
const ROOT_TIMELINE_CAPACITY: usize = 32;

impl FairTree {
    /// Creates the tree of a machine without tasks and groups: the root group with its cfs_rqs.
    pub(crate) fn new(nr_cpus: usize, has_slice_trees: bool) -> Self {
        let root_cfs_rq = |index| {
            CfsRq::with_capacity(CpuId::from_index(index), GroupId::ROOT, ROOT_TIMELINE_CAPACITY, has_slice_trees)
        };
        Self {
            entities: Arena::new(),
            cfs_rqs: (0..nr_cpus).map(root_cfs_rq).collect(),
            groups: [TaskGroup::new(None)].into_iter().collect(),
            nr_cpus,
        }
    }

    /// Entity that represents a cfs_rq on its parent; a root cfs_rq has none.
    pub fn entity_of_cfs_rq(&self, cfs_rq: &CfsRq) -> Option<&SchedEntity> {
        cfs_rq.entity.map(|entity| &self.entities[entity])
    }
}
