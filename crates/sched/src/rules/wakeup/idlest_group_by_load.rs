// SPDX-License-Identifier: GPL-2.0-or-later
//! Idlest group of a domain as in kernels before 5.5: by load, not by group type.
//!
//! Models `find_idlest_group()` before "Rework find_idlest_group()" (5.5), and `capacity_spare_without()`
//! (until 4.19 `capacity_spare_wake()`). The group with the least runnable load (of queued entities) wins.
//! The load including sleepers decides if runnable loads are close. A task that calls exec has a utilisation,
//! so spare capacity for it counts before both.
//!
//! Left out: load indexes. For fork and exec the index was 0, so that loads were the present ones.

use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{WakeKind, WakeupDecision};
use crate::state::State;
use crate::state::fair_tree::FairTree;
use crate::state::topology::{DomainId, SchedGroup, SchedGroupId, SdFlags};
use crate::types::ids::{CfsRqId, CpuId, EntityId, TaskId};
use crate::types::units::SCHED_CAPACITY_SCALE;
use crate::types::weight::{NICE_0_LOAD, scale_load_down};
use crate::types::work::KernelOp;

/// Loads and spare capacity of a group. Loads are per capacity of the group, scaled by 1024.
#[derive(Clone, Copy, Debug)]
struct GroupLoads {
    runnable: u64,
    with_sleepers: u64,
    /// Spare capacity of the CPU that has the most.
    spare: u64,
}

impl GroupLoads {
    /// Initial value, before any group was compared.
    const NONE: Self = Self { runnable: u64::MAX, with_sleepers: u64::MAX, spare: 0 };
}

/// Margins within which loads of a domain's groups count as close.
#[derive(Clone, Copy, Debug)]
struct LoadMargin {
    /// Runnable loads that differ by less than this are close.
    imbalance: u64,
    /// Percentage, above 100, by which one of two other values must exceed the other.
    scale: u64,
}

impl LoadMargin {
    const fn from_imbalance_pct(imbalance_pct: u32) -> Self {
        let above = imbalance_pct as u64 - 100;
        Self { imbalance: scale_load_down(NICE_0_LOAD) * above / 100, scale: 100 + above / 2 }
    }

    /// Whether `a` is less than `b` by more than half of the domain's margin.
    const fn is_clearly_less(self, a: u64, b: u64) -> bool {
        a.saturating_mul(self.scale) < b.saturating_mul(100)
    }
}

