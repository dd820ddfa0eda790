// SPDX-License-Identifier: GPL-2.0-or-later
//! Enqueue and dequeue of fair tasks in 6.12, where slices are passed up and a dequeue may be delayed.
//!
//! Models `enqueue_task_fair()`, `dequeue_task_fair()` and `dequeue_entities()` (6.12.117).

use crate::classes::deadline::server::fair_server;
use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::dirty::TaskCounts;
use crate::state::task::OnRq;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::work::KernelOp;

impl State {
    /// Enqueues a fair task. Rules, in order:
    /// 1. The CPU's estimated utilisation grows, unless a delayed task only moves or changes.
    /// 2. A woken task whose dequeue was delayed is still queued, and that is all.
    /// 3. From the task upwards, each entity that is not queued yet is enqueued, with the shortest slice of those below.
    ///    The delay of the first one that is queued ends.
    /// 4. Further up, averages, weights, slices and counts of the groups are updated.
    /// 5. Both loops end at a throttled group: above it the task does not count.
    /// 6. The first fair task of the CPU starts its fair server.
    #[inline(never)]
    pub(in crate::classes::fair) fn enqueue_task_eevdf(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        flags: EnqueueFlags,
    ) {
        flags.charge(ctx);
        let p = &self.tasks[task];
        let (first, is_migrating) = (p.se, p.is_migrating());
        let (in_iowait, is_idle) = (p.in_iowait, p.has_idle_policy());
        let is_delayed = self.fair.entities[first].is_delayed;
        if !(is_delayed && (is_migrating || flags.restore)) {
            self.fair.change_util_est(self.features, &mut self.lb_cache, cpu, first, u32::wrapping_add);
        }
        if flags.delayed {
            return self.requeue_delayed_entity(ctx, first);
        }
        if in_iowait {
            self.cpufreq_iowait(ctx, cpu);
        }
        let had_tasks = self.fair.cfs_rqs[CfsRqId::root(cpu)].h_nr_running > 0;
        let delayed = u32::from(is_delayed && !flags.wakeup);
        let mut counted = TaskCounts { all: 1, idle: u32::from(is_idle), delayed };
        let (mut entity, mut entity_flags, mut slice) = (Some(first), flags, None);
        while let Some(se) = entity {
            let queued = &mut self.fair.entities[se];
            if queued.on_rq {
                if queued.is_delayed {
                    self.requeue_delayed_entity(ctx, se);
                }
                break;
            }
            ctx.charge(KernelOp::GroupLevel);
            let (cfs_rq, parent) = (queued.cfs_rq, queued.parent);
            if let Some(slice) = slice {
                (queued.slice, queued.has_custom_slice) = (slice, true);
            }
            self.enqueue_entity_eevdf(ctx, cfs_rq, se, entity_flags);
            // With a base slice of 0 a group keeps its own slice.
            slice = parent.map(|_| self.fair.min_slice(cfs_rq)).filter(|&slice| slice > 0);
            let queue = &mut self.fair.cfs_rqs[cfs_rq];
            queue.count_in(&mut counted);
            if queue.throttled {
                return self.hrtick_update_eevdf(ctx, cpu);
            }
            entity_flags = EnqueueFlags { wakeup: true, ..EnqueueFlags::default() };
            entity = parent;
        }
        let mut slice = slice.unwrap_or_default();
        while let Some(se) = entity {
            let (cfs_rq, parent) = self.fair.place_of(se);
            self.refresh_entity(ctx, cfs_rq, se, UpdateLoad::TG);
            self.update_cfs_group_eevdf(ctx, se);
            slice = self.fair.pass_slice_up(cfs_rq, se, slice);
            let queue = &mut self.fair.cfs_rqs[cfs_rq];
            queue.count_in(&mut counted);
            if queue.throttled {
                return self.hrtick_update_eevdf(ctx, cpu);
            }
            entity = parent;
        }
        if !had_tasks {
            let rq = &self.rqs[cpu];
            if rq.nr_running == 0 {
                let se = &mut self.fair.entities[self.tasks[rq.curr].se];
                self.tasks[fair_server(cpu)].dl.charge_idle_time(rq.clock_task, &mut se.exec_start);
            }
            self.dl_server_start(ctx, cpu);
        }
        self.rqs[cpu].add_nr_running(&mut self.lb_cache, &mut self.domains.root, 1);
        if flags.wakeup {
            self.check_update_overutilized_status(ctx, cpu);
        }
        self.hrtick_update_eevdf(ctx, cpu);
    }

