// SPDX-License-Identifier: GPL-2.0-or-later
//! Verbs for what tallies are made of ([`crate::state::tallies`]): who changes it by them need not think of the note.
//!
//! Averages of cfs_rqs have no verb, as they change in the middle of other sums: who changes them notes the cfs_rq.

use crate::state::State;
use crate::types::ids::{CfsRqId, CpuId, TaskId};
use crate::types::units::Capacity;

impl State {
    /// So many more runnable tasks on a CPU; from two on somebody might want to pull: `add_nr_running()`.
    #[inline]
    pub(crate) fn add_nr_running(&mut self, cpu: CpuId, nr: u32) {
        self.tallies.mark_dirty(cpu);
        let rq = &mut self.rqs[cpu.index()];
        let before = rq.nr_running;
        rq.nr_running += nr;
        // A CPU that goes offline is not in the root domain any more.
        if before < 2 && rq.nr_running >= 2 && self.domains.root.span.contains(cpu) {
            self.domains.root.overload = true;
        }
    }

    /// So many fewer: `sub_nr_running()`.
    #[inline]
    pub(crate) fn sub_nr_running(&mut self, cpu: CpuId, nr: u32) {
        self.tallies.mark_dirty(cpu);
        self.rqs[cpu.index()].nr_running -= nr;
    }

    /// Tasks below a cfs_rq count in, as many of them as idle. Those that reach the root cfs_rq are runnable tasks of the CPU, and
    /// that is noted.
    #[inline]
    pub(crate) fn count_tasks_in(&mut self, cfs_rq: CfsRqId, all: u32, idle: u32) {
        let queue = &mut self.cfs_rqs[cfs_rq.index()];
        queue.h_nr_running += all;
        queue.idle_h_nr_running += idle;
    }

    /// Tasks below a cfs_rq count out, and likewise.
    #[inline]
    pub(crate) fn count_tasks_out(&mut self, cfs_rq: CfsRqId, all: u32, idle: u32) {
        let queue = &mut self.cfs_rqs[cfs_rq.index()];
        queue.h_nr_running -= all;
        queue.idle_h_nr_running -= idle;
    }

    /// Another task runs on a CPU.
    #[inline]
    pub(crate) fn set_curr(&mut self, cpu: CpuId, task: TaskId) {
        self.tallies.mark_dirty(cpu);
        self.rqs[cpu.index()].curr = task;
    }

    /// A wake-up waits in a CPU's call-function queue, or none does any more.
    #[inline]
    pub(crate) fn set_ttwu_pending(&mut self, cpu: CpuId, pending: bool) {
        self.tallies.mark_dirty(cpu);
        self.rqs[cpu.index()].ttwu_pending = pending;
    }

    /// Other classes leave so much of a CPU.
    #[inline]
    pub(crate) fn set_cpu_capacity(&mut self, cpu: CpuId, capacity: Capacity) {
        let rq = &mut self.rqs[cpu.index()];
        if rq.cpu_capacity != capacity {
            rq.cpu_capacity = capacity;
            self.tallies.mark_dirty(cpu);
        }
    }
}
