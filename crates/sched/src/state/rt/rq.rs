// SPDX-License-Identifier: GPL-2.0-or-later
//! Real-time tasks of a CPU: counts, priorities, overload state and used runtime.
//!
//! Models `struct rt_rq`, `inc_rt_tasks()`, `dec_rt_tasks()`, `enqueue_pushable_task()`,
//! `dequeue_pushable_task()`, `enqueue_top_rt_rq()`, `dequeue_top_rt_rq()`, `update_rt_migration()`,
//! `rq_online_rt()`, `__disable_runtime()` and `__enable_runtime()` (6.1).

use crate::state::lb_cache::LbCache;
use crate::state::prio::Prio;
use crate::state::rq::{Rq, Rqs};
use crate::state::rt::cpupri::CpuLevel;
use crate::state::rt::queue::{PushableTasks, RtPrioArray};
use crate::state::rt::{NO_PRIO, RtRoot};
use crate::state::task::{Task, Tasks};
use crate::state::topology::RootDomain;
use crate::types::cpumask::CpuMask;
use crate::types::getters::getters;
use crate::types::ids::{CpuId, TaskId};
use crate::types::kernel_rules::KernelRules;
use crate::types::tunables::Tunables;

/// Runnable real-time tasks of a CPU, including the running one: the kernel's `struct rt_rq`.
#[derive(Clone, Debug)]
pub struct RtRq {
    pub(crate) queues: RtPrioArray,
    /// Tasks that another CPU could run and that do not run here.
    pushable: PushableTasks,
    /// Number of runnable tasks, including the running one.
    nr_running: u32,
    /// Number of runnable tasks that may use more than one CPU.
    nr_migratory: u32,
    /// Highest priority of a runnable task: `highest_prio.curr`.
    highest_curr: Prio,
    /// Highest priority of a pushable task: `highest_prio.next`.
    highest_next: Prio,
    /// Whether there are tasks that another CPU could run.
    overloaded: bool,
    /// Whether the tasks count as runnable on the CPU: `rt_queued`.
    queued: bool,
    /// Whether the tasks have used up their runtime and may not run.
    throttled: bool,
    /// Runtime used in this period, in ns.
    rt_time: u64,
    /// Runtime that the CPU has borrowed from others beyond its own, in ns; negative if it has lent.
    borrowed: i64,
    /// Whether the CPU is offline and therefore has no limit, so that no CPU borrows from it (`RUNTIME_INF`).
    unlimited: bool,
}

impl Default for RtRq {
    fn default() -> Self {
        Self {
            queues: RtPrioArray::default(),
            pushable: PushableTasks::default(),
            nr_running: 0,
            nr_migratory: 0,
            highest_curr: NO_PRIO,
            highest_next: NO_PRIO,
            overloaded: false,
            queued: false,
            throttled: false,
            rt_time: 0,
            borrowed: 0,
            unlimited: false,
        }
    }
}

impl RtRq {
    getters!(
        nr_running: u32,
        nr_migratory: u32,
        highest_curr: Prio,
        highest_next: Prio,
        overloaded: bool,
        throttled: bool,
        rt_time: u64,
    );

    /// Tasks that another CPU could run and that do not run here.
    pub(crate) fn pushable(&self) -> &PushableTasks {
        &self.pushable
    }

    /// Whether the runqueue has tasks that may run: `rt_rq_is_runnable()`.
    #[inline]
    pub fn is_runnable(&self) -> bool {
        self.queued && self.nr_running > 0
    }

    /// Number of tasks that count as runnable on the CPU: all, or none while they are throttled.
    pub(crate) fn nr_counted(&self) -> u32 {
        if self.queued { self.nr_running } else { 0 }
    }

    /// First task of the highest priority, unless all are throttled.
    pub(crate) fn first_runnable(&self) -> Option<TaskId> {
        if self.queued { self.queues.first() } else { None }
    }

    /// Moves a task to the tail or head of its priority (`requeue_task_rt()`).
    pub(crate) fn requeue(&mut self, tasks: &mut Tasks, task: TaskId, at_head: bool) {
        if tasks[task].rt.on_rq {
            self.queues.remove(tasks, task);
            self.queues.insert(tasks, task, at_head);
        }
    }

