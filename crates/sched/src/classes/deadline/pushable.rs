// SPDX-License-Identifier: GPL-2.0-or-later
//! Pushable deadline tasks, and the overload state of CPUs.
//!
//! Models `enqueue_pushable_dl_task()`, `dequeue_pushable_dl_task()` and `update_dl_migration()` (6.1 and 6.12).

use crate::state::State;
use crate::state::deadline::entity::time_before;
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Whether a task could preempt on the CPU with the latest deadline (`cpudl_find()` without a mask).
    pub(crate) fn preempts_somewhere(&self, task: TaskId) -> bool {
        let (deadline, cpu) = self.dl_root.cpudl.latest();
        let p = &self.tasks[task];
        p.cpus_allowed.contains(cpu) && time_before(p.dl.deadline, deadline)
    }

    /// Adds a waiting task to the pushable tasks, if it may use more than one CPU. A governor's thread goes first.
    pub(crate) fn add_pushable_dl(&mut self, cpu: CpuId, task: TaskId) {
        let p = &mut self.tasks[task];
        if p.nr_cpus_allowed <= 1 {
            return;
        }
        debug_assert!(!p.dl.is_pushable, "{task:?} can be pushed already");
        p.dl.is_pushable = true;
        let dl = &mut self.rqs[cpu].dl;
        let is_first = if p.dl.is_special {
            dl.pushable.insert_first(p.dl.deadline, task);
            true
        } else {
            dl.pushable.insert(p.dl.deadline, task)
        };
        if is_first {
            dl.earliest_next = p.dl.deadline;
        }
        if self.rules.dl_overload_by_pushable {
            self.update_dl_overload(cpu);
        }
    }

    pub(crate) fn remove_pushable_dl(&mut self, cpu: CpuId, task: TaskId) {
        let p = &mut self.tasks[task];
        if !core::mem::take(&mut p.dl.is_pushable) {
            return;
        }
        let dl = &mut self.rqs[cpu].dl;
        let was_first = dl.pushable.remove(p.dl.deadline, task);
        if let Some((deadline, _)) = dl.pushable.first().filter(|_| was_first) {
            dl.earliest_next = deadline;
        }
        if self.rules.dl_overload_by_pushable {
            self.update_dl_overload(cpu);
        }
    }

    /// Updates whether a CPU is overloaded: it has several deadline tasks, and at least one may migrate
    /// (`update_dl_migration()`). In 6.12 it has pushable ones.
    pub(crate) fn update_dl_overload(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        let (dl, is_online) = (&mut rq.dl, rq.online);
        let is_overloaded = if self.rules.dl_overload_by_pushable {
            !dl.pushable.is_empty()
        } else {
            dl.nr_migratory > 0 && dl.nr_running > 1
        };
        if core::mem::replace(&mut dl.overloaded, is_overloaded) == is_overloaded || !is_online {
            return;
        }
        if is_overloaded {
            self.dl_root.overloaded_cpus.set(cpu);
        } else {
            self.dl_root.overloaded_cpus.clear(cpu);
        }
    }
}