impl State {
    /// Returns the idlest group of a domain for a task, or `None` if the group of `this_cpu` is as good.
    ///
    /// Rules, in order; groups without allowed CPUs do not count:
    /// 1. Exec: the local group, if one of its CPUs has spare capacity for half of the task and no other CPU
    ///    has clearly more. Otherwise the group of the CPU with the most spare capacity, if that is enough
    ///    for half of the task.
    /// 2. Without another group, the local one.
    /// 3. Between NUMA nodes the local group, unless its runnable load exceeds the least one by more than the
    ///    margin.
    /// 4. The local group if its runnable load is less by more than the margin, or if it is not more by that
    ///    much and its load is clearly less.
    /// 5. The other group of least load.
    pub(crate) fn find_idlest_group_by_load(
        &self,
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        this_cpu: CpuId,
        decision: &mut WakeupDecision,
    ) -> Option<SchedGroupId> {
        let domain = &self.domains.domains[sd];
        let margin = LoadMargin::from_imbalance_pct(domain.imbalance_pct);
        let (task, kind) = (decision.task, decision.kind);
        let (mut local, mut least) = (GroupLoads::NONE, GroupLoads::NONE);
        let (mut idlest, mut roomiest) = (None, None);
        for id in self.domains.ring(sd) {
            let group = &self.domains.groups[id];
            if !group.span.intersects(&self.tasks[task].cpus_allowed) {
                continue;
            }
            let loads = self.loads_of(ctx, group, task);
            decision.nr_scanned += group.group_weight;
            if group.span.contains(this_cpu) {
                local = loads;
                continue;
            }
            if least.runnable > loads.runnable.saturating_add(margin.imbalance) {
                (least.runnable, least.with_sleepers, idlest) = (loads.runnable, loads.with_sleepers, Some(id));
            } else if loads.runnable < least.runnable.saturating_add(margin.imbalance)
                && margin.is_clearly_less(loads.with_sleepers, least.with_sleepers)
            {
                // Close by runnable load, which remains the reference for further groups.
                (least.with_sleepers, idlest) = (loads.with_sleepers, Some(id));
            }
            if loads.spare > least.spare {
                (least.spare, roomiest) = (loads.spare, Some(id));
            }
        }
        // The utilisation of a new task is not known before it has a CPU.
        if kind != WakeKind::Fork {
            let half = self.entity(task).avg.util_avg / 2;
            if local.spare > half && local.spare.saturating_mul(margin.scale) > least.spare.saturating_mul(100) {
                return None;
            }
            if least.spare > half {
                return roomiest;
            }
        }
        let far = least.runnable.saturating_add(margin.imbalance);
        let stays_near = domain.flags.contains(SdFlags::NUMA) && far >= local.runnable;
        // Without a local group the sum wraps, as in the kernel: then only a nearly idle group is better.
        let is_local_lower = least.runnable > local.runnable.wrapping_add(margin.imbalance);
        let is_local_idler = local.runnable < far && margin.is_clearly_less(local.with_sleepers, least.with_sleepers);
        idlest.filter(|_| !stays_near && !is_local_lower && !is_local_idler)
    }

    /// Sums over all CPUs of a group, including those that the task may not use.
    fn loads_of(&self, ctx: &mut Ctx<'_>, group: &SchedGroup, task: TaskId) -> GroupLoads {
        let capacity = self.domains.capacities[group.capacity].capacity;
        let mut sums = GroupLoads { runnable: 0, with_sleepers: 0, spare: 0 };
        for cpu in group.span.iter() {
            ctx.charge(KernelOp::GroupStatCpu);
            ctx.op_counts.touch_read(cpu);
            sums.runnable += self.fair.runnable_load(CfsRqId::root(cpu));
            sums.with_sleepers += self.fair.root_cfs_rq(cpu).avg.load_avg;
            let rq = &self.rqs[cpu];
            let util = self.fair.cpu_util_without(self.features, rq, &self.tasks[task]);
            let spare = rq.cpu_capacity.saturating_sub(util);
            sums.spare = sums.spare.max(spare);
        }
        let in_proportion = |load: u64| load * SCHED_CAPACITY_SCALE / capacity;
        GroupLoads { runnable: in_proportion(sums.runnable), with_sleepers: in_proportion(sums.with_sleepers), ..sums }
    }
}

impl FairTree {
    /// Returns the load of the runnable entities of a cfs_rq; of a root cfs_rq, that of its CPU (`weighted_cpuload()`, in 5.4
    /// `cpu_runnable_load()`).
    // DIFFERS: The runnable load of a CPU, which kernels before 5.5 use at fork and exec, is the present sum of the
    // loads of queued entities, where a group counts by the queued share of its load. Those kernels kept a
    // separate average, which decays with time between updates.
    pub(crate) fn runnable_load(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs_rq = &self.cfs_rqs[cfs_rq];
        let waiting: u64 = cfs_rq.timeline.iter().map(|(_, se)| self.runnable_load_of_entity(se)).sum();
        waiting + cfs_rq.curr.map_or(0, |se| self.runnable_load_of_entity(se))
    }

    fn runnable_load_of_entity(&self, se: EntityId) -> u64 {
        let se = &self.entities[se];
        let load = se.avg.load_avg;
        match se.my_q() {
            None => load,
            Some(inner) => {
                let all = self.cfs_rqs[inner].avg.load_avg.max(1);
                load * self.runnable_load(inner).min(all) / all
            }
        }
    }
}
