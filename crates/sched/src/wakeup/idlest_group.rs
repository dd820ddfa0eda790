// SPDX-License-Identifier: GPL-2.0-or-later
//! Which group of a domain is the idlest, and whether it is worth leaving the local one.
//!
//! Models `find_idlest_group()`, `update_sg_wakeup_stats()`, `update_pick_idlest()`, `group_classify()` and
//! `adjust_numa_imbalance()` (6.1).

use super::decision::WakeupDecision;
use crate::ctx::Ctx;
use crate::ids::{CpuId, TaskId};
use crate::sched::Sched;
use crate::topology::{DomainId, SchedGroupId, SdFlags};
use crate::units::{CAPACITY_FULL, Capacity};
use crate::weight::{NICE_0_LOAD, scale_load_down};
use crate::work::Op;

/// How busy a group is; a later kind is worse. Groups that are to be left for their priority do not occur here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupType {
    HasSpare,
    FullyBusy,
    MisfitTask,
    Imbalanced,
    Overloaded,
}

/// What a group is like without the task.
#[derive(Clone, Copy, Debug)]
struct GroupStats {
    group: SchedGroupId,
    group_type: GroupType,
    /// Load in proportion to capacity; 0 unless the group is busy.
    avg_load: u64,
    util: u64,
    nr_running: u32,
    idle_cpus: u32,
    max_capacity: Capacity,
}

/// Sums over the CPUs of a group that the task may use.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    load: u64,
    util: u64,
    runnable: u64,
    nr_running: u32,
    idle_cpus: u32,
}

impl Sched {
    /// The idlest group of a domain for a task, or `None` if the group of `this_cpu` is as good.
    ///
    /// Groups without CPUs that the task may use do not count. If the local group is one of them, any other is better.
    pub(super) fn find_idlest_group(
        &mut self,
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        this_cpu: CpuId,
        decision: &mut WakeupDecision,
    ) -> Option<SchedGroupId> {
        let task = decision.task;
        let (mut local, mut idlest): (Option<GroupStats>, Option<GroupStats>) = (None, None);
        let first = self.domains.domains[sd].groups;
        let mut next = Some(first);
        while let Some(id) = next {
            let group = &self.domains.groups[id];
            next = (group.next != first).then_some(group.next);
            if !group.span.intersects(&self.tasks[task.index()].cpus_allowed) {
                continue;
            }
            let is_local = group.span.contains(this_cpu);
            let stats = self.update_sg_wakeup_stats(ctx, sd, id, decision);
            if is_local {
                local = Some(stats);
            } else if update_pick_idlest(idlest.as_ref(), &stats) {
                idlest = Some(stats);
            }
        }
        let idlest = idlest?;
        match local {
            Some(local) if !self.is_worth_leaving(sd, &local, &idlest, task) => None,
            _ => Some(idlest.group),
        }
    }

    fn update_sg_wakeup_stats(
        &mut self,
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        id: SchedGroupId,
        decision: &mut WakeupDecision,
    ) -> GroupStats {
        let task = decision.task;
        let (imbalance_pct, is_asym) = {
            let domain = &self.domains.domains[sd];
            (u64::from(domain.imbalance_pct), domain.flags.contains(SdFlags::ASYM_CPUCAPACITY))
        };
        // The task's own load, on the one CPU where it counts: `cpu_load_without()`.
        let own_cpu = self.tasks[task.index()].cpu;
        let counts_here = self.domains.groups[id].span.contains(own_cpu)
            && self.tasks[task.index()].cpus_allowed.contains(own_cpu)
            && self.counts_on_cpu(own_cpu, task);
        let own_load = if counts_here { self.task_h_load(task) } else { 0 };

        let group = &self.domains.groups[id];
        let mut sums = Sums::default();
        let mut is_misfit = is_asym;
        for cpu in group.span.iter_and(&self.tasks[task.index()].cpus_allowed) {
            ctx.charge(Op::GroupStatCpu);
            decision.nr_scanned += 1;
            let load = self.cpu_load(cpu);
            sums.load += if cpu == own_cpu { load.saturating_sub(own_load) } else { load };
            sums.util += self.cpu_util_without(cpu, task);
            sums.runnable += self.cpu_runnable_without(cpu, task);
            let nr_running = self.rqs[cpu.index()].nr_running - self.task_running_on_cpu(cpu, task);
            sums.nr_running += nr_running;
            sums.idle_cpus += u32::from(nr_running == 0 && self.idle_cpu_without(cpu, task));
            is_misfit = is_misfit && !self.task_fits_cpu(task, cpu);
        }
        let capacity = &self.domains.capacities[group.capacity];
        let group_type = if is_overloaded(&sums, imbalance_pct, group.group_weight, capacity.capacity) {
            GroupType::Overloaded
        } else if capacity.imbalance {
            GroupType::Imbalanced
        } else if is_misfit {
            GroupType::MisfitTask
        } else if has_capacity(&sums, imbalance_pct, group.group_weight, capacity.capacity) {
            GroupType::HasSpare
        } else {
            GroupType::FullyBusy
        };
        let is_busy = matches!(group_type, GroupType::Overloaded | GroupType::FullyBusy);
        GroupStats {
            group: id,
            group_type,
            avg_load: if is_busy { sums.load * CAPACITY_FULL / capacity.capacity } else { 0 },
            util: sums.util,
            nr_running: sums.nr_running,
            idle_cpus: sums.idle_cpus,
            max_capacity: capacity.max_capacity,
        }
    }

