// SPDX-License-Identifier: GPL-2.0-or-later
//! Load balancing.

use crate::ctx::Ctx;
use crate::ids::{CpuId, TaskId};
use crate::sched::Sched;
use crate::schedule::NewIdle;

impl Sched {
    /// A CPU runs out of work.
    pub(crate) fn sched_balance_newidle(&mut self, _ctx: &mut Ctx<'_>, cpu: CpuId) -> NewIdle {
        let rq = &mut self.rqs[cpu.index()];
        rq.idle_stamp = rq.clock;
        NewIdle::Nothing
    }

    /// Whether the tick makes the CPU balance.
    pub(crate) fn trigger_load_balance(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId) {}

    /// The balancing softirq.
    pub(crate) fn run_rebalance_domains(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId) {}

    /// The stopper's part of active balancing.
    pub(crate) fn active_load_balance_cpu_stop(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId) {}

    /// Some CPU has more than one runnable task.
    pub(crate) fn set_overload(&mut self, _cpu: CpuId) {
        self.domains.root.overload = true;
    }

    /// Whether the running task fits its CPU.
    pub(crate) fn update_misfit_status(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId, _task: Option<TaskId>) {}

    /// Whether the CPU is overutilised.
    pub(crate) fn check_update_overutilized_status(&mut self, _cpu: CpuId) {}
}
