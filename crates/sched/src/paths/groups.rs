// SPDX-License-Identifier: GPL-2.0-or-later
//! Creation of task groups and of their bandwidth limits.
//!
//! Models `sched_create_group()`, `sched_online_group()` and `tg_set_cfs_bandwidth()` (6.1).

use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::paths::sched::Sched;
use crate::state::entity::{EntityOwner, SchedEntity};
use crate::state::group::TaskGroup;
use crate::state::group::bandwidth::{Bandwidth, BandwidthError};
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::task::Uclamp;
use crate::types::ids::{CfsRqId, EntityId, GroupId};

/// Number of entities of a group for which its timeline on a CPU has room before it must grow.
const GROUP_TIMELINE_CAPACITY: usize = 8;

impl Sched {
    /// Creates a task group with 1024 shares, executed on the CPU of the context.
    pub fn create_group(&mut self, ctx: &mut Ctx<'_>, parent: GroupId) -> GroupId {
        let group = GroupId::from_index(self.fair.groups.len());
        let next_sibling = self.fair.groups[parent].first_child.replace(group);
        let uclamp = self.default_clamps.groups.or_else(|| self.fair.groups[parent].uclamp.map(Uclamp::below));
        self.fair.groups.push(TaskGroup { next_sibling, uclamp, ..TaskGroup::new(Some(parent)) });
        for cpu in self.cpu_ids() {
            let cfs_rq = CfsRqId::from_index(self.fair.cfs_rqs.len());
            let (parent_cfs_rq, parent_entity, depth) = self.fair.place_in_group(parent, cpu);
            let entity = EntityId::from_index(self.fair.entities.len());
            let mut se = SchedEntity::new(EntityOwner::Group(cfs_rq), parent_cfs_rq);
            (se.parent, se.depth) = (parent_entity, depth);
            self.fair.entities.push(se);
            let has_slice_tree = self.rules.propagates_min_slice;
            let mut queue = CfsRq::with_capacity(cpu, group, GROUP_TIMELINE_CAPACITY, has_slice_tree);
            queue.entity = Some(entity);
            self.fair.cfs_rqs.push(queue);
        }
        for cpu in self.cpu_ids() {
            let _rq = self.rq_lock_clocked(ctx, cpu);
            let entity = self.fair.group_entity(group, cpu).expect("every group but the root has entities");
            self.attach_entity_cfs_rq(ctx, entity);
            self.state.fair.sync_throttle(&self.state.rqs[cpu], group);
        }
        group
    }

    /// Sets quota, period and burst of a group (`tg_set_cfs_bandwidth()`).
    ///
    /// Rules, in order:
    /// 1. The pool gets a full quota at once, even if the group had one before, and the period timer starts
    ///    unless it is running.
    /// 2. Runtime that online CPUs have drawn is discarded. An offline CPU keeps the 1 ns with which it went offline, and
    ///    its limit is enabled or not when it returns.
    /// 3. Throttled CPUs continue, under the new limit or without one.
    ///
    /// # Errors
    /// If `group` is the root group.
    pub fn set_group_bandwidth(
        &mut self,
        ctx: &mut Ctx<'_>,
        group: GroupId,
        bandwidth: Bandwidth,
    ) -> Result<(), BandwidthError> {
        if group == GroupId::ROOT {
            return Err(BandwidthError::RootGroup);
        }
        let is_limited = bandwidth.quota().is_some();
        let nr_cpus = self.rqs.len();
        let pool = &mut self.fair.groups[group].bandwidth;
        pool.throttled.reserve(nr_cpus);
        let before = pool.stats.burst_time;
        pool.set(bandwidth);
        let (is_throttled, burst) = (!pool.throttled.is_empty(), pool.stats.burst_time - before);
        ctx.report(Event::GroupRefill { group, nr_ended: 0, is_throttled, burst });
        if is_limited {
            self.start_cfs_bandwidth(ctx, group);
        }
        for cpu in self.cpu_ids() {
            if !self.hotplug.online.contains(cpu) {
                continue;
            }
            let id = self.fair.cfs_rq_of_group(group, cpu);
            let cfs_rq = &mut self.fair.cfs_rqs[id];
            cfs_rq.runtime_enabled = is_limited;
            cfs_rq.runtime_remaining = 0;
            if cfs_rq.throttled {
                let rq = self.rq_lock(cpu);
                self.unthrottle_cfs_rq(ctx, &rq, id);
            }
        }
        Ok(())
    }
}
