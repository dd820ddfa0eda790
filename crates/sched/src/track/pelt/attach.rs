// SPDX-License-Identifier: GPL-2.0-or-later
//! Updates of averages, and the entry and exit of an entity's averages into those of its cfs_rq.
//!
//! Models `update_load_avg()`, `update_cfs_rq_load_avg()`, `attach_entity_load_avg()`,
//! `detach_entity_load_avg()`, `remove_entity_load_avg()`, `migrate_se_pelt_lag()` and `set_task_rq_fair()`
//! (6.1). A cfs_rq's averages are the sums over its entities, runnable or blocked. Rounding makes them
//! inexact, so sums are kept above the minimum that the averages require.

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::state::State;
use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::rq::Rq;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::task::Task;
use crate::types::features::{Feature, FeatureSet};
use crate::types::ids::{CfsRqId, CpuId, EntityId};
use crate::types::pelt::util_est::UTIL_AVG_UNCHANGED;
use crate::types::pelt::{Contribution, ContributionScale, SchedAvg};
use crate::types::tunables::{PeltScaling, Tunables};
use crate::types::units::SCHED_CAPACITY_SHIFT;
use crate::types::weight::scale_load_down;
use crate::types::work::KernelOp;

/// Additional actions of [`State::update_load_avg`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpdateLoad {
    /// Report a change to the group: UPDATE_TG.
    pub update_tg: bool,
    /// Do not advance the entity: SKIP_AGE_LOAD.
    pub skip_age: bool,
    /// Attach the entity if it has just arrived: DO_ATTACH.
    pub attach: bool,
    /// Detach the entity: DO_DETACH.
    pub detach: bool,
}

impl UpdateLoad {
    pub(crate) const PLAIN: Self = Self { update_tg: false, skip_age: false, attach: false, detach: false };
    pub(crate) const TG: Self = Self { update_tg: true, ..Self::PLAIN };
    pub(crate) const ATTACH: Self = Self { attach: true, ..Self::TG };
}

impl State {
    /// Updates the averages of an entity and its cfs_rq, and propagates changes from below the entity.
    ///
    /// Most calls come within 1024 ns of the call before, on one path through an enqueue or a switch. Then
    /// nothing is due, and only the two updates are counted.
    #[inline]
    pub(crate) fn update_load_avg(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId, se: EntityId, how: UpdateLoad) {
        let queue = &self.fair.cfs_rqs[cfs_rq];
        let rq = &self.rqs[queue.cpu];
        let entity = &self.fair.entities[se];
        let now = queue.clock_pelt(rq);
        let is_current = entity.avg.is_current(now)
            && queue.avg.is_current(now)
            && entity.avg.last_update_time != 0
            && queue.removed.nr == 0
            && !how.detach
            && entity.my_q().is_none();
        if is_current {
            ctx.op_counts.count(KernelOp::PeltUpdate, 2 - u64::from(how.skip_age));
        } else {
            self.update_load_avg_to(ctx, now, cfs_rq, se, how);
        }
    }

    /// Updates the averages of an entity and its cfs_rq to `now`, without the fast path of
    /// [`State::update_load_avg`].
    fn update_load_avg_to(&mut self, ctx: &mut Ctx<'_>, now: u64, cfs_rq: CfsRqId, se: EntityId, how: UpdateLoad) {
        let queue = &mut self.fair.cfs_rqs[cfs_rq];
        let rq = &self.rqs[queue.cpu];
        let entity = &mut self.fair.entities[se];
        let scale = rq.contribution_scale(&self.tunables);
        let is_attached = entity.avg.last_update_time != 0;
        let mut refreshed = false;
        if is_attached && !how.skip_age {
            refreshed = advance_entity(ctx, self.features, entity, queue.curr == Some(se), now, scale);
        }
        let below = entity.my_q();
        let advanced = advance_cfs_rq(ctx, queue, now, scale);
        if refreshed {
            self.fair.report_entity(ctx, se);
        }
        if advanced.refreshed {
            self.fair.cfs_rqs[cfs_rq].report_load_avg(ctx);
        }
        let mut decayed = advanced.changed();
        if decayed {
            self.lb_cache.mark_cfs_rq_dirty(cfs_rq);
        }
        if let Some(below) = below.filter(|below| self.fair.cfs_rqs[*below].propagate) {
            self.fair.propagate_entity_load_avg(ctx, &mut self.lb_cache, se, below);
            decayed = true;
        }

        if !is_attached && how.attach {
            self.fair.attach_entity_load_avg(cfs_rq, se);
            self.end_attach_or_detach(ctx, cfs_rq);
        } else if how.detach {
            self.fair.detach_entity_load_avg(cfs_rq, se);
            self.end_attach_or_detach(ctx, cfs_rq);
        } else if decayed {
            self.cfs_rq_util_change(ctx, cfs_rq);
            if how.update_tg {
                self.update_tg_load_avg(ctx, cfs_rq);
            }
        }
    }

