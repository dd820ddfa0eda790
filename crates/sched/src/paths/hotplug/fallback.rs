// SPDX-License-Identifier: GPL-2.0-or-later
//! Fallback CPU of a task that may not run on its CPU or on the selected one.
//!
//! Models `is_cpu_allowed()`, `select_fallback_rq()` and `cpuset_cpus_allowed_fallback()` (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, TaskId};

impl Sched {
    /// Whether a task may run on a CPU now: its affinity allows the CPU, and the CPU is usable, see
    /// [`Sched::is_cpu_usable`].
    #[inline]
    pub(crate) fn is_cpu_allowed(&self, task: TaskId, cpu: CpuId) -> bool {
        self.tasks[task].cpus_allowed.contains(cpu) && self.is_cpu_usable(task, cpu)
    }

    /// Whether a CPU is usable for a task, regardless of its affinity: online for a per-CPU kernel thread,
    /// active for any other task.
    #[inline]
    pub(crate) fn is_cpu_usable(&self, task: TaskId, cpu: CpuId) -> bool {
        let is_bound = self.tasks[task].is_per_cpu_kthread;
        if is_bound { self.hotplug.online.contains(cpu) } else { self.hotplug.active.contains(cpu) }
    }

    /// Returns a CPU for a task that cannot stay on `cpu` or go to the CPU that its class selected.
    ///
    /// Rules, in order:
    /// 1. The first allowed CPU of the node of `cpu`.
    /// 2. The first allowed CPU.
    /// 3. The affinity becomes the CPUs of the task's cpuset; the first of them.
    /// 4. The affinity becomes all CPUs; the first active one.
    pub(crate) fn select_fallback_rq(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) -> CpuId {
        let node = self.nodes[cpu];
        let in_node = self.first_allowed(task, |other| self.nodes[other] == node);
        if let Some(found) = in_node.or_else(|| self.first_allowed(task, |_| true)) {
            return found;
        }
        let home = self.tasks[task].cpu;
        let rq = self.rq_lock(home);
        let of_cpuset = self.cpus_of_cpuset(self.tasks[task].cpuset).clone();
        self.do_set_cpus_allowed(ctx, &rq, task, &of_cpuset);
        if let Some(found) = self.first_allowed(task, |_| true) {
            return found;
        }
        let all = CpuMask::full(self.rqs.len());
        self.do_set_cpus_allowed(ctx, &rq, task, &all);
        self.first_allowed(task, |_| true).expect("some CPU is active")
    }

    fn first_allowed(&self, task: TaskId, also: impl Fn(CpuId) -> bool) -> Option<CpuId> {
        let mut allowed = self.tasks[task].cpus_allowed.iter();
        allowed.find(|&cpu| self.is_cpu_allowed(task, cpu) && also(cpu))
    }
}
