// SPDX-License-Identifier: GPL-2.0-or-later
//! Enqueue and dequeue of fair tasks, together with their group entities.
//!
//! Models `enqueue_task_fair()`, `dequeue_task_fair()`, `enqueue_entity()` and `dequeue_entity()` (6.1).

use crate::classes::fair::place::Placement;
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::dirty::TaskCounts;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::work::KernelOp;

/// Reason and mode of an enqueue (`ENQUEUE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EnqueueFlags {
    /// The task was woken.
    pub wakeup: bool,
    /// The task comes from another CPU.
    pub migrated: bool,
    /// The task was dequeued briefly for a change.
    pub restore: bool,
    /// The task returns at another position.
    pub moved: bool,
    /// The task is queued at the head of its real-time priority.
    pub head: bool,
    /// The deadline budget is replenished.
    pub replenish: bool,
    /// The task is new. Only 6.12 distinguishes this at the enqueue.
    pub initial: bool,
    /// The task was woken while its dequeue was delayed, so it is still queued (6.12).
    pub delayed: bool,
    /// The path has charged the operation already, so that its time passes before the effect is visible.
    pub is_paid: bool,
}

impl EnqueueFlags {
    /// Counts the operation, unless the path has charged it already.
    #[inline]
    pub(crate) fn charge(self, ctx: &mut Ctx<'_>) {
        ctx.op_counts.count(KernelOp::Enqueue, u64::from(!self.is_paid));
    }
}

/// Reason and mode of a dequeue (`DEQUEUE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DequeueFlags {
    /// The task goes to sleep.
    pub sleep: bool,
    /// The task is dequeued briefly for a change.
    pub save: bool,
    /// The task will return at another position.
    pub moved: bool,
    /// The entity leaves at once even if it sleeps (6.12).
    pub special: bool,
    /// A dequeue that was delayed takes place (6.12).
    pub delayed: bool,
}