    /// Whether the idlest group beats the local one.
    ///
    /// Rules, in order:
    /// 1. The one whose type is better.
    /// 2. Both busy: the loads must differ by the domain's imbalance margin, both in proportion and in parts of a nice-0
    ///    task; between nodes the local one must be the more loaded one by the latter even without the former.
    /// 3. Both too small for the task: the one with the bigger CPU.
    /// 4. Both have room: the one with more idle CPUs; but between nodes the task stays near as long as few run here and the
    ///    difference is small.
    /// 5. Two groups that affinity keeps imbalanced: the local one.
    fn is_worth_leaving(&self, sd: DomainId, local: &GroupStats, idlest: &GroupStats, task: TaskId) -> bool {
        if local.group_type != idlest.group_type {
            return local.group_type > idlest.group_type;
        }
        let domain = &self.domains.domains[sd];
        let is_numa = domain.flags.contains(SdFlags::NUMA);
        let imbalance_pct = u64::from(domain.imbalance_pct);
        match local.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => {
                let margin = scale_load_down(NICE_0_LOAD) * (imbalance_pct - 100) / 100;
                let is_near_enough = is_numa && idlest.avg_load + margin >= local.avg_load;
                !is_near_enough
                    && idlest.avg_load < local.avg_load + margin
                    && 100 * local.avg_load > imbalance_pct * idlest.avg_load
            }
            GroupType::MisfitTask => local.max_capacity < idlest.max_capacity,
            GroupType::HasSpare => {
                let stays_near = is_numa && self.allows_numa_imbalance(domain.imb_numa_nr, local, idlest, task);
                !stays_near && local.idle_cpus < idlest.idle_cpus
            }
            GroupType::Imbalanced => false,
        }
    }

    /// Whether the difference between two nodes is small enough to keep communicating tasks together. No more tasks than
    /// local CPUs that the task may use count as few.
    fn allows_numa_imbalance(&self, imb_numa_nr: u32, local: &GroupStats, idlest: &GroupStats, task: TaskId) -> bool {
        let usable = self.domains.groups[local.group].span.weight_and(&self.tasks[task.index()].cpus_allowed) as u32;
        let imbalance = local.idle_cpus.abs_diff(idlest.idle_cpus);
        adjust_numa_imbalance(imbalance, local.nr_running + 1, imb_numa_nr.min(usable)) == 0
    }
}

/// An imbalance between nodes counts unless only few tasks run at the destination and it is not more than a pair of tasks.
fn adjust_numa_imbalance(imbalance: u32, dst_running: u32, imb_numa_nr: u32) -> u32 {
    const NUMA_IMBALANCE_MIN: u32 = 2;
    if dst_running <= imb_numa_nr && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
}

/// Whether a group has more tasks than CPUs, and its utilisation or the time that tasks wait exceeds its capacity.
fn is_overloaded(sums: &Sums, imbalance_pct: u64, weight: u32, capacity: Capacity) -> bool {
    sums.nr_running > weight
        && (capacity * 100 < sums.util * imbalance_pct || capacity * imbalance_pct < sums.runnable * 100)
}

/// Whether a group has fewer tasks than CPUs, or else capacity to spare.
fn has_capacity(sums: &Sums, imbalance_pct: u64, weight: u32, capacity: Capacity) -> bool {
    sums.nr_running < weight
        || (capacity * imbalance_pct >= sums.runnable * 100 && capacity * 100 > sums.util * imbalance_pct)
}

/// Whether a group is idler than the idlest so far.
///
/// Rules, in order:
/// 1. The better type; an overloaded group is as bad as none at all, but for its load.
/// 2. Both busy: less load. Both too small: a bigger CPU. Both have room: more idle CPUs, or as many and less utilisation.
///    Both imbalanced: the first.
fn update_pick_idlest(idlest: Option<&GroupStats>, group: &GroupStats) -> bool {
    let Some(idlest) = idlest else {
        return group.group_type < GroupType::Overloaded || group.avg_load < u64::from(u32::MAX);
    };
    if group.group_type != idlest.group_type {
        return group.group_type < idlest.group_type;
    }
    match group.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => group.avg_load < idlest.avg_load,
        GroupType::MisfitTask => group.max_capacity > idlest.max_capacity,
        GroupType::HasSpare => {
            group.idle_cpus > idlest.idle_cpus || (group.idle_cpus == idlest.idle_cpus && group.util < idlest.util)
        }
        GroupType::Imbalanced => false,
    }
}
