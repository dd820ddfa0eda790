// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a CPU is big enough for some utilisation, and how much of a CPU is used.
//!
//! Models `util_fits_cpu()`, `task_fits_cpu()`, `fits_capacity()`, `cpu_util_cfs()`, `capacity_of()` and `cpu_load()` (6.1).

use crate::state::State;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::snapshot::TaskFit;
use crate::state::task::{SchedClass, Uclamp};
use crate::types::features::Feature;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE};

/// Whether a CPU is big enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is too small for the utilisation.
    No,
    /// It would do, but cannot run as fast as the lower clamp demands. The kernel's -1.
    ButForClamp,
    /// It is big enough.
    Yes,
}

/// How much a task uses, and within which bounds it shall count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClampedUtil {
    /// Utilisation.
    pub util: u64,
    /// Bounds.
    pub clamps: Uclamp,
}

/// Whether a utilisation leaves a fifth of a capacity free: `fits_capacity()`.
#[inline]
pub(crate) const fn fits_capacity(util: u64, capacity: Capacity) -> bool {
    util * 1280 < capacity * 1024
}

impl State {
    /// Whether a CPU is big enough for a utilisation.
    ///
    /// Models `util_fits_cpu()`. Clamps mean nothing before anybody has set one. Rules, in order:
    /// 1. The utilisation leaves a fifth of what the fair class has of the CPU; or the upper clamp is not above the CPU's
    ///    own capacity, so that the task need not go anywhere else. (A biggest CPU without upper clamp is no such case.)
    /// 2. But a lower clamp above the utilisation must be within what heat leaves of the CPU's own capacity.
    pub(crate) fn util_fits_cpu(&self, ClampedUtil { util, clamps }: ClampedUtil, cpu: CpuId) -> Fit {
        let rq = &self.rqs[cpu.index()];
        if !self.uclamp_is_used() {
            return if fits_capacity(util, rq.cpu_capacity) { Fit::Yes } else { Fit::No };
        }
        let orig = rq.cpu_capacity_orig;
        let (min, max) = (Capacity::from(clamps.min.min(clamps.max)), Capacity::from(clamps.max));
        let is_unlimited = orig == SCHED_CAPACITY_SCALE && max == SCHED_CAPACITY_SCALE;
        let clamp_keeps_it_here = !is_unlimited && max <= orig;
        if !fits_capacity(util, rq.cpu_capacity) && !clamp_keeps_it_here {
            Fit::No
        } else if util < min && min > orig - rq.thermal_pressure {
            Fit::ButForClamp
        } else {
            Fit::Yes
        }
    }

    /// Utilisation and clamps of a task.
    pub(crate) fn clamped_util(&self, task: TaskId) -> ClampedUtil {
        ClampedUtil { util: self.task_util_est(task), clamps: self.uclamp_eff(task) }
    }

    /// Whether a CPU is big enough for a task: `task_fits_cpu()`.
    pub(crate) fn task_fits_cpu(&self, task: TaskId, cpu: CpuId) -> bool {
        self.util_fits_cpu(self.clamped_util(task), cpu) == Fit::Yes
    }

    /// How a CPU suits a task. Only fair tasks are placed by size: others are always right. Rules, in order:
    /// 1. A CPU on which the task does not fit is too small, unless none is larger.
    /// 2. It is too large if the task would fit on a smaller one that it may use.
    pub fn task_fit(&self, task: TaskId, cpu: CpuId) -> TaskFit {
        let p = &self.tasks[task.index()];
        if p.class != SchedClass::Fair {
            return TaskFit::Right;
        }
        let (util, own) = (self.clamped_util(task), self.rqs[cpu.index()].cpu_capacity_orig);
        if self.util_fits_cpu(util, cpu) != Fit::Yes {
            let is_larger = |rq: &Rq| rq.cpu_capacity_orig > own;
            return if self.rqs.iter().any(is_larger) { TaskFit::TooSmall } else { TaskFit::Right };
        }
        let would_do = |other: CpuId| {
            self.rqs[other.index()].cpu_capacity_orig < own && self.util_fits_cpu(util, other) == Fit::Yes
        };
        if p.cpus_allowed.iter().any(would_do) { TaskFit::TooLarge } else { TaskFit::Right }
    }

    /// Whether a CPU is big enough, where CPUs differ; otherwise each is: `asym_fits_cpu()`.
    #[inline]
    pub(crate) fn asym_fits_cpu(&self, util: Option<ClampedUtil>, cpu: CpuId) -> bool {
        util.is_none_or(|util| self.util_fits_cpu(util, cpu) == Fit::Yes)
    }

    /// What the fair class has of a CPU, as of the last update: `capacity_of()`.
    #[inline]
    pub(crate) fn capacity_of(&self, cpu: CpuId) -> Capacity {
        self.rqs[cpu.index()].cpu_capacity
    }

    /// Load of the fair class on a CPU: `cpu_load()`.
    #[inline]
    pub(crate) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.cfs_rqs[cpu.index()].avg.load_avg
    }

    /// Runnable average of the fair class on a CPU: `cpu_runnable()`.
    #[inline]
    pub(crate) fn cpu_runnable(&self, cpu: CpuId) -> u64 {
        self.cfs_rqs[cpu.index()].avg.runnable_avg
    }

    /// Utilisation of a CPU by the fair class, the larger of tracked and remembered, but no more than there is:
    /// `cpu_util_cfs()`.
    #[inline]
    pub(crate) fn cpu_util_cfs(&self, cpu: CpuId) -> u64 {
        util_cfs(&self.rqs[cpu.index()], &self.cfs_rqs[cpu.index()], self.features.has(Feature::UtilEst))
    }
}

/// The same, given the runqueue and its root cfs_rq.
#[inline]
pub(crate) fn util_cfs(rq: &Rq, root: &CfsRq, with_util_est: bool) -> u64 {
    let remembered = if with_util_est { u64::from(root.avg.util_est.enqueued) } else { 0 };
    root.avg.util_avg.max(remembered).min(rq.cpu_capacity_orig)
}