    /// Ends an attach or detach: cached statistics, frequency and group load follow the averages of the cfs_rq.
    pub(crate) fn end_attach_or_detach(&mut self, ctx: &mut Ctx<'_>, cfs_rq: CfsRqId) {
        self.lb_cache.mark_cfs_rq_dirty(cfs_rq);
        self.cfs_rq_util_change(ctx, cfs_rq);
        self.fair.cfs_rqs[cfs_rq].report_load_avg(ctx);
        self.update_tg_load_avg(ctx, cfs_rq);
    }
}

impl CfsRq {
    /// Reports refreshed averages of a cfs_rq to the observer.
    pub(crate) fn report_load_avg(&self, ctx: &mut Ctx<'_>) {
        if ctx.wants_accounting {
            ctx.report(Event::PeltCfsRq { cpu: self.cpu, is_root: self.entity.is_none(), avg: &self.avg });
        }
    }
}

impl Rq {
    /// Scale of contributions on a CPU, for PELT as before 5.1; `None` with scaled time.
    #[inline]
    pub(crate) fn contribution_scale(&self, tunables: &Tunables) -> Option<ContributionScale> {
        match tunables.pelt_scaling {
            PeltScaling::Time => None,
            PeltScaling::Contribution => {
                Some(ContributionScale { frequency: self.freq_capacity, capacity: self.cpu_capacity_orig })
            }
        }
    }
}

impl FairTree {
    /// Advances an entity that is blocked. Returns whether its averages were refreshed.
    ///
    /// Models `__update_load_avg_blocked_se()`.
    pub(crate) fn update_load_avg_blocked_se(&mut self, ctx: &mut Ctx<'_>, now: u64, id: EntityId) -> bool {
        let se = &mut self.entities[id];
        let weight = se.weight();
        let refreshed = advance(ctx, &mut se.avg, now, Contribution::NONE, weight, None);
        if refreshed {
            self.report_entity(ctx, id);
        }
        refreshed
    }

    /// Advances a blocked entity to the time of its cfs_rq's last update: `sync_entity_load_avg()`.
    pub(crate) fn sync_entity_load_avg(&mut self, ctx: &mut Ctx<'_>, se: EntityId) {
        let cfs_rq = self.entities[se].cfs_rq;
        let last_update_time = self.cfs_rqs[cfs_rq].avg.last_update_time;
        self.update_load_avg_blocked_se(ctx, last_update_time, se);
    }

    /// Records the averages of a blocked entity that leaves, for a later subtraction:
    /// `remove_entity_load_avg()`.
    pub(crate) fn remove_entity_load_avg(&mut self, ctx: &mut Ctx<'_>, se: EntityId) {
        self.sync_entity_load_avg(ctx, se);
        let entity = &self.entities[se];
        let removed = &mut self.cfs_rqs[entity.cfs_rq].removed;
        removed.nr += 1;
        removed.load_avg = removed.load_avg.wrapping_add(entity.avg.load_avg);
        removed.runnable_avg += entity.avg.runnable_avg;
        removed.util_avg += entity.avg.util_avg;
    }

    /// Reports refreshed averages of an entity to the observer.
    pub(crate) fn report_entity(&self, ctx: &mut Ctx<'_>, id: EntityId) {
        if ctx.wants_accounting {
            let se = &self.entities[id];
            let cpu = self.cfs_rqs[se.cfs_rq].cpu;
            ctx.report(Event::PeltEntity { task: se.task(), cpu, weight: se.load.weight, avg: &se.avg });
        }
    }

    /// Moves an entity to another cfs_rq: ages it to the time of the old one and gives it the time of the new
    /// one.
    ///
    /// Models `set_task_rq_fair()`; only with ATTACH_AGE_LOAD, and only for entities that are attached.
    pub(crate) fn set_task_rq_fair(&mut self, ctx: &mut Ctx<'_>, features: FeatureSet, id: EntityId, next: CfsRqId) {
        let se = &self.entities[id];
        if !features.has(Feature::AttachAgeLoad) || se.avg.last_update_time == 0 {
            return;
        }
        let prev_time = self.cfs_rqs[se.cfs_rq].avg.last_update_time;
        let next_time = self.cfs_rqs[next].avg.last_update_time;
        self.update_load_avg_blocked_se(ctx, prev_time, id);
        self.entities[id].avg.last_update_time = next_time;
    }

