// SPDX-License-Identifier: GPL-2.0-or-later
//! Cpusets change while tasks run: CPUs of a cpuset, tasks that come to one, CPUs that come and go.
//!
//! Models `update_cpumask()`, `cpuset_attach()` and `hotplug_update_tasks()` of `cgroup/cpuset.c` (6.1, cgroup v2).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::task::TaskState;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpusetId, TaskId};
use alloc::vec::Vec;

impl Sched {
    /// A cpuset gets other CPUs: those of them count that are active, or all active ones if none is. Returns the tasks that have to follow, if that is
    /// a change: see [`Sched::follow_cpuset`].
    pub fn set_cpuset_cpus(&mut self, id: CpusetId, cpus: &CpuMask) -> Vec<TaskId> {
        self.cpusets[id.index()].cpus_allowed.copy_from(cpus);
        self.update_cpuset(id)
    }

    /// A task comes to a cpuset and may use its CPUs from now on, whatever it had asked for itself: `cpuset_attach()`.
    /// Returns whether the caller has to wait for a stopper, as [`Sched::set_affinity`] does.
    pub fn attach_to_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, id: CpusetId, waiter: Option<TaskId>) -> bool {
        self.tasks[task.index()].cpuset = id;
        self.follow_cpuset(ctx, task, waiter)
    }

    /// The CPUs of a task's cpuset have changed: it may use exactly these from now on, whatever it had asked for itself. Returns whether the caller
    /// has to wait for a stopper.
    pub fn follow_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, waiter: Option<TaskId>) -> bool {
        let cpus = self.cpus_of_cpuset(self.tasks[task.index()].cpuset).clone();
        self.set_cpus_allowed_ptr(ctx, task, &cpus, waiter)
    }

    /// CPUs have come or gone. Returns the tasks that have to follow.
    pub fn cpusets_follow_hotplug(&mut self) -> Vec<TaskId> {
        let active = self.hotplug.active.clone();
        self.cpusets[CpusetId::TOP.index()].effective_cpus.copy_from(&active);
        (1..self.cpusets.len()).flat_map(|id| self.update_cpuset(CpusetId::from_index(id))).collect()
    }

    fn update_cpuset(&mut self, id: CpusetId) -> Vec<TaskId> {
        let effective = self.effective_cpus(&self.cpusets[id.index()].cpus_allowed);
        if self.cpusets[id.index()].effective_cpus == effective {
            return Vec::new();
        }
        self.cpusets[id.index()].effective_cpus.copy_from(&effective);
        let belongs = |&task: &TaskId| {
            let p = &self.tasks[task.index()];
            p.cpuset == id && p.state != TaskState::Dead
        };
        (0..self.tasks.len()).map(TaskId::from_index).filter(belongs).collect()
    }
}