    /// Runtime of the tasks in each period, in ns; `u64::MAX` without a limit.
    pub(crate) fn runtime(&self, tunables: &Tunables) -> u64 {
        let own = tunables.rt_runtime_us * 1000;
        if own < 0 || self.unlimited { u64::MAX } else { (own + self.borrowed).max(0) as u64 }
    }

    /// Adds time for which a real-time or deadline task has run.
    pub(crate) fn charge(&mut self, delta_ns: u64) {
        self.rt_time = self.rt_time.wrapping_add(delta_ns);
    }

    /// Returns borrowed and lent runtime without asking the other CPUs.
    pub(crate) fn reset_borrowed(&mut self) {
        self.borrowed = 0;
    }

    /// Returns whether the runtime is exhausted, and throttles the tasks then. A limit of 0 throttles no task.
    pub(crate) fn throttle_if_exceeded(&mut self, tunables: &Tunables) -> bool {
        if self.rt_time <= self.runtime(tunables) {
            return false;
        }
        if tunables.rt_runtime_us == 0 {
            self.rt_time = 0;
            return false;
        }
        self.throttled = true;
        true
    }

    /// Refills the runtime for this number of periods. Returns whether the tasks were throttled and no longer are.
    pub(crate) fn refill(&mut self, nr_periods: u64, tunables: &Tunables) -> bool {
        let runtime = self.runtime(tunables);
        self.rt_time -= self.rt_time.min(nr_periods.saturating_mul(runtime));
        let ends = self.throttled && self.rt_time < runtime;
        self.throttled &= !ends;
        ends
    }

    /// Removes the limit of a CPU that goes offline, so that its tasks can leave.
    pub(crate) fn remove_limit(&mut self) {
        (self.unlimited, self.throttled, self.borrowed) = (true, false, 0);
    }

    fn set_limit(&mut self) {
        (self.unlimited, self.throttled, self.borrowed, self.rt_time) = (false, false, 0, 0);
    }
}

/// Borrows a share of the unused runtime of each other CPU in `span`, up to a whole period
/// (`do_balance_runtime()`).
pub(crate) fn borrow_runtime(rqs: &mut Rqs, cpu: CpuId, span: &CpuMask, tunables: &Tunables) {
    let (period, nr_cpus) = (tunables.rt_period_ns(), span.weight() as u64);
    for lender in rqs.ids().filter(|&lender| lender != cpu && span.contains(lender)) {
        let borrower_runtime = rqs[cpu].rt.runtime(tunables);
        let rt = &mut rqs[lender].rt;
        if rt.unlimited {
            continue;
        }
        let unused = rt.runtime(tunables).saturating_sub(rt.rt_time);
        let part = (unused / nr_cpus).min(period - borrower_runtime) as i64;
        rt.borrowed -= part;
        let rt = &mut rqs[cpu].rt;
        rt.borrowed += part;
        if unused > 0 && rt.runtime(tunables) == period {
            return;
        }
    }
}

/// Reclaims lent runtime of a CPU from any CPU in `span` that has some, or returns borrowed runtime. A CPU that is
/// offline has none.
pub(crate) fn reclaim_lent_runtime(rqs: &mut Rqs, cpu: CpuId, span: &CpuMask, tunables: &Tunables) {
    let rt = &rqs[cpu].rt;
    let mut lent = if rt.unlimited { 0 } else { -rt.borrowed };
    for partner in rqs.ids().filter(|&partner| partner != cpu && span.contains(partner)) {
        let rt = &mut rqs[partner].rt;
        if lent == 0 || rt.unlimited {
            continue;
        }
        let back = lent.min(rt.runtime(tunables) as i64);
        rt.borrowed -= back;
        lent -= back;
    }
}

impl Rq {
    /// Counts a task that has become runnable.
    pub(crate) fn inc_rt_tasks(&mut self, root: &mut RtRoot, rules: &KernelRules, p: &mut Task) {
        p.rt.on_rq = true;
        let prio = p.prio();
        self.rt.nr_running += 1;
        self.rt.nr_migratory += u32::from(p.nr_cpus_allowed > 1);
        if prio < self.rt.highest_curr {
            self.set_highest_prio(root, prio);
        }
        self.update_rt_migration(root, rules);
    }

