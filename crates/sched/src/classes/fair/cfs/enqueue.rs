// SPDX-License-Identifier: GPL-2.0-or-later
//! Enqueue and dequeue of fair tasks in 6.1, where virtual runtimes are relative to that of the cfs_rq.
//!
//! Models `enqueue_task_fair()`, `dequeue_task_fair()`, `enqueue_entity()` and `dequeue_entity()` (6.1).

use crate::classes::fair::cfs::place::Placement;
use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::dirty::TaskCounts;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::work::KernelOp;

impl State {
    /// Enqueues a fair task. Rules, in order:
    /// 1. The CPU's estimated utilisation grows. A task that waited for I/O requests a higher frequency.
    /// 2. From the task upwards, each entity that is not queued yet is enqueued.
    /// 3. Further up, averages, runnable counts and weights of the groups are updated.
    /// 4. Both loops end at a throttled group: above it the task does not count.
    pub(in crate::classes::fair) fn enqueue_task_cfs(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        flags: EnqueueFlags,
    ) {
        flags.charge(ctx);
        let p = &self.tasks[task];
        let (first, in_iowait) = (p.se, p.in_iowait);
        let mut counted = TaskCounts { all: 1, idle: u32::from(p.has_idle_policy()), delayed: 0 };
        self.fair.change_util_est(self.features, &mut self.lb_cache, cpu, first, u32::wrapping_add);
        if in_iowait {
            self.cpufreq_iowait(ctx, cpu);
        }
        let mut entity = Some(first);
        let mut entity_flags = flags;
        while let Some(se) = entity {
            let queued = &self.fair.entities[se];
            if queued.on_rq {
                break;
            }
            ctx.charge(KernelOp::GroupLevel);
            let (cfs_rq, parent) = (queued.cfs_rq, queued.parent);
            self.enqueue_entity_cfs(ctx, cfs_rq, se, entity_flags);
            let queue = &mut self.fair.cfs_rqs[cfs_rq];
            queue.count_in(&mut counted);
            if queue.throttled {
                return self.hrtick_update_cfs(ctx, cpu);
            }
            entity_flags = EnqueueFlags { wakeup: true, ..EnqueueFlags::default() };
            entity = parent;
        }
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.fair.place_of(se);
            self.refresh_entity(ctx, cfs_rq, se, UpdateLoad::TG);
            self.update_cfs_group_cfs(ctx, se);
            let queue = &mut self.fair.cfs_rqs[cfs_rq];
            queue.count_in(&mut counted);
            if queue.throttled {
                return self.hrtick_update_cfs(ctx, cpu);
            }
            entity = parent;
        }
        self.rqs[cpu].add_nr_running(&mut self.lb_cache, &mut self.domains.root, 1);
        if flags.wakeup {
            self.check_update_overutilized_status(ctx, cpu);
        }
        self.hrtick_update_cfs(ctx, cpu);
    }

    /// Dequeues a fair task. Rules, in order:
    /// 1. From the task upwards, each entity is dequeued until a group has other runnable entities.
    /// 2. If the task sleeps, that group becomes the next buddy, so that it continues.
    /// 3. Further up, averages, runnable counts and weights are updated.
    /// 4. Both loops end at a throttled group: above it the task did not count.
    /// 5. A CPU that has only idle work left balances soon.
    /// 6. The estimated utilisation of a task that sleeps is updated.
    pub(in crate::classes::fair) fn dequeue_task_cfs(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        flags: DequeueFlags,
    ) {
        ctx.charge(KernelOp::Dequeue);
        let had_only_idle = self.fair.sched_idle_cpu(&self.rqs[cpu]);
        let p = &self.tasks[task];
        let first = p.se;
        let mut counted = TaskCounts { all: 1, idle: u32::from(p.has_idle_policy()), delayed: 0 };
        self.fair.change_util_est(self.features, &mut self.lb_cache, cpu, first, u32::saturating_sub);
        let mut entity = Some(first);
        let mut entity_flags = flags;
        while let Some(se) = entity {
            ctx.charge(KernelOp::GroupLevel);
            let (cfs_rq, parent) = self.fair.place_of(se);
            self.dequeue_entity_cfs(ctx, cfs_rq, se, entity_flags);
            let queue = &mut self.fair.cfs_rqs[cfs_rq];
            queue.count_out(&mut counted);
            entity = parent;
            if queue.throttled {
                return self.finish_dequeue(ctx, cpu, first, flags);
            }
            if queue.load.weight != 0 {
                let marks_buddy = flags.sleep && !queue.is_throttled_hierarchy();
                if let Some(group) = parent.filter(|_| marks_buddy) {
                    self.fair.set_next_buddy(&self.tasks, group);
                }
                break;
            }
            entity_flags.sleep = true;
        }
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.fair.place_of(se);
            self.refresh_entity(ctx, cfs_rq, se, UpdateLoad::TG);
            self.update_cfs_group_cfs(ctx, se);
            let queue = &mut self.fair.cfs_rqs[cfs_rq];
            queue.count_out(&mut counted);
            if queue.throttled {
                return self.finish_dequeue(ctx, cpu, first, flags);
            }
            entity = parent;
        }
        self.rqs[cpu].sub_nr_running(&mut self.lb_cache, 1);
        if !had_only_idle && self.fair.sched_idle_cpu(&self.rqs[cpu]) && self.tunables.changes.sched_idle_busy == 0 {
            self.nohz.cpus[cpu].next_balance = self.jiffies;
        }
        self.finish_dequeue(ctx, cpu, first, flags);
    }

    fn finish_dequeue(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, se: EntityId, flags: DequeueFlags) {
        self.fair.entities[se].util_est_update(self.features, &self.rules, &self.rqs[cpu], flags.sleep);
        self.hrtick_update_cfs(ctx, cpu);
    }

    /// Enqueues one entity.
    ///
    /// An entity that did not sleep here has a virtual runtime relative to `min_vruntime`, which becomes
    /// absolute. For the running entity this happens before time is charged, for others afterwards, because
    /// charging advances `min_vruntime`.
    pub(in crate::classes::fair) fn enqueue_entity_cfs(
        &mut self,
        ctx: &mut Ctx<'_>,
        cfs_rq: CfsRqId,
        se: EntityId,
        flags: EnqueueFlags,
    ) {
        let is_relative = !flags.wakeup || flags.migrated;
        let is_curr = self.fair.cfs_rqs[cfs_rq].curr == Some(se);
        if is_relative && is_curr {
            self.fair.entities[se].make_vruntime_absolute(self.fair.cfs_rqs[cfs_rq].min_vruntime);
        }
        self.update_curr_cfs(ctx, cfs_rq);
        if is_relative && !is_curr {
            self.fair.entities[se].make_vruntime_absolute(self.fair.cfs_rqs[cfs_rq].min_vruntime);
        }
        self.refresh_entity(ctx, cfs_rq, se, UpdateLoad::ATTACH);
        self.update_cfs_group_cfs(ctx, se);
        let cpu = self.fair.cfs_rqs[cfs_rq].cpu;
        self.fair.account_entity_enqueue(&mut self.rqs[cpu], &mut self.tasks, cfs_rq, se);
        if flags.wakeup {
            self.place_entity_cfs(cfs_rq, se, Placement::Wakeup);
        }
        self.fair.entities[se].join(flags);
        if !is_curr {
            self.fair.insert_into_timeline_cfs(cfs_rq, se);
        }
        if self.fair.cfs_rqs[cfs_rq].nr_running == 1 {
            self.try_list_cfs_rq(ctx, cfs_rq);
        }
    }

    /// Dequeues one entity. The virtual runtime of an entity that does not sleep becomes relative to
    /// `min_vruntime`.
    pub(in crate::classes::fair) fn dequeue_entity_cfs(
        &mut self,
        ctx: &mut Ctx<'_>,
        cfs_rq: CfsRqId,
        se: EntityId,
        flags: DequeueFlags,
    ) {
        self.update_curr_cfs(ctx, cfs_rq);
        self.detach_entity(ctx, cfs_rq, se);
        if self.fair.cfs_rqs[cfs_rq].curr != Some(se) {
            self.fair.remove_from_timeline_cfs(cfs_rq, se);
        }
        self.fair.entities[se].set_on_rq(false);
        let cpu = self.fair.cfs_rqs[cfs_rq].cpu;
        self.fair.account_entity_dequeue(&mut self.rqs[cpu], &mut self.tasks, cfs_rq, se);
        if !flags.sleep {
            self.fair.entities[se].make_vruntime_relative(self.fair.cfs_rqs[cfs_rq].min_vruntime);
        }
        self.return_cfs_rq_runtime(ctx, cfs_rq);
        self.update_cfs_group_cfs(ctx, se);
        // An entity that returns at once must not let `min_vruntime` advance meanwhile.
        if flags.moved || !flags.save {
            self.fair.update_min_vruntime(cfs_rq);
        }
        if self.fair.cfs_rqs[cfs_rq].nr_running == 0 {
            self.fair.cfs_rqs[cfs_rq].update_idle_cfs_rq_clock_pelt();
        }
    }
}