    /// Dequeues a fair task. Returns false if the dequeue is delayed.
    #[inline(never)]
    pub(in crate::classes::fair) fn dequeue_task_eevdf(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        task: TaskId,
        flags: DequeueFlags,
    ) -> bool {
        ctx.charge(KernelOp::Dequeue);
        let p = &self.tasks[task];
        let (se, is_migrating) = (p.se, p.is_migrating());
        if !(self.fair.entities[se].is_delayed && (is_migrating || flags.save)) {
            self.fair.change_util_est(self.features, &mut self.lb_cache, cpu, se, u32::saturating_sub);
        }
        self.fair.entities[se].util_est_update(self.features, &self.rules, &self.rqs[cpu], flags.sleep);
        let has_left = self.dequeue_entities(ctx, cpu, se, flags);
        if has_left {
            self.hrtick_update_eevdf(ctx, cpu);
        }
        has_left
    }

    /// Dequeues an entity and those above it that have no other. Returns false if the dequeue of a task is delayed.
    ///
    /// Rules, in order:
    /// 1. From the entity upwards, each is dequeued until a group has others, or until the dequeue of a group's entity is
    ///    delayed. Above the first one, groups always sleep.
    /// 2. If a task sleeps, the group with others becomes the next buddy, so that it continues.
    /// 3. Further up, averages, weights, slices and counts are updated.
    /// 4. Both loops end at a throttled group: above it the task did not count.
    /// 5. A CPU that has only idle work left balances soon.
    /// 6. A task whose delay ends here now really sleeps.
    pub(super) fn dequeue_entities(
        &mut self,
        ctx: &mut Ctx<'_>,
        cpu: CpuId,
        first: EntityId,
        flags: DequeueFlags,
    ) -> bool {
        let had_only_idle = self.fair.sched_idle_cpu(&self.rqs[cpu]);
        let task = self.fair.entities[first].task();
        let mut counted = task.map_or(TaskCounts { all: 0, idle: 0, delayed: 0 }, |task| TaskCounts {
            all: 1,
            idle: u32::from(self.tasks[task].has_idle_policy()),
            delayed: u32::from(self.fair.entities[first].is_delayed && !flags.sleep && !flags.delayed),
        });
        let (mut entity, mut level_flags, mut slice) = (Some(first), flags, 0);
        let mut is_throttled = false;
        while let Some(se) = entity {
            ctx.charge(KernelOp::GroupLevel);
            let (cfs_rq, parent) = self.fair.place_of(se);
            if !self.dequeue_entity_eevdf(ctx, cfs_rq, se, level_flags) {
                if task.is_some() && se == first {
                    return false;
                }
                slice = self.fair.min_slice(cfs_rq);
                break;
            }
            let queue = &mut self.fair.cfs_rqs[cfs_rq];
            queue.count_out(&mut counted);
            entity = parent;
            is_throttled = queue.throttled;
            if is_throttled {
                break;
            }
            if queue.load.weight != 0 {
                let marks_buddy = flags.sleep && !queue.is_throttled_hierarchy();
                slice = parent.map_or(0, |_| self.fair.min_slice(cfs_rq));
                if let Some(group) = parent.filter(|_| marks_buddy) {
                    self.fair.set_next_buddy(&self.tasks, group);
                }
                break;
            }
            level_flags = DequeueFlags { sleep: true, special: false, delayed: false, ..level_flags };
        }
        while let Some(se) = entity.filter(|_| !is_throttled) {
            let (cfs_rq, parent) = self.fair.place_of(se);
            self.refresh_entity(ctx, cfs_rq, se, UpdateLoad::TG);
            self.update_cfs_group_eevdf(ctx, se);
            slice = self.fair.pass_slice_up(cfs_rq, se, slice);
            let queue = &mut self.fair.cfs_rqs[cfs_rq];
            queue.count_out(&mut counted);
            is_throttled = queue.throttled;
            entity = parent;
        }
        if !is_throttled {
            self.rqs[cpu].sub_nr_running(&mut self.lb_cache, counted.all);
            if !had_only_idle && self.fair.sched_idle_cpu(&self.rqs[cpu]) {
                self.nohz.cpus[cpu].next_balance = self.jiffies;
            }
        }
        if let Some(task) = task.filter(|_| flags.delayed) {
            self.hrtick_update_eevdf(ctx, cpu);
            self.tasks[task].on_rq = OnRq::No;
        }
        true
    }

