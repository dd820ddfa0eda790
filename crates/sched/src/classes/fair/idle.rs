// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle entities, and CPUs that run only those.

use crate::state::State;
use crate::types::ids::{CfsRqId, CpuId, EntityId};

impl State {
    /// Whether an entity counts as idle: a SCHED_IDLE task or an idle group.
    pub(crate) fn se_is_idle(&self, se: EntityId) -> bool {
        let se = &self.fair.entities[se];
        match (se.task(), se.my_q()) {
            (Some(task), _) => self.tasks[task].has_idle_policy(),
            (_, below) => below.is_some_and(|below| self.fair.cfs_rqs[below].is_idle),
        }
    }

    /// Whether a CPU has work, but only idle work (`sched_idle_cpu()`).
    pub(crate) fn sched_idle_cpu(&self, cpu: CpuId) -> bool {
        let nr_running = self.rqs[cpu].nr_running;
        nr_running > 0 && nr_running == self.fair.cfs_rqs[CfsRqId::root(cpu)].idle_h_nr_running
    }
}
