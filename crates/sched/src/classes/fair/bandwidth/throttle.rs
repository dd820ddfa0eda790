// SPDX-License-Identifier: GPL-2.0-or-later
//! Throttling of a group on a CPU when its runtime is exhausted, and the end of throttling.
//!
//! Models `check_cfs_rq_runtime()`, `check_enqueue_throttle()`, `throttle_cfs_rq()`, `unthrottle_cfs_rq()`,
//! `tg_throttle_down()` and `tg_unthrottle_up()` (6.1). A throttled cfs_rq keeps its tasks, but its group
//! entity leaves the runqueue, so the CPU does not count them. The PELT clocks of the group and of all groups
//! below it stop meanwhile, because throttled time must not count.

use crate::classes::fair::enqueue::{DequeueFlags, EnqueueFlags};
use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::dirty::TaskCounts;
use crate::state::fair_tree::FairTree;
use crate::state::lock::RqGuard;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, EntityId, GroupId};
use crate::types::kernel_rules::KernelRules;
use crate::types::work::KernelOp;

impl TaskCounts {
    /// Returns the tasks that a throttled cfs_rq removes or restores.
    const fn of(cfs_rq: &CfsRq) -> Self {
        Self {
            all: cfs_rq.h_nr_running,
            idle: cfs_rq.idle_h_nr_running,
            delayed: cfs_rq.h_nr_running - cfs_rq.h_nr_runnable,
        }
    }
}

impl State {
    /// Throttles a cfs_rq that runs or has just run, if its runtime is exhausted. Returns whether it is
    /// throttled.
    #[inline]
    pub(crate) fn check_cfs_rq_runtime(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) -> bool {
        let cfs_rq = &self.fair.cfs_rqs[id];
        if !cfs_rq.runtime_enabled || cfs_rq.runtime_remaining > 0 {
            return false;
        }
        cfs_rq.throttled || self.throttle_cfs_rq(ctx, id)
    }

    /// Throttles a cfs_rq that gets its first entity, if it has no runtime and cannot draw any. A running
    /// cfs_rq is checked later.
    #[inline]
    pub(crate) fn check_enqueue_throttle(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let cfs_rq = &self.fair.cfs_rqs[id];
        if !cfs_rq.runtime_enabled || cfs_rq.curr.is_some() || cfs_rq.throttled {
            return;
        }
        self.account_cfs_rq_runtime(ctx, id, 0);
        if self.fair.cfs_rqs[id].runtime_remaining <= 0 {
            self.throttle_cfs_rq(ctx, id);
        }
    }

    /// Throttles a cfs_rq. Returns whether it was necessary.
    ///
    /// Rules, in order:
    /// 1. If the pool has received runtime meanwhile, the cfs_rq draws just enough to continue.
    /// 2. Otherwise it is queued behind the cfs_rqs that were throttled earlier.
    /// 3. The PELT clocks of its group and of the groups below stop.
    /// 4. Its entity leaves the runqueue, and so do the entities above that have no other runnable entity.
    ///    Its tasks are subtracted from the counts further up, as far as the groups there are queued.
    fn throttle_cfs_rq(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) -> bool {
        const ENOUGH_TO_GO_ON: u64 = 1;
        if self.assign_cfs_rq_runtime(ctx, id, ENOUGH_TO_GO_ON) {
            return false;
        }
        let cfs_rq = &self.fair.cfs_rqs[id];
        let (cpu, group) = (cfs_rq.cpu, cfs_rq.group);
        let tasks = TaskCounts::of(cfs_rq);
        let entity = cfs_rq.entity;
        self.fair.groups[group].bandwidth.throttled.push_back(id);
        self.fair.stop_clocks(ctx, &mut self.rqs[cpu], group);
        if self.detach_branch(ctx, entity, tasks) {
            self.rqs[cpu].sub_nr_running(&mut self.lb_cache, tasks.all);
        }
        let cfs_rq = &mut self.fair.cfs_rqs[id];
        let clock = cfs_rq.throttled_clock(&self.rqs[cpu], &self.rules);
        (cfs_rq.throttled, cfs_rq.throttled_clock) = (true, clock);
        ctx.report(Event::GroupThrottling { group, cpu, is_throttled: true, clock });
        self.report_fair_throttling(ctx, cpu);
        true
    }