    /// Enqueues one entity: it is placed by its lag, after its weight has changed.
    pub(in crate::classes::fair) fn enqueue_entity_eevdf(
        &mut self,
        ctx: &mut Ctx<'_>,
        cfs_rq: CfsRqId,
        se: EntityId,
        flags: EnqueueFlags,
    ) {
        let is_curr = self.fair.cfs_rqs[cfs_rq].curr == Some(se);
        if is_curr {
            self.fair.place_entity_eevdf(self.features, &self.tunables, cfs_rq, se, flags.initial);
        }
        self.update_curr_eevdf(ctx, cfs_rq);
        self.refresh_entity(ctx, cfs_rq, se, UpdateLoad::ATTACH);
        self.update_cfs_group_eevdf(ctx, se);
        if !is_curr {
            self.fair.place_entity_eevdf(self.features, &self.tunables, cfs_rq, se, flags.initial);
        }
        let cpu = self.fair.cfs_rqs[cfs_rq].cpu;
        self.fair.account_entity_enqueue(&mut self.rqs[cpu], &mut self.tasks, cfs_rq, se);
        self.fair.entities[se].join(flags);
        if !is_curr {
            self.fair.insert_into_timeline_eevdf(cfs_rq, se);
        }
        if self.fair.cfs_rqs[cfs_rq].nr_running == 1 && !self.try_list_cfs_rq(ctx, cfs_rq) {
            self.fair.cfs_rqs[cfs_rq].start_throttled_clock(ctx, &self.rqs[cpu]);
        }
    }

    /// Dequeues one entity. Returns whether it has left: it may stay for a while.
    pub(in crate::classes::fair) fn dequeue_entity_eevdf(
        &mut self,
        ctx: &mut Ctx<'_>,
        cfs_rq: CfsRqId,
        se: EntityId,
        flags: DequeueFlags,
    ) -> bool {
        self.update_curr_eevdf(ctx, cfs_rq);
        if self.delay_dequeue(ctx, cfs_rq, se, flags) {
            return false;
        }
        self.detach_entity(ctx, cfs_rq, se);
        let lag = self.fair.update_entity_lag(cfs_rq, se, self.tick_ns);
        if lag != self.fair.entities[se].vlag {
            self.fair.report_limited_lag(ctx, se, lag, flags);
        }
        if self.fair.cfs_rqs[cfs_rq].curr != Some(se) {
            self.fair.remove_from_timeline_eevdf(cfs_rq, se);
        }
        if !flags.sleep {
            self.fair.entities[se].keep_relative_deadline(self.features);
        }
        self.fair.entities[se].set_on_rq(false);
        let cpu = self.fair.cfs_rqs[cfs_rq].cpu;
        self.fair.account_entity_dequeue(&mut self.rqs[cpu], &mut self.tasks, cfs_rq, se);
        self.return_cfs_rq_runtime(ctx, cfs_rq);
        self.update_cfs_group_eevdf(ctx, se);
        if flags.delayed {
            self.fair.finish_delayed_dequeue(ctx, self.features, se);
        }
        if self.fair.cfs_rqs[cfs_rq].nr_running == 0 {
            self.fair.cfs_rqs[cfs_rq].update_idle_cfs_rq_clock_pelt();
        }
        true
    }
}