impl State {
    /// Enqueues a fair task. Rules, in order:
    /// 1. The CPU's estimated utilisation grows. A task that waited for I/O requests a higher frequency.
    /// 2. From the task upwards, each entity that is not queued yet is enqueued.
    /// 3. Further up, averages, runnable counts and weights of the groups are updated.
    /// 4. Both loops end at a throttled group: above it the task does not count.
    pub(crate) fn enqueue_task_fair(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        flags.charge(ctx);
        if self.rules.fair_is_eevdf {
            return self.enqueue_task_eevdf(ctx, cpu, task, flags);
        }
        self.util_est_enqueue(cpu, task);
        if self.tasks[task].in_iowait {
            self.cpufreq_iowait(ctx, cpu);
        }
        let mut is_idle = self.tasks[task].has_idle_policy();
        let mut entity = Some(self.tasks[task].se);
        let mut entity_flags = flags;
        while let Some(se) = entity {
            if self.entities[se].on_rq {
                break;
            }
            ctx.charge(KernelOp::GroupLevel);
            let (cfs_rq, parent) = self.place_of(se);
            self.enqueue_entity(ctx, cfs_rq, se, entity_flags);
            self.count_task_in(cfs_rq, &mut is_idle);
            if self.cfs_rqs[cfs_rq].throttled {
                return self.hrtick_update(ctx, cpu);
            }
            entity_flags = EnqueueFlags { wakeup: true, ..EnqueueFlags::default() };
            entity = parent;
        }
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.place_of(se);
            self.refresh_queued_group(ctx, cfs_rq, se);
            self.count_task_in(cfs_rq, &mut is_idle);
            if self.cfs_rqs[cfs_rq].throttled {
                return self.hrtick_update(ctx, cpu);
            }
            entity = parent;
        }
        self.add_nr_running(cpu, 1);
        if flags.wakeup {
            self.check_update_overutilized_status(ctx, cpu);
        }
        self.hrtick_update(ctx, cpu);
    }

    /// Dequeues a fair task. Rules, in order:
    /// 1. From the task upwards, each entity is dequeued until a group has other runnable entities.
    /// 2. If the task sleeps, that group becomes the next buddy, so that it continues.
    /// 3. Further up, averages, runnable counts and weights are updated.
    /// 4. Both loops end at a throttled group: above it the task did not count.
    /// 5. A CPU that has only idle work left balances soon.
    /// 6. The estimated utilisation of a task that sleeps is updated.
    ///
    /// Returns whether the task has left the runqueue: in 6.12 it may stay for a while although it sleeps.
    pub(crate) fn dequeue_task_fair(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        flags: DequeueFlags,
    ) -> bool {
        ctx.charge(KernelOp::Dequeue);
        if self.rules.fair_is_eevdf {
            return self.dequeue_task_eevdf(ctx, cpu, task, flags);
        }
        let had_only_idle = self.sched_idle_cpu(cpu);
        self.util_est_dequeue(cpu, task);
        let mut is_idle = self.tasks[task].has_idle_policy();
        let mut entity = Some(self.tasks[task].se);
        let mut entity_flags = flags;
        while let Some(se) = entity {
            ctx.charge(KernelOp::GroupLevel);
            let (cfs_rq, parent) = self.place_of(se);
            self.dequeue_entity(ctx, cfs_rq, se, entity_flags);
            self.count_task_out(cfs_rq, &mut is_idle);
            entity = parent;
            if self.cfs_rqs[cfs_rq].throttled {
                return self.finish_dequeue(ctx, cpu, task, flags);
            }
            if self.cfs_rqs[cfs_rq].load.weight != 0 {
                if let Some(group) = parent.filter(|_| flags.sleep && !self.is_throttled_hierarchy(cfs_rq)) {
                    self.set_next_buddy(group);
                }
                break;
            }
            entity_flags.sleep = true;
        }
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.place_of(se);
            self.refresh_queued_group(ctx, cfs_rq, se);
            self.count_task_out(cfs_rq, &mut is_idle);
            if self.cfs_rqs[cfs_rq].throttled {
                return self.finish_dequeue(ctx, cpu, task, flags);
            }
            entity = parent;
        }
        self.sub_nr_running(cpu, 1);
        if !had_only_idle && self.sched_idle_cpu(cpu) && self.tunables.changes.sched_idle_busy == 0 {
            self.nohz.cpus[cpu].next_balance = self.jiffies;
        }
        self.finish_dequeue(ctx, cpu, task, flags)
    }

    fn finish_dequeue(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: DequeueFlags) -> bool {
        self.util_est_update(cpu, task, flags.sleep);
        self.hrtick_update(ctx, cpu);
        true
    }

    pub(super) fn refresh_queued_group(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId) {
        self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::TG);
        self.se_update_runnable(se);
        self.update_cfs_group(ctx, se);
    }

    /// Adds a task to the counts of a cfs_rq. Above an idle group the task counts as idle.
    fn count_task_in(&mut self, cfs_rq: CfsRqId, is_idle: &mut bool) {
        self.count_tasks_in(cfs_rq, TaskCounts { all: 1, idle: u32::from(*is_idle), delayed: 0 });
        *is_idle |= self.cfs_rqs[cfs_rq].is_idle;
    }

    fn count_task_out(&mut self, cfs_rq: CfsRqId, is_idle: &mut bool) {
        self.count_tasks_out(cfs_rq, TaskCounts { all: 1, idle: u32::from(*is_idle), delayed: 0 });
        *is_idle |= self.cfs_rqs[cfs_rq].is_idle;
    }

    /// Enqueues one entity.
    ///
    /// An entity that did not sleep here has a virtual runtime relative to `min_vruntime`, which becomes
    /// absolute. For the running entity this happens before time is charged, for others afterwards, because
    /// charging advances `min_vruntime`.
    ///
    /// In 6.12 an entity is placed by its lag each time, after its weight has changed.
    pub(crate) fn enqueue_entity(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId, flags: EnqueueFlags) {
        let is_eevdf = self.rules.fair_is_eevdf;
        let is_relative = !is_eevdf && (!flags.wakeup || flags.migrated);
        let is_curr = self.cfs_rqs[cfs_rq].curr == Some(se);
        if is_curr && is_eevdf {
            self.place_entity_eevdf(cfs_rq, se, flags.initial);
        }
        if is_relative && is_curr {
            self.make_vruntime_absolute(cfs_rq, se);
        }
        self.update_curr(ctx, cfs_rq);
        if is_relative && !is_curr {
            self.make_vruntime_absolute(cfs_rq, se);
        }
        self.update_load_avg(ctx, cfs_rq, se, UpdateLoad { attach: true, ..UpdateLoad::TG });
        self.se_update_runnable(se);
        self.update_cfs_group(ctx, se);
        if is_eevdf && !is_curr {
            self.place_entity_eevdf(cfs_rq, se, flags.initial);
        }
        self.account_entity_enqueue(cfs_rq, se);
        if flags.wakeup && !is_eevdf {
            self.place_entity(cfs_rq, se, Placement::Wakeup);
        }
        let entity = &mut self.entities[se];
        if flags.migrated {
            entity.exec_start = 0;
        }
        entity.set_on_rq(true);
        if !is_curr {
            self.insert_into_timeline(cfs_rq, se);
        }
        if self.cfs_rqs[cfs_rq].nr_running == 1 {
            self.check_enqueue_throttle(ctx, cfs_rq);
            if !self.is_throttled_hierarchy(cfs_rq) {
                self.list_add_leaf_cfs_rq(cfs_rq);
            } else {
                self.start_throttled_clock(ctx, cfs_rq);
            }
        }
    }

    /// Dequeues one entity. The virtual runtime of an entity that does not sleep becomes relative to
    /// `min_vruntime`.
    ///
    /// Returns whether the entity has left: in 6.12 it may stay for a while.
    pub(crate) fn dequeue_entity(
        &mut self,
        ctx: &mut Ctx<'_>,
        cfs_rq: CfsRqId,
        se: EntityId,
        flags: DequeueFlags,
    ) -> bool {
        let owner = self.entities[se].task();
        let is_migrating = owner.is_some_and(|task| self.tasks[task].is_migrating());
        self.update_curr(ctx, cfs_rq);
        let is_eevdf = self.rules.fair_is_eevdf;
        if is_eevdf && self.delay_dequeue(ctx, cfs_rq, se, flags) {
            return false;
        }
        self.update_load_avg(ctx, cfs_rq, se, UpdateLoad { detach: is_migrating, ..UpdateLoad::TG });
        self.se_update_runnable(se);
        self.clear_buddies(cfs_rq, se);
        if is_eevdf {
            let lag = self.update_entity_lag(cfs_rq, se);
            if lag != self.entities[se].vlag {
                self.report_limited_lag(ctx, se, lag, flags);
            }
        }
        if self.cfs_rqs[cfs_rq].curr != Some(se) {
            self.remove_from_timeline(cfs_rq, se);
        }
        if is_eevdf && !flags.sleep {
            self.keep_relative_deadline(se);
        }
        self.entities[se].set_on_rq(false);
        self.account_entity_dequeue(cfs_rq, se);
        if !flags.sleep && !is_eevdf {
            let min_vruntime = self.cfs_rqs[cfs_rq].min_vruntime;
            let entity = &mut self.entities[se];
            entity.vruntime = entity.vruntime.wrapping_sub(min_vruntime);
        }
        self.return_cfs_rq_runtime(ctx, cfs_rq);
        self.update_cfs_group(ctx, se);
        // An entity that returns at once must not let `min_vruntime` advance meanwhile.
        if !is_eevdf && (flags.moved || !flags.save) {
            self.update_min_vruntime(cfs_rq);
        }
        if flags.delayed {
            self.finish_delayed_dequeue(ctx, se);
        }
        if self.cfs_rqs[cfs_rq].nr_running == 0 {
            self.update_idle_cfs_rq_clock_pelt(cfs_rq);
        }
        true
    }

    fn make_vruntime_absolute(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let min_vruntime = self.cfs_rqs[cfs_rq].min_vruntime;
        let entity = &mut self.entities[se];
        entity.vruntime = entity.vruntime.wrapping_add(min_vruntime);
    }

    /// Records the number of runnable tasks that a group's entity represents (`se_update_runnable()`).
    pub(crate) fn se_update_runnable(&mut self, se: EntityId) {
        if let Some(below) = self.entities[se].my_q() {
            let below = &self.cfs_rqs[below];
            self.entities[se].runnable_weight = u64::from(below.h_nr_runnable);
        }
    }

    #[inline(always)]
    fn account_entity_enqueue(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let is_idle = self.se_is_idle(se);
        let queue = &mut self.cfs_rqs[cfs_rq];
        queue.load.add(self.entities[se].load.weight);
        queue.nr_running += 1;
        queue.idle_nr_running += u32::from(is_idle);
        if let Some(task) = self.entities[se].task() {
            self.rqs[queue.cpu].cfs_tasks.push_newest(&mut self.tasks, task);
        }
    }

    fn account_entity_dequeue(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let is_idle = self.se_is_idle(se);
        let queue = &mut self.cfs_rqs[cfs_rq];
        queue.load.sub(self.entities[se].load.weight);
        queue.nr_running -= 1;
        queue.idle_nr_running -= u32::from(is_idle);
        if let Some(task) = self.entities[se].task() {
            self.rqs[queue.cpu].cfs_tasks.remove(&mut self.tasks, task);
        }
    }
}
