// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle entities, and CPUs that run only those.

use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::task::Tasks;
use crate::types::ids::EntityId;

impl FairTree {
    /// Whether an entity counts as idle: a SCHED_IDLE task or an idle group.
    pub(crate) fn se_is_idle(&self, tasks: &Tasks, se: EntityId) -> bool {
        let se = &self.entities[se];
        match (se.task(), se.my_q()) {
            (Some(task), _) => tasks[task].has_idle_policy(),
            (_, below) => below.is_some_and(|below| self.cfs_rqs[below].is_idle),
        }
    }

    /// Whether a CPU has work, but only idle work (`sched_idle_cpu()`).
    pub(crate) fn sched_idle_cpu(&self, rq: &Rq) -> bool {
        rq.nr_running > 0 && rq.nr_running == self.root_cfs_rq(rq.cpu).idle_h_nr_running
    }
}