    /// Decays a blocked entity that leaves an idle CPU by the time since that CPU's clocks were updated.
    ///
    /// Models `migrate_se_pelt_lag()`. Does nothing if the CPU is busy, as its clocks are recent enough, or
    /// if the entity's cfs_rq was throttled when it became empty.
    pub(crate) fn migrate_se_pelt_lag(&mut self, ctx: &mut Ctx<'_>, rq: &Rq, id: EntityId) {
        let se = &self.entities[id];
        let cfs_rq = &self.cfs_rqs[se.cfs_rq];
        if se.avg.is_decayed() || !rq.is_idle_task_running() || cfs_rq.throttled_pelt_idle == u64::MAX {
            return;
        }
        let now = rq.clock_pelt_idle.wrapping_sub(cfs_rq.throttled_pelt_idle);
        let last_update_time = cfs_rq.avg.last_update_time;
        let now = if now < last_update_time {
            last_update_time
        } else {
            now.wrapping_add(ctx.sched_clock().wrapping_sub(rq.clock_idle))
        };
        self.update_load_avg_blocked_se(ctx, now, id);
    }

    /// Assigns a task to a CPU (`__set_task_cpu()`).
    pub(crate) fn place_task_on(&mut self, ctx: &mut Ctx<'_>, features: FeatureSet, p: &mut Task, cpu: CpuId) {
        (p.cpu, p.wake_cpu) = (cpu, cpu);
        let (cfs_rq, parent, depth) = self.place_in_group(p.group, cpu);
        self.set_task_rq_fair(ctx, features, p.se, cfs_rq);
        let entity = &mut self.entities[p.se];
        (entity.cfs_rq, entity.parent, entity.depth) = (cfs_rq, parent, depth);
    }

    /// Adds the averages of an entity that arrives on a cfs_rq.
    ///
    /// The entity adopts the phase of the cfs_rq's period, and its sums are recomputed from its averages. As
    /// in 6.1, the load does not follow a weight that changed while the task was in another class. A task
    /// that leaves SCHED_IDLE for SCHED_FIFO has its load multiplied by 341 (`reweight_task()`), and keeps
    /// that when it returns to SCHED_IDLE. So load grows without bound, and wraps, if a task does this often
    /// enough.
    pub(crate) fn attach_entity_load_avg(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let (queue, entity) = (&mut self.cfs_rqs[cfs_rq], &mut self.entities[se]);
        let sums = &mut queue.avg;
        let weight = entity.weight();
        let divider = u64::from(sums.divider());
        let avg = &mut entity.avg;
        avg.last_update_time = sums.last_update_time;
        avg.period_contrib = sums.period_contrib;
        avg.util_sum = (avg.util_avg * divider) as u32;
        avg.runnable_sum = avg.runnable_avg * divider;
        let weighted = avg.load_avg.wrapping_mul(divider);
        avg.load_sum = if weight < weighted { weighted / weight } else { 1 };

        sums.add_load(avg.load_avg, weight.wrapping_mul(avg.load_sum));
        sums.util_avg += avg.util_avg;
        sums.util_sum = sums.util_sum.wrapping_add(avg.util_sum);
        sums.runnable_avg += avg.runnable_avg;
        sums.runnable_sum += avg.runnable_sum;
        queue.add_tg_cfs_propagate(avg.load_sum as i64);
    }

    /// Subtracts the averages of an entity that leaves a cfs_rq.
    pub(crate) fn detach_entity_load_avg(&mut self, cfs_rq: CfsRqId, se: EntityId) {
        let entity = &self.entities[se];
        let (weighted, avg) = (entity.weighted_load_sum(), entity.avg);
        let queue = &mut self.cfs_rqs[cfs_rq];
        queue.avg.sub_load(avg.load_avg, weighted);
        queue.avg.sub_util(avg.util_avg, u64::from(avg.util_sum));
        queue.avg.sub_runnable(avg.runnable_avg, avg.runnable_sum);
        queue.add_tg_cfs_propagate((avg.load_sum as i64).wrapping_neg());
    }
}

/// Advances an average and counts the operations: the update, and the scaling of its contribution if there is
/// one.
#[inline]
pub(crate) fn advance(
    ctx: &mut Ctx<'_>,
    avg: &mut SchedAvg,
    now: u64,
    what: Contribution,
    weight: u64,
    scale: Option<ContributionScale>,
) -> bool {
    let refreshed = advance_sum(ctx, avg, now, what, scale);
    if refreshed {
        avg.refresh(weight);
    }
    refreshed
}

/// Advances the sums of an average and counts the operations. Returns whether the averages should be
/// refreshed.
#[inline(always)]
fn advance_sum(
    ctx: &mut Ctx<'_>,
    avg: &mut SchedAvg,
    now: u64,
    what: Contribution,
    scale: Option<ContributionScale>,
) -> bool {
    ctx.charge(KernelOp::PeltUpdate);
    let Some(scale) = scale else { return avg.update_sum(now, what, None) };
    let before = avg.last_update_time;
    let refreshed = avg.update_sum(now, what, Some(scale));
    if avg.last_update_time != before {
        ctx.charge(KernelOp::PeltScale);
    }
    refreshed
}

