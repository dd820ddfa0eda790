// SPDX-License-Identifier: GPL-2.0-or-later
//! Detaching and attaching of tasks: which tasks of the busiest runqueue are moved.
//!
//! Models `can_migrate_task()`, `task_hot()`, `detach_tasks()`, `detach_one_task()` and `attach_tasks()`
//! (6.1, without NUMA balancing). Tasks are scanned from the one that has not run for the longest time. A
//! detached task is on no runqueue until it is attached.

use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::balance::MigrationType;
use crate::interface::ctx::Ctx;
use crate::rules::balance::env::{LbEnv, NR_MIGRATE_BREAK};
use crate::state::State;
use crate::state::counters::{DomainCounter, LbCounter};
use crate::state::lock::RqGuard;
use crate::state::rq::task_list::TaskList;
use crate::state::topology::SdFlags;
use crate::types::features::Feature;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::TaskId;
use crate::types::work::KernelOp;

/// Result of `can_migrate_task()` for one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Migratable {
    No,
    Yes,
    /// The task is cache-hot, but balancing has failed too often to spare it.
    ThoughHot,
}

/// Shifts a value to the right, by at most 63 bits (`shr_bound()`).
const fn shr_bound(value: u64, shift: u32) -> u64 {
    value >> if shift < 63 { shift } else { 63 }
}

impl State {
    /// Checks whether a task may be moved from the source to the destination (`can_migrate_task()`).
    ///
    /// Rules, in order:
    /// 1. Not while its group is throttled at either end, and never a per-CPU kernel thread.
    /// 2. Not to a CPU that the task may not use. If it may use another CPU of the destination's group, that
    ///    CPU may become the destination, except in newly-idle balancing.
    /// 3. Not while it runs.
    /// 4. A stopper moves any other task. Otherwise cache-hot tasks stay until balancing has failed more than
    ///    `cache_nice_tries` times.
    pub(crate) fn check_can_migrate(&self, env: &mut LbEnv, task: TaskId) -> Migratable {
        let p = &self.tasks[task];
        if self.fair.is_throttled_pair(p.group, env.src_cpu, env.dst_cpu) || p.is_per_cpu_kthread {
            return Migratable::No;
        }
        let sd = &self.domains.domains[env.sd];
        if !p.cpus_allowed.contains(env.dst_cpu) {
            env.flags.some_pinned = true;
            if env.idle != CpuIdleType::NewlyIdle && !env.flags.dst_pinned && !env.flags.active {
                let candidates = &self.domains.groups[sd.groups].balance_mask;
                let another = candidates.iter_and(&env.cpus).find(|&cpu| p.cpus_allowed.contains(cpu));
                if let Some(cpu) = another {
                    env.flags.dst_pinned = true;
                    env.new_dst_cpu = cpu;
                }
            }
            return Migratable::No;
        }
        env.flags.all_pinned = false;
        if p.on_cpu {
            return Migratable::No;
        }
        if env.flags.active || !self.task_hot(env, task) {
            Migratable::Yes
        } else if sd.nr_balance_failed > sd.cache_nice_tries {
            Migratable::ThoughHot
        } else {
            Migratable::No
        }
    }

    /// Whether a task is cache-hot on the source.
    ///
    /// Rules, in order:
    /// 1. SCHED_IDLE tasks never are, and no task is among the siblings of a core.
    /// 2. With CACHE_HOT_BUDDY, buddies are if the destination has tasks.
    /// 3. Other tasks are if they ran within the migration cost.
    fn task_hot(&self, env: &LbEnv, task: TaskId) -> bool {
        let p = &self.tasks[task];
        if p.has_idle_policy() || self.domains.domains[env.sd].flags.intersects(SdFlags::SHARE_CPUCAPACITY) {
            return false;
        }
        let se = &self.fair.entities[p.se];
        let cfs_rq = &self.fair.cfs_rqs[se.cfs_rq];
        let is_buddy = cfs_rq.next == Some(p.se) || cfs_rq.last == Some(p.se);
        if is_buddy && self.features.has(Feature::CacheHotBuddy) && self.rqs[env.dst_cpu].nr_running > 0 {
            return true;
        }
        match self.tunables.migration_cost_ns {
            -1 => true,
            0 => false,
            cost => {
                let since = self.rqs[env.src_cpu].clock_task.wrapping_sub(se.exec_start) as i64;
                since < cost
            }
        }
    }