    /// Counts out a task that is no longer runnable and has left its queue.
    pub(crate) fn dec_rt_tasks(&mut self, root: &mut RtRoot, rules: &KernelRules, p: &mut Task) {
        p.rt.on_rq = false;
        self.rt.nr_running -= 1;
        self.rt.nr_migratory -= u32::from(p.nr_cpus_allowed > 1);
        if self.rt.nr_running == 0 {
            self.set_highest_prio(root, NO_PRIO);
        } else if p.prio() == self.rt.highest_curr {
            self.set_highest_prio(root, self.rt.queues.highest());
        }
        self.update_rt_migration(root, rules);
    }

    /// Adds a waiting task to the pushable tasks, if it may use more than one CPU.
    pub(crate) fn enqueue_pushable_task(&mut self, root: &mut RtRoot, rules: &KernelRules, task: TaskId, p: &Task) {
        if p.nr_cpus_allowed > 1 {
            let prio = p.prio();
            self.rt.pushable.insert(prio, task);
            self.rt.highest_next = self.rt.highest_next.min(prio);
            if rules.rt_overload_by_pushable {
                self.update_rt_migration(root, rules);
            }
        }
    }

    /// Removes a task from the pushable tasks, because it runs here or is dequeued.
    pub(crate) fn dequeue_pushable_task(&mut self, root: &mut RtRoot, rules: &KernelRules, task: TaskId) {
        self.rt.pushable.remove(task);
        self.rt.highest_next = self.rt.pushable.first().map_or(NO_PRIO, |(prio, _)| prio);
        if rules.rt_overload_by_pushable {
            self.update_rt_migration(root, rules);
        }
    }

    /// Adds the tasks to the runnable tasks of the CPU, unless they are throttled. All are added at once: a CPU whose
    /// count rises from below two to two or more is marked as overloaded. Returns whether they may run.
    pub(crate) fn enqueue_top_rt_rq(&mut self, lb_cache: &mut LbCache, root: &mut RootDomain) -> bool {
        if self.rt.queued || self.rt.throttled {
            return false;
        }
        if self.rt.nr_running > 0 {
            self.rt.queued = true;
            self.add_nr_running(lb_cache, root, self.rt.nr_running);
        }
        true
    }

    /// Subtracts `nr` tasks from the runnable tasks of the CPU.
    pub(crate) fn dequeue_top_rt_rq(&mut self, lb_cache: &mut LbCache, nr: u32) {
        if core::mem::take(&mut self.rt.queued) {
            self.sub_nr_running(lb_cache, nr);
        }
    }

    /// Brings the real-time runqueue back online, with its own runtime.
    pub(crate) fn rt_online(&mut self, root: &mut RtRoot) {
        self.rt.set_limit();
        if self.rt.overloaded {
            root.overload.set(self.cpu, true);
        }
        root.cpupri.set(self.cpu, CpuLevel::from_prio(self.rt.highest_curr));
    }

    /// Updates the CPU's priority level: real-time tasks do not preempt on a CPU with deadline tasks.
    pub(crate) fn set_cpupri_of_deadline(&self, root: &mut RtRoot, has_tasks: bool) {
        if self.online {
            let level = if has_tasks { CpuLevel::HIGHER } else { CpuLevel::from_prio(self.rt.highest_curr) };
            root.cpupri.set(self.cpu, level);
        }
    }

    fn set_highest_prio(&mut self, root: &mut RtRoot, prio: Prio) {
        if core::mem::replace(&mut self.rt.highest_curr, prio) != prio && self.online {
            root.cpupri.set(self.cpu, CpuLevel::from_prio(prio));
        }
    }

    /// Updates whether the CPU is overloaded: it has several real-time tasks, and at least one may migrate. In 6.12
    /// it has pushable ones.
    fn update_rt_migration(&mut self, root: &mut RtRoot, rules: &KernelRules) {
        let rt = &mut self.rt;
        let overloaded = if rules.rt_overload_by_pushable {
            rt.pushable.first().is_some()
        } else {
            rt.nr_migratory > 0 && rt.nr_running > 1
        };
        if core::mem::replace(&mut rt.overloaded, overloaded) != overloaded && self.online {
            root.overload.set(self.cpu, overloaded);
        }
    }
}
