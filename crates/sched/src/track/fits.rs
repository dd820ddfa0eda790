// SPDX-License-Identifier: GPL-2.0-or-later
//! Fit between utilisation and CPUs, and the utilisation and load of a CPU.
//!
//! Models `util_fits_cpu()`, `task_fits_cpu()`, `fits_capacity()` and `cpu_util_cfs()` (6.1).

use crate::state::State;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::snapshot::TaskFit;
use crate::state::task::{SchedClass, Uclamp};
use crate::types::features::Feature;
use crate::types::ids::{CfsRqId, CpuId, TaskId};
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
    /// Compares a utilisation with the capacity of a CPU.
    ///
    /// Models `util_fits_cpu()`. Clamps have no effect before one has been set. Rules, in order:
    /// 1. The utilisation fits if it leaves a fifth of the CPU's capacity for fair tasks free. It also fits
    ///    if the upper clamp is not above the CPU's own capacity, so that the task need not move. (A biggest
    ///    CPU without upper clamp is no such case.)
    /// 2. However, a lower clamp above the utilisation must be within the capacity that thermal pressure
    ///    leaves.
    pub(crate) fn util_fits_cpu(&self, ClampedUtil { util, clamps }: ClampedUtil, cpu: CpuId) -> Fit {
        let rq = &self.rqs[cpu];
        if !self.uclamp_used {
            return if fits_capacity(util, rq.cpu_capacity) { Fit::Yes } else { Fit::No };
        }
        let orig = rq.cpu_capacity_orig;
        let (min, max) = (Capacity::from(clamps.min.min(clamps.max)), Capacity::from(clamps.max));
        let is_unlimited = orig == SCHED_CAPACITY_SCALE && max == SCHED_CAPACITY_SCALE;
        let is_actual = self.rules.uses_actual_capacity;
        let pressured = if is_actual { rq.actual_capacity() } else { orig - rq.thermal_pressure };
        let clamp_keeps_it_here = !is_unlimited && max <= orig;
        if !fits_capacity(util, rq.cpu_capacity) && !clamp_keeps_it_here {
            Fit::No
        } else if util < min && min > pressured {
            Fit::ButForClamp
        } else {
            Fit::Yes
        }
    }

    /// Utilisation and clamps of a task.
    pub(crate) fn clamped_util(&self, task: TaskId) -> ClampedUtil {
        ClampedUtil { util: self.task_avg(task).task_util_est(), clamps: self.uclamp_eff(task) }
    }

    /// Whether a CPU is big enough for a task: `task_fits_cpu()`.
    pub(crate) fn task_fits_cpu(&self, task: TaskId, cpu: CpuId) -> bool {
        self.util_fits_cpu(self.clamped_util(task), cpu) == Fit::Yes
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
        if self.util_fits_cpu(util, cpu) != Fit::Yes {
            let is_larger = |rq: &Rq| rq.cpu_capacity_orig > own;
            return if self.rqs.iter().any(is_larger) { TaskFit::TooSmall } else { TaskFit::Right };
        }
        let would_do =
            |other: CpuId| self.rqs[other].cpu_capacity_orig < own && self.util_fits_cpu(util, other) == Fit::Yes;
        if p.cpus_allowed.iter().any(would_do) { TaskFit::TooLarge } else { TaskFit::Right }
    }

    /// Whether a CPU is big enough, on machines whose CPUs differ; every CPU is on others: `asym_fits_cpu()`.
    #[inline]
    pub(crate) fn asym_fits_cpu(&self, util: Option<ClampedUtil>, cpu: CpuId) -> bool {
        util.is_none_or(|util| self.util_fits_cpu(util, cpu) == Fit::Yes)
    }

    /// Utilisation of a CPU by the fair class: the larger of tracked and estimated utilisation, but at most
    /// the CPU's capacity.
    ///
    /// Models `cpu_util_cfs()` (6.1).
    #[inline]
    pub(crate) fn cpu_util_cfs(&self, cpu: CpuId) -> u64 {
        util_cfs(&self.rqs[cpu], &self.fair.cfs_rqs[CfsRqId::root(cpu)], self.features.has(Feature::UtilEst))
    }

    /// Utilisation of a CPU by the fair class, or its runnable average if that is larger because tasks wait:
    /// `cpu_util_cfs_boost()` (6.12).
    pub(crate) fn cpu_util_cfs_boost(&self, cpu: CpuId) -> u64 {
        let orig = self.rqs[cpu].cpu_capacity_orig;
        self.cpu_util_cfs(cpu).max(self.fair.root_cfs_rq(cpu).avg.runnable_avg.min(orig))
    }
}

/// Utilisation by the fair class ([`State::cpu_util_cfs`]), from a runqueue and its root cfs_rq.
#[inline]
pub(crate) fn util_cfs(rq: &Rq, root: &CfsRq, with_util_est: bool) -> u64 {
    let remembered = if with_util_est { u64::from(root.avg.util_est.enqueued) } else { 0 };
    root.avg.util_avg.max(remembered).min(rq.cpu_capacity_orig)
}
