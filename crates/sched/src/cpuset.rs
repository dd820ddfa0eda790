// SPDX-License-Identifier: GPL-2.0-or-later
//! Cpusets: groups of tasks that may use certain CPUs.
//!
//! Models what `cgroup/cpuset.c` (6.1, cgroup v2) does to the tasks: `update_cpumask()`, `cpuset_attach()`,
//! `cpuset_cpus_allowed()`, `hotplug_update_tasks()`. All cpusets lie directly below the top one. Left out are partitions,
//! which would need root domains of their own, memory nodes, and exclusive CPUs.

use crate::cpumask::CpuMask;
use crate::ctx::Ctx;
use crate::ids::{CpusetId, TaskId};
use crate::sched::Sched;

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

impl Sched {
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

    /// A cpuset gets other CPUs.
    ///
    /// Rules, in order:
    /// 1. Those of them count that are active, or all active ones if none is.
    /// 2. If that is a change, each of its tasks may use exactly these from now on, whatever it had asked for itself.
    pub fn set_cpuset_cpus(&mut self, ctx: &mut Ctx<'_>, id: CpusetId, cpus: &CpuMask) {
        self.cpusets[id.index()].cpus_allowed.copy_from(cpus);
        self.update_cpuset(ctx, id);
    }

    /// A task comes to a cpuset and may use its CPUs from now on, whatever it had asked for itself: `cpuset_attach()`.
    /// Returns whether the caller has to wait for a stopper, as [`Sched::set_affinity`] does.
    pub fn attach_to_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, id: CpusetId, waiter: Option<TaskId>) -> bool {
        self.tasks[task.index()].cpuset = id;
        let cpus = self.cpus_of_cpuset(id).clone();
        self.set_cpus_allowed_ptr(ctx, task, &cpus, waiter)
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
    pub fn note_cpuset(&mut self, task: TaskId, id: CpusetId) {
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

    /// CPUs have come or gone.
    pub(crate) fn cpusets_follow_hotplug(&mut self, ctx: &mut Ctx<'_>) {
        let active = self.hotplug.active.clone();
        self.cpusets[CpusetId::TOP.index()].effective_cpus.copy_from(&active);
        for id in (1..self.cpusets.len()).map(CpusetId::from_index) {
            self.update_cpuset(ctx, id);
        }
    }

    fn update_cpuset(&mut self, ctx: &mut Ctx<'_>, id: CpusetId) {
        let effective = self.effective_cpus(&self.cpusets[id.index()].cpus_allowed);
        if self.cpusets[id.index()].effective_cpus == effective {
            return;
        }
        self.cpusets[id.index()].effective_cpus.copy_from(&effective);
        for task in (0..self.tasks.len()).map(TaskId::from_index) {
            let p = &self.tasks[task.index()];
            if p.cpuset == id && p.state != crate::task::TaskState::Dead {
                self.set_cpus_allowed_ptr(ctx, task, &effective, None);
            }
        }
    }

    /// The active CPUs of those asked for, or all active ones.
    fn effective_cpus(&self, asked: &CpuMask) -> CpuMask {
        let mut cpus = self.hotplug.active.clone();
        if cpus.intersects(asked) {
            cpus.and_with(asked);
        }
        cpus
    }
}
