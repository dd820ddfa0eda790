// SPDX-License-Identifier: GPL-2.0-or-later
//! Propagation of changed averages up the tree of task groups.
//!
//! Models `propagate_entity_load_avg()`, `update_tg_cfs_{util,runnable,load}()` and `update_tg_load_avg()`
//! (6.1). When an entity joins or leaves a group's cfs_rq, the entity that represents the group adopts the
//! new averages of the cfs_rq at once, and so on upwards. Time that passes needs no such propagation.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::state::lb_cache::LbCache;
use crate::state::rq::cfs_rq::CfsRq;
use crate::types::ids::{CfsRqId, EntityId, GroupId};
use crate::types::pelt::SchedAvg;
use crate::types::units::SCHED_CAPACITY_SHIFT;
use crate::types::weight::scale_load_down;

/// Signed differences of an average and its sum before and after a change.
#[derive(Clone, Copy)]
struct LoadChange {
    avg: i64,
    sum: i64,
}

impl CfsRq {
    /// Records a change that has to be propagated to the parent: `add_tg_cfs_propagate()`.
    #[inline]
    pub(crate) fn add_tg_cfs_propagate(&mut self, runnable_sum: i64) {
        self.propagate = true;
        self.prop_runnable_sum = self.prop_runnable_sum.wrapping_add(runnable_sum);
    }
}

impl State {
    /// Updates the contribution of a cfs_rq to its group's load (`update_tg_load_avg()`).
    ///
    /// There is no update if the contribution changed by 1/64 or less, or if the last update was less than
    /// `group_load_interval_ns` ago. In 6.12 a CPU that is not active contributes nothing.
    #[inline]
    pub(crate) fn update_tg_load_avg(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let cfs_rq = &mut self.fair.cfs_rqs[id];
        if cfs_rq.group == GroupId::ROOT {
            return;
        }
        if self.rules.clears_offline_group_load && !self.hotplug.active.contains(cfs_rq.cpu) {
            return;
        }
        let interval = self.tunables.changes.group_load_interval_ns;
        if interval > 0 && ctx.sched_clock().wrapping_sub(cfs_rq.last_update_tg_load_avg) < interval {
            return;
        }
        let delta = (cfs_rq.avg.load_avg as i64).wrapping_sub(cfs_rq.tg_load_avg_contrib as i64);
        if delta.unsigned_abs() > cfs_rq.tg_load_avg_contrib / 64 {
            ctx.op_counts.touch_group_write(cfs_rq.group);
            let sum = &mut self.fair.groups[cfs_rq.group].load_avg;
            *sum = sum.wrapping_add(delta);
            cfs_rq.tg_load_avg_contrib = cfs_rq.avg.load_avg;
            cfs_rq.last_update_tg_load_avg = ctx.sched_clock();
        }
    }
}

impl FairTree {
    fn update_tg_cfs_util(&mut self, se: EntityId, cfs_rq: CfsRqId, below: CfsRqId) {
        let new_avg = self.cfs_rqs[below].avg.util_avg;
        let sums = &mut self.cfs_rqs[cfs_rq].avg;
        let avg = &mut self.entities[se].avg;
        if new_avg == avg.util_avg {
            return;
        }
        let new_sum = new_avg.wrapping_mul(u64::from(sums.divider())) as u32;
        let change = LoadChange {
            avg: new_avg.wrapping_sub(avg.util_avg) as i64,
            sum: i64::from(new_sum) - i64::from(avg.util_sum),
        };
        avg.util_avg = new_avg;
        avg.util_sum = new_sum;
        sums.util_avg = add_positive(sums.util_avg, change.avg);
        // The sum has 32 bits, the change 64: the result is cut.
        let sum = add_positive(u64::from(sums.util_sum), change.sum);
        sums.util_sum = SchedAvg::floor_sum(sum, sums.util_avg) as u32;
    }

