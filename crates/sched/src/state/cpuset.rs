// SPDX-License-Identifier: GPL-2.0-or-later
//! Cpusets: groups of tasks that may use certain CPUs.
//!
//! Models what `cgroup/cpuset.c` (6.1, cgroup v2) does to the tasks: `update_cpumask()`, `cpuset_attach()`,
//! `cpuset_cpus_allowed()`, `hotplug_update_tasks()`. All cpusets lie directly below the top one. Left out are partitions,
//! which would need root domains of their own, memory nodes, and exclusive CPUs.

use crate::state::State;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpusetId, TaskId};

/// A cpuset.
#[derive(Clone, Debug)]
pub struct Cpuset {
    /// What was asked for: `cpuset.cpus`. May be empty.
    pub cpus_allowed: CpuMask,
    /// What its tasks get: `cpuset.cpus.effective`.
    pub effective_cpus: CpuMask,
}

impl Cpuset {
    /// The top cpuset.
    pub(crate) fn of_all(nr_cpus: usize) -> Self {
        Self { cpus_allowed: CpuMask::full(nr_cpus), effective_cpus: CpuMask::full(nr_cpus) }
    }
}

impl State {
    /// Makes a cpuset with these CPUs.
    pub fn create_cpuset(&mut self, cpus: &CpuMask) -> CpusetId {
        let id = CpusetId::from_index(self.cpusets.len());
        let effective_cpus = self.effective_cpus(cpus);
        self.cpusets.push(Cpuset { cpus_allowed: cpus.clone(), effective_cpus });
        id
    }

    /// A cpuset.
    pub fn cpuset(&self, id: CpusetId) -> &Cpuset {
        &self.cpusets[id.index()]
    }

    /// A task that is not forked yet begins in a cpuset, with those of its CPUs that it asks for, or all if that is none.
    pub fn cpus_at_start(&self, id: CpusetId, wanted: &CpuMask) -> CpuMask {
        let mut cpus = self.cpus_of_cpuset(id).clone();
        if cpus.intersects(wanted) {
            cpus.and_with(wanted);
        }
        cpus
    }

    /// A new task belongs to a cpuset; its CPUs were limited before.
    pub fn record_cpuset(&mut self, task: TaskId, id: CpusetId) {
        self.tasks[task.index()].cpuset = id;
    }

    /// The CPUs that tasks of a cpuset may use. In the top one these are all, those that are offline among them, because
    /// its tasks do not hear of hotplug.
    pub(crate) fn cpus_of_cpuset(&self, id: CpusetId) -> &CpuMask {
        let cpuset = &self.cpusets[id.index()];
        if id == CpusetId::TOP { &cpuset.cpus_allowed } else { &cpuset.effective_cpus }
    }

    /// What remains of the CPUs that a task asks for in its cpuset; `None` if that does not limit it. If nothing remains
    /// the kernel refuses, so the answer is what the task has.
    pub(crate) fn within_cpuset(&self, task: TaskId, wanted: &CpuMask) -> Option<CpuMask> {
        let p = &self.tasks[task.index()];
        if p.cpuset == CpusetId::TOP {
            return None;
        }
        let mut cpus = self.cpus_of_cpuset(p.cpuset).clone();
        cpus.and_with(wanted);
        Some(if cpus.is_empty() { p.cpus_allowed.clone() } else { cpus })
    }

    /// The active CPUs of those asked for, or all active ones.
    pub(crate) fn effective_cpus(&self, asked: &CpuMask) -> CpuMask {
        let mut cpus = self.hotplug.active.clone();
        if cpus.intersects(asked) {
            cpus.and_with(asked);
        }
        cpus
    }
}