/// Advances an entity that may be runnable. Returns whether its averages were refreshed.
#[inline]
pub(crate) fn advance_entity(
    ctx: &mut Ctx<'_>,
    features: FeatureSet,
    se: &mut SchedEntity,
    running: bool,
    now: u64,
    scale: Option<ContributionScale>,
) -> bool {
    let what = Contribution { load: u64::from(se.on_rq), runnable: se.runnable(), running };
    let refreshed = advance_sum(ctx, &mut se.avg, now, what, scale);
    if refreshed {
        se.avg.refresh(se.weight());
        if features.has(Feature::UtilEst) {
            se.avg.util_est.enqueued &= !UTIL_AVG_UNCHANGED;
        }
    }
    refreshed
}

/// Changes that an update has made to the averages of a cfs_rq.
#[derive(Clone, Copy)]
struct CfsRqUpdate {
    /// Whether averages of entities that had left were subtracted.
    subtracted: bool,
    refreshed: bool,
}

impl CfsRqUpdate {
    fn changed(self) -> bool {
        self.subtracted || self.refreshed
    }
}

impl CfsRq {
    /// Updates the averages and subtracts those of entities that have left. Returns whether anything changed.
    pub(crate) fn update_load_avg(&mut self, ctx: &mut Ctx<'_>, now: u64, scale: Option<ContributionScale>) -> bool {
        let advanced = advance_cfs_rq(ctx, self, now, scale);
        if advanced.refreshed {
            self.report_load_avg(ctx);
        }
        advanced.changed()
    }
}

/// Advances a cfs_rq and subtracts the averages of entities that have left it.
#[inline]
fn advance_cfs_rq(ctx: &mut Ctx<'_>, cfs_rq: &mut CfsRq, now: u64, scale: Option<ContributionScale>) -> CfsRqUpdate {
    let subtracted = cfs_rq.removed.nr != 0;
    if subtracted {
        subtract_removed(cfs_rq);
    }
    let what = Contribution {
        load: scale_load_down(cfs_rq.load.weight),
        runnable: u64::from(cfs_rq.h_nr_runnable),
        running: cfs_rq.curr.is_some(),
    };
    CfsRqUpdate { subtracted, refreshed: advance(ctx, &mut cfs_rq.avg, now, what, 1, scale) }
}

fn subtract_removed(cfs_rq: &mut CfsRq) {
    let removed = core::mem::take(&mut cfs_rq.removed);
    let avg = &mut cfs_rq.avg;
    let divider = u64::from(avg.divider());
    avg.sub_load(removed.load_avg, removed.load_avg.wrapping_mul(divider));
    avg.sub_util(removed.util_avg, removed.util_avg * divider);
    avg.sub_runnable(removed.runnable_avg, removed.runnable_avg * divider);
    // An arithmetic shift of the negated product, so the result is rounded away from zero.
    cfs_rq.add_tg_cfs_propagate(-((removed.runnable_avg * divider) as i64) >> SCHED_CAPACITY_SHIFT);
}

impl SchedAvg {
    pub(crate) fn add_load(&mut self, avg: u64, sum: u64) {
        self.load_avg = self.load_avg.wrapping_add(avg);
        self.load_sum = self.load_sum.wrapping_add(sum);
    }

    /// Subtracts load, but not below zero, and keeps the sum above the minimum that the average requires.
    pub(crate) fn sub_load(&mut self, avg: u64, sum: u64) {
        self.load_avg = self.load_avg.saturating_sub(avg);
        self.load_sum = Self::floor_sum(self.load_sum.saturating_sub(sum), self.load_avg);
    }

    /// Subtracts utilisation, with the bounds of [`SchedAvg::sub_load`].
    pub(crate) fn sub_util(&mut self, avg: u64, sum: u64) {
        self.util_avg = self.util_avg.saturating_sub(avg);
        // The subtrahend is cut to the 32 bits of the sum first.
        let rest = self.util_sum.saturating_sub(sum as u32);
        self.util_sum = Self::floor_sum(u64::from(rest), self.util_avg) as u32;
    }

    /// Subtracts runnable time, with the bounds of [`SchedAvg::sub_load`].
    pub(crate) fn sub_runnable(&mut self, avg: u64, sum: u64) {
        self.runnable_avg = self.runnable_avg.saturating_sub(avg);
        self.runnable_sum = Self::floor_sum(self.runnable_sum.saturating_sub(sum), self.runnable_avg);
    }
}