    fn update_tg_cfs_runnable(&mut self, se: EntityId, cfs_rq: CfsRqId, below: CfsRqId) {
        let new_avg = self.cfs_rqs[below].avg.runnable_avg;
        let sums = &mut self.cfs_rqs[cfs_rq].avg;
        let avg = &mut self.entities[se].avg;
        if new_avg == avg.runnable_avg {
            return;
        }
        let new_sum = new_avg.wrapping_mul(u64::from(sums.divider()));
        let change = LoadChange {
            avg: new_avg.wrapping_sub(avg.runnable_avg) as i64,
            sum: new_sum.wrapping_sub(avg.runnable_sum) as i64,
        };
        avg.runnable_avg = new_avg;
        avg.runnable_sum = new_sum;
        sums.runnable_avg = add_positive(sums.runnable_avg, change.avg);
        sums.runnable_sum = SchedAvg::floor_sum(add_positive(sums.runnable_sum, change.sum), sums.runnable_avg);
    }

    /// Propagates load, which is not a plain copy because a group's load depends on its shares.
    ///
    /// Rules, in order:
    /// 1. Load that was attached below adds to the entity's runnable sum, up to always runnable.
    /// 2. After a detach below, the sum is at most the load of the cfs_rq below for each unit of weight.
    /// 3. The entity was runnable at least while it ran.
    fn update_tg_cfs_load(&mut self, se: EntityId, cfs_rq: CfsRqId, below: CfsRqId) {
        let below = &mut self.cfs_rqs[below];
        let attached = core::mem::take(&mut below.prop_runnable_sum);
        if attached == 0 {
            return;
        }
        let (below_weight, below_sum) = (scale_load_down(below.load.weight), below.avg.load_sum);
        let sums = &mut self.cfs_rqs[cfs_rq].avg;
        let divider = u64::from(sums.divider());
        let entity = &mut self.entities[se];
        let weight = entity.weight();
        let avg = &mut entity.avg;

        let runnable_sum = if attached >= 0 {
            attached.wrapping_add(avg.load_sum as i64).min(divider as i64)
        } else {
            let per_weight = below_sum.checked_div(below_weight).unwrap_or(0);
            avg.load_sum.min(per_weight) as i64
        };
        let runnable_sum = runnable_sum.max(i64::from(avg.util_sum >> SCHED_CAPACITY_SHIFT)) as u64;

        let load_sum = weight.wrapping_mul(runnable_sum);
        let load_avg = load_sum / divider;
        let change = LoadChange {
            avg: load_avg.wrapping_sub(avg.load_avg) as i64,
            sum: load_sum.wrapping_sub(weight.wrapping_mul(avg.load_sum)) as i64,
        };
        if change.avg == 0 {
            return;
        }
        avg.load_sum = runnable_sum;
        avg.load_avg = load_avg;
        sums.load_avg = add_positive(sums.load_avg, change.avg);
        sums.load_sum = SchedAvg::floor_sum(add_positive(sums.load_sum, change.sum), sums.load_avg);
    }

    /// Whether a group's entity has nothing to decay and nothing to propagate: `skip_blocked_update()`.
    pub(crate) fn skip_blocked_update(&self, id: EntityId) -> bool {
        let se = &self.entities[id];
        let below = se.my_q().expect("called only for the entity of a group");
        se.avg.load_avg == 0 && se.avg.util_avg == 0 && !self.cfs_rqs[below].propagate
    }

    /// Removes the contribution of a cfs_rq from its group's load (`clear_tg_load_avg()`).
    pub(crate) fn clear_tg_load_avg(&mut self, ctx: &mut Ctx<'_>, id: CfsRqId) {
        let cfs_rq = &mut self.cfs_rqs[id];
        if cfs_rq.group == GroupId::ROOT {
            return;
        }
        ctx.op_counts.touch_group_write(cfs_rq.group);
        let sum = &mut self.groups[cfs_rq.group].load_avg;
        *sum = sum.wrapping_sub(cfs_rq.tg_load_avg_contrib as i64);
        cfs_rq.tg_load_avg_contrib = 0;
        cfs_rq.last_update_tg_load_avg = ctx.sched_clock();
    }

