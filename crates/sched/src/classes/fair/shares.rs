// SPDX-License-Identifier: GPL-2.0-or-later
//! Shares of a group: the distribution of a group's weight over its CPUs.
//!
//! Models `calc_group_shares()`, `sched_group_set_shares()`, `sched_group_set_idle()`, and the part of
//! `reweight_entity()` that both kernels have (6.1). The weight of a group's entity on a CPU is proportional to the
//! CPU's part of the group's load.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::entity::SchedEntity;
use crate::state::fair_tree::FairTree;
use crate::state::group::TaskGroup;
use crate::state::rq::cfs_rq::CfsRq;
use crate::track::pelt::attach::UpdateLoad;
use crate::types::ids::{CfsRqId, CpuId, GroupId, TaskId};
use crate::types::pelt::SchedAvg;
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

impl TaskGroup {
    /// Returns the weight of the group's entity on the CPU of one of its cfs_rqs.
    #[inline]
    pub(super) fn weight_of(&self, below: &CfsRq) -> u64 {
        let load = scale_load_down(below.load.weight).max(below.avg.load_avg);
        let others = self.load_avg.wrapping_sub(below.tg_load_avg_contrib as i64);
        group_entity_weight(self.shares, load, others)
    }
}

impl SchedEntity {
    /// Sets the weight, and the load average as if the entity had always had that weight. `sums` are the averages of its
    /// cfs_rq.
    #[inline]
    pub(super) fn set_weight(&mut self, sums: &mut SchedAvg, weight: u64) {
        // The load of a task that alternates between another class and SCHED_IDLE is multiplied each time,
        // until these sums wrap; see `attach_entity_load_avg`.
        sums.sub_load(self.avg.load_avg, self.weighted_load_sum());
        self.load = LoadWeight::new(weight);
        self.avg.load_avg = self.weighted_load_sum() / u64::from(self.avg.divider());
        sums.add_load(self.avg.load_avg, self.weighted_load_sum());
    }
}

impl State {
    /// Changes the weight of a task (`reweight_task()`).
    pub(crate) fn reweight_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId, load: LoadWeight) {
        let se = self.tasks[task].se;
        self.reweight_entity(ctx, se, load.weight);
        self.fair.entities[se].load.inv_weight = load.inv_weight;
    }

    /// Sets the shares of a group, clamped to 2 to 262144.
    ///
    /// # Errors
    /// If the group is the root group or an idle group.
    pub fn set_group_shares(&mut self, ctx: &mut Ctx<'_>, group: GroupId, shares: u64) -> Result<(), SharesError> {
        if self.fair.groups[group].is_idle {
            return Err(SharesError::IdleGroup);
        }
        self.change_shares(ctx, group, scale_load(shares))
    }

    fn change_shares(&mut self, ctx: &mut Ctx<'_>, group: GroupId, shares: u64) -> Result<(), SharesError> {
        if group == GroupId::ROOT {
            return Err(SharesError::RootGroup);
        }
        let shares = shares.clamp(scale_load(*SHARES_RANGE.start()), scale_load(*SHARES_RANGE.end()));
        if self.fair.groups[group].shares == shares {
            return Ok(());
        }
        self.fair.groups[group].shares = shares;
        for cpu in self.cpu_ids() {
            let _rq = self.rq_lock_clocked(ctx, cpu);
            self.for_each_sched_entity(ctx, self.fair.group_entity(group, cpu), |state, ctx, cfs_rq, se| {
                state.update_load_avg(ctx, cfs_rq, se, UpdateLoad::TG);
                state.update_cfs_group(ctx, se);
            });
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
        if self.fair.groups[group].is_idle == is_idle {
            return Ok(());
        }
        self.fair.groups[group].is_idle = is_idle;
        for cpu in self.cpu_ids() {
            self.fair.recount_idle(group, cpu, is_idle);
        }
        let shares = if is_idle { scale_load(WEIGHT_IDLEPRIO) } else { NICE_0_LOAD };
        self.change_shares(ctx, group, shares)
    }
}

impl FairTree {
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
