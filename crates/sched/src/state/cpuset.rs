// SPDX-License-Identifier: GPL-2.0-or-later
//! Cpusets: groups of tasks that may use certain CPUs.
//!
//! Models the effects of `cgroup/cpuset.c` (6.1, cgroup v2) on tasks: `update_cpumask()`, `cpuset_attach()`,
//! `cpuset_cpus_allowed()`, `hotplug_update_tasks()`. All cpusets lie directly below the top one. Left out
//! are memory nodes, exclusive CPUs, and partitions, which would need root domains of their own.

use crate::state::State;
use crate::state::hotplug::Hotplug;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpusetId, TaskId};

/// Cpuset with the CPUs that it requests and gets.
#[derive(Clone, Debug)]
pub struct Cpuset {
    /// Requested CPUs: `cpuset.cpus`. May be empty.
    pub cpus_allowed: CpuMask,
    /// CPUs that the tasks of the cpuset may use: `cpuset.cpus.effective`.
    pub effective_cpus: CpuMask,
}

impl Cpuset {
    /// Creates the top cpuset, which has all CPUs.
    pub(crate) fn with_all_cpus(nr_cpus: usize) -> Self {
        Self { cpus_allowed: CpuMask::full(nr_cpus), effective_cpus: CpuMask::full(nr_cpus) }
    }
}

impl State {
    /// Returns the CPUs of a task that starts in a cpuset: those of `wanted` that the cpuset has, or all of
    /// the cpuset if it has none of them. The task is not forked yet.
    pub fn initial_cpus(&self, id: CpusetId, wanted: &CpuMask) -> CpuMask {
        let mut cpus = self.cpus_of_cpuset(id).clone();
        if cpus.intersects(wanted) {
            cpus.and_with(wanted);
        }
        cpus
    }

    /// CPUs that tasks of a cpuset may use. The top cpuset has all CPUs, offline ones included, because
    /// hotplug does not update its tasks.
    pub(crate) fn cpus_of_cpuset(&self, id: CpusetId) -> &CpuMask {
        let cpuset = &self.cpusets[id];
        if id == CpusetId::TOP { &cpuset.cpus_allowed } else { &cpuset.effective_cpus }
    }

    /// Returns the CPUs of `wanted` that a task's cpuset has; `None` in the top cpuset, which does not limit
    /// the task.
    ///
    /// If no CPU remains, the kernel rejects the request; the result is then the task's present CPUs.
    pub(crate) fn within_cpuset(&self, task: TaskId, wanted: &CpuMask) -> Option<CpuMask> {
        let p = &self.tasks[task];
        if p.cpuset == CpusetId::TOP {
            return None;
        }
        let mut cpus = self.cpus_of_cpuset(p.cpuset).clone();
        cpus.and_with(wanted);
        Some(if cpus.is_empty() { p.cpus_allowed.clone() } else { cpus })
    }
}

impl Hotplug {
    /// Returns the active CPUs of `asked`, or all active CPUs if none of them is active.
    pub(crate) fn effective_cpus(&self, asked: &CpuMask) -> CpuMask {
        let mut cpus = self.active.clone();
        if cpus.intersects(asked) {
            cpus.and_with(asked);
        }
        cpus
    }
}