    /// Propagates changed averages of the cfs_rq `below` to the group's entity `id` and its cfs_rq.
    pub(crate) fn propagate_entity_load_avg(
        &mut self,
        ctx: &mut Ctx<'_>,
        lb_cache: &mut LbCache,
        id: EntityId,
        below: CfsRqId,
    ) {
        let cfs_rq = self.entities[id].cfs_rq;
        let group_cfs_rq = &mut self.cfs_rqs[below];
        group_cfs_rq.propagate = false;
        let runnable_sum = group_cfs_rq.prop_runnable_sum;
        self.cfs_rqs[cfs_rq].add_tg_cfs_propagate(runnable_sum);
        lb_cache.mark_cfs_rq_dirty(cfs_rq);
        self.update_tg_cfs_util(id, cfs_rq, below);
        self.update_tg_cfs_runnable(id, cfs_rq, below);
        self.update_tg_cfs_load(id, cfs_rq, below);
        self.cfs_rqs[cfs_rq].report_load_avg(ctx);
        self.report_entity(ctx, id);
    }
}

/// Adds a signed change, with a lower bound of zero: `add_positive()`.
fn add_positive(value: u64, change: i64) -> u64 {
    let sum = value.wrapping_add(change as u64);
    if change < 0 && sum > value { 0 } else { sum }
}

#[cfg(test)]
mod tests {
    use crate::golden::{CPU, GoldenTestMachine};
    use crate::types::series::KernelSeries;
    use crate::types::units::Nanos;
    use crate::types::work::{Access, SharedData, Touch};

    #[test]
    fn a_groups_load_changes_by_more_than_a_64th_and_once_in_an_interval() {
        let mut machine = GoldenTestMachine::new();
        let (group, _) = machine.group();
        let cfs_rq = machine.sched.fair.cfs_rq_of_group(group, CPU);
        let mut update = |interval_ns, now_us, load_avg| {
            machine.sched.tunables.changes.group_load_interval_ns = interval_ns;
            machine.sched.fair.cfs_rqs[cfs_rq].avg.load_avg = load_avg;
            machine.with(|sched, ctx| {
                ctx.now = Nanos::from_micros(now_us);
                ctx.op_counts.record_touches(true, 4);
                sched.update_tg_load_avg(ctx, cfs_rq);
                let write = Touch { data: SharedData::GroupLoad(group), access: Access::Write };
                let has_written = ctx.op_counts.touches() == [write];
                assert!(has_written || ctx.op_counts.touches().is_empty());
                (has_written, sched.fair.groups[group].load_avg)
            })
        };
        assert_eq!(update(0, 5000, 640), (true, 640));
        assert_eq!(update(0, 5001, 650), (false, 640), "a 64th is no change");
        assert_eq!(update(0, 5002, 651), (true, 651));
        assert_eq!(update(1_000_000, 6001, 300), (false, 651), "too early by a microsecond");
        assert_eq!(update(1_000_000, 6002, 300), (true, 300));
    }

    #[test]
    fn in_6_12_a_cpu_that_is_not_active_contributes_nothing_to_a_groups_load() {
        for (series, after) in [(KernelSeries::V6_1, 300), (KernelSeries::V6_12, 0)] {
            let mut machine = GoldenTestMachine::new();
            machine.sched.set_series(series);
            let (group, _) = machine.group();
            let cfs_rq = machine.sched.fair.cfs_rq_of_group(group, CPU);
            let update = |machine: &mut GoldenTestMachine, load_avg| {
                machine.sched.fair.cfs_rqs[cfs_rq].avg.load_avg = load_avg;
                machine.with(|sched, ctx| sched.update_tg_load_avg(ctx, cfs_rq));
                machine.sched.fair.groups[group].load_avg
            };
            assert_eq!(update(&mut machine, 640), 640);
            machine.with(|sched, ctx| {
                if sched.rules.clears_offline_group_load {
                    sched.fair.clear_tg_load_avg(ctx, cfs_rq);
                }
                sched.hotplug.active.clear(CPU);
            });
            assert_eq!(update(&mut machine, 300), after, "{series}");
        }
    }
}