    /// Detaches tasks from the source until the imbalance is used up. Returns their number.
    ///
    /// Rules, in order:
    /// 1. A runqueue with at most one task is left alone: other CPUs were faster. With the tunable
    ///    `redo_emptied` it is scanned like any other, and if the scan meets no task that could be moved, all
    ///    count as pinned. Without an imbalance, no runqueue is scanned.
    /// 2. A destination without work leaves the source its last task.
    /// 3. At most `loop_max` tasks are scanned, and after `loop_break` tasks the lock is dropped.
    /// 4. A task that may not be moved, or exceeds the remaining imbalance, goes to the end of the list. Each
    ///    failure halves the size that counts. With the tunable `detach_half`, half of the load counts, and
    ///    after too many failures the size does not matter.
    pub(crate) fn detach_tasks(&mut self, ctx: &mut Ctx<'_>, guard: &RqGuard, env: &mut LbEnv) -> u32 {
        guard.assert_is_of(env.src_cpu);
        let src = guard.cpu();
        if self.rqs[src].nr_running <= 1 {
            if env.decision.nr_moved == 0 {
                env.flags.emptied = true;
                env.decision.emptied += 1;
            }
            if !self.tunables.changes.redo_emptied {
                env.flags.all_pinned = false;
                return 0;
            }
        }
        if env.imbalance <= 0 {
            return 0;
        }
        let mut detached = 0;
        while let Some(task) = self.rqs[src].cfs_tasks.oldest() {
            if env.idle != CpuIdleType::NotIdle && self.rqs[src].nr_running <= 1 {
                break;
            }
            env.loop_count += 1;
            if env.loop_count > env.loop_max {
                break;
            }
            if env.loop_count > env.loop_break {
                env.loop_break += NR_MIGRATE_BREAK;
                env.flags.need_break = true;
                break;
            }
            ctx.charge(KernelOp::DetachScan);
            env.decision.nr_scanned += 1;
            let migratable = self.check_can_migrate(env, task);
            if migratable == Migratable::No || !self.take_from_imbalance(env, task) {
                self.rqs[env.src_cpu].cfs_tasks.move_to_newest(&mut self.tasks, task);
                continue;
            }
            self.detach_task(ctx, guard, env, task, migratable);
            env.tasks.push_newest(&mut self.tasks, task);
            detached += 1;
            if env.imbalance <= 0 {
                break;
            }
        }
        self.domains.domains[env.sd].count(ctx, DomainCounter::Lb(LbCounter::Gained, env.idle), i64::from(detached));
        detached
    }

    /// Subtracts a task from the imbalance. Returns false if the task is more than what is left.
    fn take_from_imbalance(&mut self, env: &mut LbEnv, task: TaskId) -> bool {
        let nr_balance_failed = self.domains.domains[env.sd].nr_balance_failed;
        let amount = match env.migration {
            MigrationType::Load => {
                let load = self.fair.task_h_load(self.tasks[task].se, self.jiffies).max(1);
                if self.features.has(Feature::LbMin) && load < 16 && nr_balance_failed == 0 {
                    return false;
                }
                load
            }
            MigrationType::Util => self.entity(task).avg.task_util_est(),
            MigrationType::Task => {
                env.imbalance -= 1;
                return true;
            }
            MigrationType::Misfit => {
                if self.task_fits_cpu(task, env.src_cpu) {
                    return false;
                }
                env.imbalance = 0;
                return true;
            }
        };
        let is_too_much = if self.tunables.changes.detach_half && env.migration == MigrationType::Load {
            amount / 2 > env.imbalance as u64 && nr_balance_failed <= self.domains.domains[env.sd].cache_nice_tries
        } else {
            shr_bound(amount, nr_balance_failed) > env.imbalance as u64
        };
        if is_too_much {
            return false;
        }
        env.imbalance -= amount as i64;
        true
    }

    /// Detaches the first task that may be moved from the source.
    pub(crate) fn detach_one_task(&mut self, ctx: &mut Ctx<'_>, src: &RqGuard, env: &mut LbEnv) -> Option<TaskId> {
        src.assert_is_of(env.src_cpu);
        let mut next = self.rqs[src.cpu()].cfs_tasks.oldest();
        while let Some(task) = next {
            ctx.charge(KernelOp::DetachScan);
            let migratable = self.check_can_migrate(env, task);
            if migratable != Migratable::No {
                self.detach_task(ctx, src, env, task, migratable);
                self.domains.domains[env.sd].count(ctx, DomainCounter::Lb(LbCounter::Gained, env.idle), 1);
                return Some(task);
            }
            next = TaskList::newer(&self.tasks, task);
        }
        None
    }

    fn detach_task(&mut self, ctx: &mut Ctx<'_>, src: &RqGuard, env: &LbEnv, task: TaskId, migratable: Migratable) {
        ctx.charge(KernelOp::DetachTask);
        if migratable == Migratable::ThoughHot {
            self.domains.domains[env.sd].count(ctx, DomainCounter::Lb(LbCounter::HotGained, env.idle), 1);
        }
        self.deactivate_task(ctx, src, task, DequeueFlags::default());
        self.set_task_cpu(ctx, task, env.dst_cpu);
    }

    /// Attaches all detached tasks to the destination, the last detached first.
    pub(crate) fn attach_tasks(&mut self, ctx: &mut Ctx<'_>, dst: &RqGuard, env: &mut LbEnv) {
        dst.assert_is_of(env.dst_cpu);
        while let Some(task) = env.tasks.newest() {
            env.tasks.remove(&mut self.tasks, task);
            self.attach_task(ctx, dst, task);
        }
    }

    /// Attaches a detached task to a runqueue whose clock is up to date.
    pub(crate) fn attach_task(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, task: TaskId) {
        ctx.charge(KernelOp::AttachTask);
        self.activate_task(ctx, rq, task, EnqueueFlags::default());
        self.check_preempt_curr(ctx, rq, task, false);
    }
}
