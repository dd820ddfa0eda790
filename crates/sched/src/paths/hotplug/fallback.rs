// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a task goes that may not run where it should.
//!
//! Models `is_cpu_allowed()`, `select_fallback_rq()` and `cpuset_cpus_allowed_fallback()` (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// Whether a task may run on a CPU now. One that belongs to the CPU may as long as it is online, others only while it is
    /// active.
    #[inline]
    pub(crate) fn is_cpu_allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        self.tasks[task.index()].cpus_allowed.contains(cpu) && self.is_cpu_usable(task, cpu)
    }

    /// The same without regard to the CPUs that it may use.
    #[inline]
    pub(crate) fn is_cpu_usable(&self, task: TaskId, cpu: CpuId) -> bool {
        let is_bound = self.tasks[task.index()].is_per_cpu_kthread;
        if is_bound { self.hotplug.online.contains(cpu) } else { self.hotplug.active.contains(cpu) }
    }

    /// A CPU for a task that cannot be where it was or where its class wanted it.
    ///
    /// Rules, in order:
    /// 1. The first CPU of the node of `cpu` that it may use.
    /// 2. The first CPU that it may use.
    /// 3. It gets the CPUs of its cpuset instead of its own, and the first of them.
    /// 4. It gets all CPUs.
    pub(crate) fn select_fallback_rq(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) -> CpuId {
        let node = self.node_of(cpu);
        let in_node = self.first_allowed(task, |other| self.node_of(other) == node);
        if let Some(found) = in_node.or_else(|| self.first_allowed(task, |_| true)) {
            return found;
        }
        let home = self.tasks[task.index()].cpu;
        let rq = self.rq_lock(home);
        let of_cpuset = self.cpus_of_cpuset(self.tasks[task.index()].cpuset).clone();
        self.do_set_cpus_allowed(ctx, &rq, task, &of_cpuset);
        if let Some(found) = self.first_allowed(task, |_| true) {
            return found;
        }
        let all = CpuMask::full(self.rqs.len());
        self.do_set_cpus_allowed(ctx, &rq, task, &all);
        self.first_allowed(task, |_| true).expect("some CPU is active")
    }

    fn first_allowed(&self, task: TaskId, also: impl Fn(CpuId) -> bool) -> Option<CpuId> {
        let mut allowed = self.tasks[task.index()].cpus_allowed.iter();
        allowed.find(|&cpu| self.is_cpu_allowed(task, cpu) && also(cpu))
    }
}
