// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle entities, and CPUs that run only those.

use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::task::Tasks;
use crate::types::ids::EntityId;
use crate::types::kernel_rules::KernelRules;
use crate::types::tunables::Tunables;

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

    /// Number of runnable tasks of a CPU, without those whose dequeue was delayed.
    pub(crate) fn runnable_tasks(&self, rules: &KernelRules, rq: &Rq) -> u32 {
        let root = self.root_cfs_rq(rq.cpu);
        let nr_delayed = if rules.sync_wakeup_ignores_delayed { root.h_nr_running - root.h_nr_runnable } else { 0 };
        rq.nr_running - nr_delayed
    }

    /// Whether a woken task would run on a CPU at once: the CPU is idle or runs only SCHED_IDLE tasks.
    #[inline]
    pub(crate) fn is_idle_for_wakeup(&self, tunables: &Tunables, rq: &Rq) -> bool {
        rq.is_idle() || self.is_idle_but_for_idle_tasks(tunables, rq)
    }

    /// Whether a CPU runs only SCHED_IDLE tasks, and therefore counts as idle; before 5.4 it did not.
    #[inline]
    pub(crate) fn is_idle_but_for_idle_tasks(&self, tunables: &Tunables, rq: &Rq) -> bool {
        self.sched_idle_cpu(rq) && tunables.changes.sched_idle_busy < 2
    }
}
