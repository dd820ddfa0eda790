// SPDX-License-Identifier: GPL-2.0-or-later
//! Misfit tasks and overutilised CPUs: the results of tasks not fitting their CPU ([`crate::track::fits`]).
//!
//! Models `capacity_greater()`, `update_misfit_status()`, `check_misfit_status()` and `cpu_overutilized()`
//! (6.1). A task that is too big for its CPU is a reason for a bigger CPU to pull it although it runs alone.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::rq::{Rq, Rqs};
use crate::state::task::Task;
use crate::state::topology::{DomainId, SchedDomains};
use crate::track::capacity::check_cpu_capacity;
use crate::track::fits::{ClampedUtil, Fit};
use crate::types::ids::{CpuId, TaskId};
use crate::types::kernel_rules::KernelRules;
use crate::types::units::Capacity;

/// Whether capacity `a` is greater than `b` by more than about 5 percent (1078/1024).
#[inline]
pub(crate) const fn capacity_greater(a: Capacity, b: Capacity) -> bool {
    a * 1024 > b * 1078
}

impl State {
    /// Records whether the task that is to run on a CPU is too big for it. A task that may run nowhere else
    /// never is.
    #[inline(always)]
    pub(crate) fn update_misfit_status(&mut self, _ctx: &mut Ctx<'_>, cpu: CpuId, task: Option<TaskId>) {
        if self.domains.asym_cpucapacity && !self.tunables.changes.no_misfit {
            self.record_misfit(cpu, task);
        }
    }

    #[inline(never)]
    fn record_misfit(&mut self, cpu: CpuId, task: Option<TaskId>) {
        // In 6.12, a task on a CPU that is as large as the largest one that it may use is no misfit.
        let largest = Some(self.rqs[cpu].cpu_capacity_orig).filter(|_| self.rules.knows_allowed_capacity);
        let is_misfit = |&task: &TaskId| {
            let p = &self.tasks[task];
            p.nr_cpus_allowed != 1 && !self.task_fits_cpu(task, cpu) && largest != Some(p.max_allowed_capacity)
        };
        let misfit = task.filter(is_misfit);
        let load = misfit.map_or(0, |task| self.fair.task_h_load(self.tasks[task].se, self.jiffies).max(1));
        self.rqs[cpu].misfit_task_load = load;
    }

    /// Whether the fair tasks of a CPU do not fit it. Only determined with EAS.
    #[inline]
    pub(crate) fn cpu_overutilized(&self, cpu: CpuId) -> bool {
        if !self.sched_energy_enabled() {
            return false;
        }
        let rq = &self.rqs[cpu];
        let used = ClampedUtil { util: self.fair.cpu_util_cfs(self.features, rq), clamps: rq.uclamp.clamps() };
        rq.util_fits(used, &self.rules, self.uclamp_used) == Fit::No
    }

    /// Sets whether any CPU is overutilised, according to the state of one CPU:
    /// `set_rd_overutilized_status()`.
    pub(crate) fn set_overutilized_status(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, overutilized: bool) {
        if self.sched_energy_enabled()
            && core::mem::replace(&mut self.domains.root.overutilized, overutilized) != overutilized
        {
            ctx.report(Event::Overutilized { is_over: overutilized, cpu });
        }
    }

    /// Checks whether a CPU that got one more task is overutilised now.
    pub(crate) fn check_update_overutilized_status(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.sched_energy_enabled() && !self.domains.root.overutilized && self.cpu_overutilized(cpu) {
            self.set_overutilized_status(ctx, cpu, true);
        }
    }
}

impl Task {
    /// Determines the capacity of the largest CPU that the task may use: `set_task_max_allowed_capacity()` (6.12).
    ///
    /// Without domains of CPUs of several kinds, for instance while all CPUs of one kind are offline, the task keeps its
    /// former value.
    pub(crate) fn set_max_allowed_capacity(&mut self, domains: &SchedDomains, rqs: &Rqs) {
        if domains.asym_cpucapacity {
            let capacities = self.cpus_allowed.iter().map(|cpu| rqs[cpu].cpu_capacity_orig);
            self.max_allowed_capacity = capacities.max().unwrap_or(self.max_allowed_capacity);
        }
    }
}

impl Rq {
    /// Whether the CPU has a task that is too big for it, and a bigger CPU or one with more remaining capacity
    /// may exist. In 6.12 the task suffices.
    pub(crate) fn check_misfit_status(&self, rules: &KernelRules, domains: &SchedDomains, sd: DomainId) -> bool {
        self.misfit_task_load > 0
            && (rules.knows_allowed_capacity
                || self.cpu_capacity_orig < domains.root.max_cpu_capacity
                || check_cpu_capacity(self, &domains.domains[sd]))
    }
}
