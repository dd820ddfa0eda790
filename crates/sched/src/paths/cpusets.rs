// SPDX-License-Identifier: GPL-2.0-or-later
//! Cpusets change while tasks run: CPUs of a cpuset, tasks that come to one, CPUs that come and go.
//!
//! Models `update_cpumask()`, `cpuset_attach()` and `hotplug_update_tasks()` of `cgroup/cpuset.c` (6.1, cgroup v2).

use crate::paths::sched::Sched;
use crate::told::ctx::Ctx;
use crate::words::cpumask::CpuMask;
use crate::words::ids::{CpusetId, TaskId};

impl Sched {
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

    /// CPUs have come or gone.
    pub(crate) fn cpusets_follow_hotplug(&mut self, ctx: &mut Ctx<'_>) {
        let active = self.hotplug.active.clone();
        self.cpusets[CpusetId::TOP.index()].effective_cpus.copy_from(&active);
        for id in (1..self.cpusets.len()).map(CpusetId::from_index) {
            self.update_cpuset(ctx, id);
        }
    }

    pub(crate) fn update_cpuset(&mut self, ctx: &mut Ctx<'_>, id: CpusetId) {
        let effective = self.effective_cpus(&self.cpusets[id.index()].cpus_allowed);
        if self.cpusets[id.index()].effective_cpus == effective {
            return;
        }
        self.cpusets[id.index()].effective_cpus.copy_from(&effective);
        for task in (0..self.tasks.len()).map(TaskId::from_index) {
            let p = &self.tasks[task.index()];
            if p.cpuset == id && p.state != crate::state::task::TaskState::Dead {
                self.set_cpus_allowed_ptr(ctx, task, &effective, None);
            }
        }
    }
}
