// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes of cpusets while tasks run: new CPUs of a cpuset, new members, CPU hotplug.
//!
//! Models `update_cpumask()`, `cpuset_attach()` and `hotplug_update_tasks()` of `cgroup/cpuset.c` (6.1,
//! cgroup v2).
//
// DIFFERS: 6.12 remembers the CPUs that a user has requested for a task (`user_cpus_ptr`, since 6.2). After a change of
// the task's cpuset, the task may use those of them that the cpuset has, and a move to a cpuset with equal effective
// CPUs changes nothing. In fairlab, also with compiled-kernel engines, both reset the affinity, as in 6.1.

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::task::TaskState;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpusetId, TaskId};
use alloc::vec::Vec;

impl Sched {
    /// Sets the CPUs of a cpuset. Effective are those that are active, or all active CPUs if none of them is.
    ///
    /// Returns the tasks whose allowed CPUs must follow ([`Sched::apply_cpuset`]); the list is empty if the
    /// effective CPUs stay the same.
    pub fn set_cpuset_cpus(&mut self, id: CpusetId, cpus: &CpuMask) -> Vec<TaskId> {
        self.cpusets[id].cpus_allowed.copy_from(cpus);
        self.update_cpuset(id)
    }

    /// Attaches a task to a cpuset (`cpuset_attach()`). The task may use exactly the CPUs of the cpuset,
    /// regardless of its own affinity. Returns whether the caller must wait for a stopper, as
    /// [`Sched::set_affinity`] does.
    pub fn attach_to_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, id: CpusetId, waiter: Option<TaskId>) -> bool {
        self.tasks[task].cpuset = id;
        self.apply_cpuset(ctx, task, waiter)
    }

    /// Applies the CPUs of a task's cpuset after they have changed. The task may use exactly these CPUs,
    /// regardless of its own affinity. Returns whether the caller must wait for a stopper.
    pub fn apply_cpuset(&mut self, ctx: &mut Ctx<'_>, task: TaskId, waiter: Option<TaskId>) -> bool {
        let cpus = self.cpus_of_cpuset(self.tasks[task].cpuset).clone();
        self.set_cpus_allowed_ptr(ctx, task, &cpus, waiter)
    }

    /// Updates all cpusets after CPU hotplug. Returns the tasks whose allowed CPUs must follow
    /// ([`Sched::apply_cpuset`]).
    pub fn hotplug_update_cpusets(&mut self) -> Vec<TaskId> {
        let active = self.hotplug.active.clone();
        self.cpusets[CpusetId::TOP].effective_cpus.copy_from(&active);
        (1..self.cpusets.len()).flat_map(|id| self.update_cpuset(CpusetId::from_index(id))).collect()
    }

    fn update_cpuset(&mut self, id: CpusetId) -> Vec<TaskId> {
        let effective = self.hotplug.effective_cpus(&self.cpusets[id].cpus_allowed);
        if self.cpusets[id].effective_cpus == effective {
            return Vec::new();
        }
        self.cpusets[id].effective_cpus.copy_from(&effective);
        let belongs = |&task: &TaskId| {
            let p = &self.tasks[task];
            p.cpuset == id && p.state != TaskState::Dead
        };
        (0..self.tasks.len()).map(TaskId::from_index).filter(belongs).collect()
    }
}
