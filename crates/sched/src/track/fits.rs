// SPDX-License-Identifier: GPL-2.0-or-later
//! Fit between utilisation and CPUs, and the utilisation and load of a CPU.
//!
//! Models `util_fits_cpu()`, `task_fits_cpu()`, `fits_capacity()` and `cpu_util_cfs()` (6.1).

use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::snapshot::TaskFit;
use crate::state::task::{SchedClass, Uclamp};
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CpuId, TaskId};
use crate::types::kernel_rules::KernelRules;
use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE};

/// Result of comparing a utilisation with the capacity of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The CPU is too small for the utilisation.
    No,
    /// The CPU has enough capacity, but cannot run as fast as the lower clamp demands: the kernel's -1.
    ButForClamp,
    /// The CPU is big enough.
    Yes,
}

/// Utilisation of a task with its clamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClampedUtil {
    pub util: u64,
    /// Bounds within which the utilisation counts.
    pub clamps: Uclamp,
}

/// Whether a utilisation leaves a fifth of a capacity free: `fits_capacity()`.
#[inline]
pub(crate) const fn fits_capacity(util: u64, capacity: Capacity) -> bool {
    util * 1280 < capacity * 1024
}

impl State {
    /// Utilisation and clamps of a task.
    pub(crate) fn clamped_util(&self, task: TaskId) -> ClampedUtil {
        ClampedUtil { util: self.entity(task).avg.task_util_est(), clamps: self.uclamp_eff(task) }
    }

    /// Whether a CPU is big enough for a task: `task_fits_cpu()`.
    pub(crate) fn task_fits_cpu(&self, task: TaskId, cpu: CpuId) -> bool {
        self.rqs[cpu].util_fits(self.clamped_util(task), &self.rules, self.uclamp_used) == Fit::Yes
    }

    /// Returns how well a CPU fits a task. Only fair tasks are placed by size: any CPU is right for others.
    /// Rules, in order:
    /// 1. A CPU on which the task does not fit is too small, unless none is larger.
    /// 2. A CPU is too large if the task would fit on a smaller one that it may use.
    pub fn task_fit(&self, task: TaskId, cpu: CpuId) -> TaskFit {
        let p = &self.tasks[task];
        if p.class != SchedClass::Fair {
            return TaskFit::Right;
        }
        let (util, own) = (self.clamped_util(task), self.rqs[cpu].cpu_capacity_orig);
        let fits = |cpu: CpuId| self.rqs[cpu].util_fits(util, &self.rules, self.uclamp_used) == Fit::Yes;
        if !fits(cpu) {
            let is_larger = |rq: &Rq| rq.cpu_capacity_orig > own;
            return if self.rqs.iter().any(is_larger) { TaskFit::TooSmall } else { TaskFit::Right };
        }
        let would_do = |other: CpuId| self.rqs[other].cpu_capacity_orig < own && fits(other);
        if p.cpus_allowed.iter().any(would_do) { TaskFit::TooLarge } else { TaskFit::Right }
    }
}

impl FairTree {
    /// Utilisation of a CPU by the fair class: the larger of tracked and estimated utilisation, but at most
    /// the CPU's capacity.
    ///
    /// Models `cpu_util_cfs()` (6.1).
    #[inline]
    pub(crate) fn cpu_util_cfs(&self, features: FeatureSet, rq: &Rq) -> u64 {
        let avg = &self.root_cfs_rq(rq.cpu).avg;
        let remembered = if features.has(Feature::UtilEst) { u64::from(avg.util_est.enqueued) } else { 0 };
        avg.util_avg.max(remembered).min(rq.cpu_capacity_orig)
    }

    /// Utilisation of a CPU by the fair class, or its runnable average if that is larger because tasks wait:
    /// `cpu_util_cfs_boost()` (6.12).
    pub(crate) fn cpu_util_cfs_boost(&self, features: FeatureSet, rq: &Rq) -> u64 {
        let runnable = self.root_cfs_rq(rq.cpu).avg.runnable_avg;
        self.cpu_util_cfs(features, rq).max(runnable.min(rq.cpu_capacity_orig))
    }
}

impl Rq {
    /// Compares a utilisation with the capacity of a CPU.
    ///
    /// Models `util_fits_cpu()`. Clamps have no effect before one has been set. Rules, in order:
    /// 1. The utilisation fits if it leaves a fifth of the CPU's capacity for fair tasks free. It also fits
    ///    if the upper clamp is not above the CPU's own capacity, so that the task need not move. (A biggest
    ///    CPU without upper clamp is no such case.)
    /// 2. However, a lower clamp above the utilisation must be within the capacity that thermal pressure
    ///    leaves.
    pub(crate) fn util_fits(&self, used: ClampedUtil, rules: &KernelRules, uclamp_used: bool) -> Fit {
        let ClampedUtil { util, clamps } = used;
        if !uclamp_used {
            return if fits_capacity(util, self.cpu_capacity) { Fit::Yes } else { Fit::No };
        }
        let orig = self.cpu_capacity_orig;
        let (min, max) = (Capacity::from(clamps.min.min(clamps.max)), Capacity::from(clamps.max));
        let is_unlimited = orig == SCHED_CAPACITY_SCALE && max == SCHED_CAPACITY_SCALE;
        let is_actual = rules.uses_actual_capacity;
        let pressured = if is_actual { self.actual_capacity() } else { orig - self.thermal_pressure };
        let clamp_keeps_it_here = !is_unlimited && max <= orig;
        if !fits_capacity(util, self.cpu_capacity) && !clamp_keeps_it_here {
            Fit::No
        } else if util < min && min > pressured {
            Fit::ButForClamp
        } else {
            Fit::Yes
        }
    }

    /// Whether the CPU is big enough, on machines whose CPUs differ; every CPU is on others: `asym_fits_cpu()`.
    #[inline]
    pub(crate) fn asym_fits(&self, used: Option<ClampedUtil>, rules: &KernelRules, uclamp_used: bool) -> bool {
        used.is_none_or(|used| self.util_fits(used, rules, uclamp_used) == Fit::Yes)
    }
}
