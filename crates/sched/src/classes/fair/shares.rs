// SPDX-License-Identifier: GPL-2.0-or-later
//! Shares of a group: the distribution of a group's weight over its CPUs.
//!
//! Models `calc_group_shares()`, `update_cfs_group()`, `reweight_entity()`, `sched_group_set_shares()` and
//! `sched_group_set_idle()` (6.1). The weight of a group's entity on a CPU is proportional to the CPU's part
//! of the group's load.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::types::weight::{LoadWeight, NICE_0_LOAD, SHARES_RANGE, WEIGHT_IDLEPRIO, scale_load, scale_load_down};

/// Reason why shares were rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharesError {
    /// The root group has no shares.
    RootGroup,
    /// The shares of an idle group cannot be changed.
    IdleGroup,
}

/// Returns the weight of a group's entity on one CPU (`calc_group_shares()`).
///
/// `load` is the current load of this CPU's cfs_rq, `others` the load of the group on the other CPUs.
pub(crate) fn group_entity_weight(shares: u64, load: u64, others: i64) -> u64 {
    let whole = others.wrapping_add(load as i64);
    let mut weight = shares.wrapping_mul(load) as i64;
    if whole != 0 {
        weight /= whole;
    }
    weight.clamp(*SHARES_RANGE.start() as i64, shares as i64) as u64
}

impl State {
    /// Updates the weight of a group's entity to its CPU's part of the group (`update_cfs_group()`).
    pub(crate) fn update_cfs_group(&mut self, ctx: &mut Ctx<'_>, se: EntityId) {
        let Some(below) = self.entities[se].my_q() else { return };
        let below = &self.cfs_rqs[below];
        // In 6.12 the entity of a group that becomes empty keeps its weight.
        let is_eevdf = self.rules.fair_is_eevdf;
        if below.throttle_count > 0 || (is_eevdf && below.load.weight == 0) {
            return;
        }
        ctx.op_counts.touch_group_read(below.group);
        let group = &self.groups[below.group];
        let load = scale_load_down(below.load.weight).max(below.avg.load_avg);
        let others = group.load_avg.wrapping_sub(below.tg_load_avg_contrib as i64);
        let weight = group_entity_weight(group.shares, load, others);
        if !is_eevdf || self.entities[se].load.weight != weight {
            self.reweight_entity(ctx, se, weight);
        }
    }

    /// Changes the weight of an entity, and its load average as if it had always had that weight.
    pub(crate) fn reweight_entity(&mut self, ctx: &mut Ctx<'_>, se: EntityId, weight: u64) {
        let entity = &self.entities[se];
        let (cfs_rq, on_rq, old) = (entity.cfs_rq, entity.on_rq, entity.load.weight);
        let is_curr = self.cfs_rqs[cfs_rq].curr == Some(se);
        let is_eevdf = self.rules.fair_is_eevdf;
        if on_rq {
            if is_curr || is_eevdf {
                self.update_curr(ctx, cfs_rq);
            }
            if is_eevdf {
                self.begin_reweight(cfs_rq, se, weight);
            }
            self.cfs_rqs[cfs_rq].load.sub(old);
        } else if is_eevdf {
            self.rescale_lag(se, weight);
        }
        let entity = &mut self.entities[se];
        let sums = &mut self.cfs_rqs[cfs_rq].avg;
        self.lb_cache.mark_cfs_rq_dirty(cfs_rq);
        // The load of a task that alternates between another class and SCHED_IDLE is multiplied each time,
        // until these sums wrap; see `attach_entity_load_avg`.
        sums.sub_load(entity.avg.load_avg, entity.weighted_load_sum());
        entity.load = LoadWeight::new(weight);
        entity.avg.load_avg = entity.weighted_load_sum() / u64::from(entity.avg.divider());
        sums.add_load(entity.avg.load_avg, entity.weighted_load_sum());
        if on_rq {
            self.cfs_rqs[cfs_rq].load.add(weight);
            if is_eevdf && !is_curr {
                self.insert_into_timeline(cfs_rq, se);
            }
        }
    }