    /// Ends the throttling of a cfs_rq, which has received runtime or lost its quota.
    ///
    /// Rules, in order:
    /// 1. The PELT clocks of its group and of the groups below continue, unless another group above is
    ///    throttled too.
    /// 2. If it has tasks, its entity and those above are enqueued as after a sleep, up to the next throttled
    ///    group.
    /// 3. If it has none but still has load, it and the groups above it return to the leaf list.
    /// 4. An idle CPU that has received work reschedules.
    pub(crate) fn unthrottle_cfs_rq(&mut self, ctx: &mut Ctx<'_>, rq: &RqGuard, id: CfsRqId) {
        let cfs_rq = &mut self.fair.cfs_rqs[id];
        cfs_rq.throttled = false;
        let (cpu, group, entity) = (cfs_rq.cpu, cfs_rq.group, cfs_rq.entity);
        rq.assert_is_of(cpu);
        self.update_rq_clock(ctx, rq);
        let clock = self.rqs[cpu].clock;
        let pool = &mut self.fair.groups[group].bandwidth;
        let since = self.fair.cfs_rqs[id].throttled_clock.take();
        pool.stats.throttled_time += since.map_or(0, |since| clock - since);
        let place = pool.throttled.iter().position(|&other| other == id);
        pool.throttled.remove(place.expect("a throttled cfs_rq is in its group's list"));
        self.fair.restart_clocks(ctx, &mut self.rqs[cpu], &self.rules, group);
        ctx.report(Event::GroupThrottling { group, cpu, is_throttled: false, clock: Some(clock) });
        self.report_fair_throttling(ctx, cpu);
        let cfs_rq = &self.fair.cfs_rqs[id];
        if cfs_rq.load.weight > 0 {
            let tasks = TaskCounts::of(cfs_rq);
            let had_tasks = self.fair.cfs_rqs[CfsRqId::root(cpu)].h_nr_running > 0;
            if self.attach_branch(ctx, entity, tasks) {
                if self.rules.has_fair_server && !had_tasks && self.fair.cfs_rqs[CfsRqId::root(cpu)].h_nr_running > 0 {
                    self.dl_server_start(ctx, cpu);
                }
                self.rqs[cpu].add_nr_running(&mut self.lb_cache, &mut self.domains.root, tasks.all);
            }
        } else if cfs_rq.on_list() {
            self.fair.complete_leaf_branch(&mut self.rqs[cpu], entity);
        } else {
            return;
        }
        if self.rqs[cpu].is_idle_task_running() && self.fair.cfs_rqs[CfsRqId::root(cpu)].nr_running > 0 {
            self.resched_curr(ctx, cpu);
        }
    }

    /// Dequeues the entity of a throttled cfs_rq, and the entities above that have no other runnable entity.
    /// Returns whether its tasks counted for the CPU, which is not so if a group above was not queued.
    fn detach_branch(&mut self, ctx: &mut Ctx<'_>, mut entity: Option<EntityId>, mut tasks: TaskCounts) -> bool {
        let mut is_last = true;
        while let Some(se) = entity {
            if !self.fair.entities[se].on_rq {
                return false;
            }
            ctx.charge(KernelOp::GroupLevel);
            let (above, parent) = self.fair.place_of(se);
            if is_last {
                let delayed = self.fair.entities[se].is_delayed;
                let flags = DequeueFlags { sleep: true, special: true, delayed, ..DequeueFlags::default() };
                self.dequeue_entity(ctx, above, se, flags);
            } else {
                self.refresh_entity(ctx, above, se, UpdateLoad::PLAIN);
            }
            if self.fair.se_is_idle(&self.tasks, se) {
                tasks.idle = tasks.all;
            }
            self.fair.cfs_rqs[above].count_tasks_out(tasks);
            is_last &= self.fair.cfs_rqs[above].load.weight == 0;
            entity = parent;
        }
        true
    }