    /// Changes the weight of a task (`reweight_task()`).
    pub(crate) fn reweight_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId, load: LoadWeight) {
        let se = self.tasks[task].se;
        self.reweight_entity(ctx, se, load.weight);
        self.entities[se].load.inv_weight = load.inv_weight;
    }

    /// Sets the shares of a group, clamped to 2 to 262144.
    ///
    /// # Errors
    /// If the group is the root group or an idle group.
    pub fn set_group_shares(&mut self, ctx: &mut Ctx<'_>, group: GroupId, shares: u64) -> Result<(), SharesError> {
        if self.groups[group].is_idle {
            return Err(SharesError::IdleGroup);
        }
        self.change_shares(ctx, group, scale_load(shares))
    }

    fn change_shares(&mut self, ctx: &mut Ctx<'_>, group: GroupId, shares: u64) -> Result<(), SharesError> {
        if group == GroupId::ROOT {
            return Err(SharesError::RootGroup);
        }
        let shares = shares.clamp(scale_load(*SHARES_RANGE.start()), scale_load(*SHARES_RANGE.end()));
        if self.groups[group].shares == shares {
            return Ok(());
        }
        self.groups[group].shares = shares;
        for cpu in self.cpu_ids() {
            let _rq = self.rq_lock_clocked(ctx, cpu);
            let mut entity = self.group_entity(group, cpu);
            while let Some(se) = entity {
                let cfs_rq = self.entities[se].cfs_rq;
                self.update_load_avg(ctx, cfs_rq, se, UpdateLoad::TG);
                self.update_cfs_group(ctx, se);
                entity = self.entities[se].parent;
            }
        }
        Ok(())
    }

    /// Sets `cpu.idle` of a group. An idle group has the weight of SCHED_IDLE; otherwise the group gets 1024
    /// shares.
    ///
    /// # Errors
    /// If the group is the root group.
    pub fn set_group_idle(&mut self, ctx: &mut Ctx<'_>, group: GroupId, is_idle: bool) -> Result<(), SharesError> {
        if group == GroupId::ROOT {
            return Err(SharesError::RootGroup);
        }
        if self.groups[group].is_idle == is_idle {
            return Ok(());
        }
        self.groups[group].is_idle = is_idle;
        for cpu in self.cpu_ids() {
            self.recount_idle(group, cpu, is_idle);
        }
        let shares = if is_idle { scale_load(WEIGHT_IDLEPRIO) } else { NICE_0_LOAD };
        self.change_shares(ctx, group, shares)
    }

    /// Recounts a group's tasks on a CPU as idle or not idle, from its cfs_rq upwards to the next idle group.
    fn recount_idle(&mut self, group: GroupId, cpu: CpuId, is_idle: bool) {
        let below = self.cfs_rq_of_group(group, cpu);
        let queue = &mut self.cfs_rqs[below];
        queue.is_idle = is_idle;
        let others = queue.h_nr_running - queue.idle_h_nr_running;
        let mut entity = queue.entity;
        let apply = |count: &mut u32, by: u32| *count = if is_idle { *count + by } else { *count - by };
        if let Some(se) = entity.filter(|se| self.entities[*se].on_rq) {
            let parent: CfsRqId = self.entities[se].cfs_rq;
            apply(&mut self.cfs_rqs[parent].idle_nr_running, 1);
        }
        while let Some(se) = entity.filter(|se| self.entities[*se].on_rq) {
            let cfs_rq = &mut self.cfs_rqs[self.entities[se].cfs_rq];
            apply(&mut cfs_rq.idle_h_nr_running, others);
            if cfs_rq.is_idle {
                break;
            }
            entity = self.entities[se].parent;
        }
    }
}