    /// Enqueues the entity of a cfs_rq, and those above it. Returns whether its tasks count for the CPU,
    /// which is not so if a group above is throttled.
    fn attach_branch(&mut self, ctx: &mut Ctx<'_>, mut entity: Option<EntityId>, mut tasks: TaskCounts) -> bool {
        let mut is_first = true;
        while let Some(se) = entity {
            ctx.charge(KernelOp::GroupLevel);
            let (above, parent) = self.fair.place_of(se);
            if self.fair.entities[se].is_delayed {
                let flags = DequeueFlags { sleep: true, delayed: true, ..DequeueFlags::default() };
                self.dequeue_entity(ctx, above, se, flags);
            }
            is_first &= !self.fair.entities[se].on_rq;
            if is_first {
                self.enqueue_entity(ctx, above, se, EnqueueFlags { wakeup: true, ..EnqueueFlags::default() });
            } else {
                self.refresh_entity(ctx, above, se, UpdateLoad::TG);
            }
            if self.fair.se_is_idle(&self.tasks, se) {
                tasks.idle = tasks.all;
            }
            self.fair.cfs_rqs[above].count_tasks_in(tasks);
            if self.fair.cfs_rqs[above].throttled {
                return false;
            }
            entity = parent;
        }
        true
    }
}

impl FairTree {
    /// Stops the PELT clocks of a group and of the groups below it on the CPU of `rq`.
    fn stop_clocks(&mut self, ctx: &mut Ctx<'_>, rq: &mut Rq, top: GroupId) {
        let mut next = Some(top);
        while let Some(group) = next {
            ctx.charge(KernelOp::GroupLevel);
            let id = self.cfs_rq_of_group(group, rq.cpu);
            if self.cfs_rqs[id].throttle_count == 0 {
                self.cfs_rqs[id].throttled_clock_pelt = rq.rq_clock_pelt();
                rq.leaf_list.remove(&mut self.cfs_rqs, id);
            }
            self.cfs_rqs[id].throttle_count += 1;
            next = self.next_downwards(top, group);
        }
    }

    /// Restarts the PELT clocks of a group and of the groups below it where they stopped.
    fn restart_clocks(&mut self, ctx: &mut Ctx<'_>, rq: &mut Rq, rules: &KernelRules, top: GroupId) {
        let now = rq.rq_clock_pelt();
        let mut next = Some(self.first_upwards(top));
        while let Some(group) = next {
            ctx.charge(KernelOp::GroupLevel);
            let id = self.cfs_rq_of_group(group, rq.cpu);
            let cfs_rq = &mut self.cfs_rqs[id];
            cfs_rq.throttle_count -= 1;
            if cfs_rq.throttle_count == 0 {
                let stood = now.wrapping_sub(cfs_rq.throttled_clock_pelt);
                cfs_rq.throttled_clock_pelt_time = cfs_rq.throttled_clock_pelt_time.wrapping_add(stood);
                if !self.cfs_rq_is_decayed(rq, rules, id) {
                    self.list_add_leaf_cfs_rq(rq, id);
                }
            }
            next = self.next_upwards(top, group);
        }
    }

    /// Adds the cfs_rqs above to the leaf list until the branch is connected.
    fn complete_leaf_branch(&mut self, rq: &mut Rq, mut entity: Option<EntityId>) {
        while let Some(se) = entity {
            let (above, parent) = self.place_of(se);
            if self.list_add_leaf_cfs_rq(rq, above) {
                return;
            }
            entity = parent;
        }
    }
}
