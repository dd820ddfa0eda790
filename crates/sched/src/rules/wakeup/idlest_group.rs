// SPDX-License-Identifier: GPL-2.0-or-later
//! Idlest group of a domain, and whether it is better than the local group.
//!
//! Models `find_idlest_group()`, `update_sg_wakeup_stats()` and `update_pick_idlest()` (6.1). Groups are
//! classified as in load balancing.

use crate::interface::balance::GroupType;
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::WakeupDecision;
use crate::rules::balance::classify::group_classify;
use crate::rules::balance::imbalance::adjust_numa_imbalance;
use crate::rules::balance::stats::SgLbStats;
use crate::state::State;
use crate::state::lb_cache::LbSample;
use crate::state::topology::{DomainId, SchedDomains, SchedGroup, SchedGroupId, SdFlags};
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::Capacity;
use crate::types::weight::{NICE_0_LOAD, scale_load_down};
use crate::types::work::KernelOp;

/// Group with its statistics without the task.
#[derive(Clone, Copy, Debug)]
struct IdlestCandidate {
    group: SchedGroupId,
    max_capacity: Capacity,
    stats: SgLbStats,
}

/// Task whose contribution is subtracted, and where.
#[derive(Clone, Copy, Debug)]
struct LoadWithoutTask {
    task: TaskId,
    /// The CPU of the task, with the task's load there.
    own_cpu: CpuId,
    own_load: u64,
    is_asym: bool,
}

impl State {
    /// Returns the idlest group of a domain for a task, or `None` if the group of `this_cpu` is as good.
    ///
    /// Groups without allowed CPUs do not count. If the local group is one of them, any other is better.
    pub(crate) fn find_idlest_group(
        &mut self,
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        this_cpu: CpuId,
        decision: &mut WakeupDecision,
    ) -> Option<SchedGroupId> {
        self.refresh_lb_cache_in(sd);
        let (mut local, mut idlest): (Option<IdlestCandidate>, Option<IdlestCandidate>) = (None, None);
        let first = self.domains.domains[sd].groups;
        let mut next = Some(first);
        while let Some(id) = next {
            let group = &self.domains.groups[id];
            next = (group.next != first).then_some(group.next);
            if !group.span.intersects(&self.tasks[decision.task].cpus_allowed) {
                continue;
            }
            let is_local = group.span.contains(this_cpu);
            let max_capacity = self.domains.capacities[group.capacity].max_capacity;
            let stats = self.update_sg_wakeup_stats(ctx, sd, id, decision);
            let candidate = IdlestCandidate { group: id, max_capacity, stats };
            if is_local {
                local = Some(candidate);
            } else if update_pick_idlest(idlest.as_ref(), &candidate) {
                idlest = Some(candidate);
            }
        }
        let (idlest, allowed) = (idlest?, &self.tasks[decision.task].cpus_allowed);
        match local {
            Some(local) if !self.domains.is_worth_leaving(sd, [&local, &idlest], allowed) => None,
            _ => Some(idlest.group),
        }
    }

    /// Collects the statistics of a group without the task: sums over its allowed CPUs, but its whole
    /// capacity.
    ///
    /// With asymmetric capacities, a group in which no CPU fits the task counts as having a misfit task.
    fn update_sg_wakeup_stats(
        &mut self,
        ctx: &mut Ctx<'_>,
        sd: DomainId,
        id: SchedGroupId,
        decision: &mut WakeupDecision,
    ) -> SgLbStats {
        let task = decision.task;
        // The task's own load, on the one CPU where it counts (`cpu_load_without()`).
        let own_cpu = self.tasks[task].cpu;
        let counts_here = self.domains.groups[id].span.contains(own_cpu)
            && self.tasks[task].cpus_allowed.contains(own_cpu)
            && self.fair.counts_on_cpu(own_cpu, &self.tasks[task]);
        let own_load = if counts_here { self.fair.task_h_load(self.tasks[task].se, self.jiffies) } else { 0 };

        let domain = &self.domains.domains[sd];
        let is_asym = domain.flags.contains(SdFlags::ASYM_CPUCAPACITY);
        let group = &self.domains.groups[id];
        let capacity = &self.domains.capacities[group.capacity];
        let p = &self.tasks[task];
        ctx.op_counts.touch_statistics(group.span.iter_and(&p.cpus_allowed));
        let without = LoadWithoutTask { task, own_cpu, own_load, is_asym };
        let may_use_all = p.nr_cpus_allowed as usize == self.rqs.len();
        let sums = self.lb_cache.group(id).filter(|_| may_use_all && !is_asym);
        let (nr_cpus, mut stats) = match sums {
            Some(sums) => {
                let stats = self.cached_stats_without_task(&without, &sums, group);
                debug_assert_eq!(
                    (group.group_weight, stats),
                    self.stats_without_task(&without, group),
                    "{id:?}: {without:?}"
                );
                (group.group_weight, stats)
            }
            None => self.stats_without_task(&without, group),
        };
        ctx.op_counts.count(KernelOp::GroupStatCpu, u64::from(nr_cpus));
        decision.nr_scanned += nr_cpus;
        stats.group_type = group_classify(domain.imbalance_pct, capacity.imbalance, &stats);
        if matches!(stats.group_type, GroupType::FullyBusy | GroupType::Overloaded) {
            stats.avg_load = stats.load_per_capacity();
        }
        stats
    }

    /// Sums the values of the allowed CPUs of a group from their runqueues. Also returns the number of these
    /// CPUs.
    fn stats_without_task(&self, without: &LoadWithoutTask, group: &SchedGroup) -> (u32, SgLbStats) {
        let &LoadWithoutTask { task, own_cpu, own_load, is_asym } = without;
        let mut stats = self.domains.empty_stats(group, is_asym);
        let (mut nr_cpus, p) = (0, &self.tasks[task]);
        for cpu in group.span.iter_and(&p.cpus_allowed) {
            nr_cpus += 1;
            let (rq, root) = (&self.rqs[cpu], self.fair.root_cfs_rq(cpu));
            let load = root.avg.load_avg;
            let load = if cpu == own_cpu { load.saturating_sub(own_load) } else { load };
            stats.group_load = stats.group_load.wrapping_add(load);
            stats.group_util += self.fair.cpu_util_without(self.features, rq, p);
            stats.group_runnable += self.fair.cpu_runnable_without(cpu, p);
            let own = self.fair.task_running_on_cpu(cpu, p);
            let nr_running = rq.nr_running - own;
            stats.sum_nr_running += nr_running;
            stats.sum_h_nr_running += root.h_nr_running - own;
            stats.idle_cpus += u32::from(nr_running == 0 && rq.idle_cpu_without(task));
            if stats.group_misfit_task_load > 0 && self.task_fits_cpu(task, cpu) {
                stats.group_misfit_task_load = 0;
            }
        }
        (nr_cpus, stats)
    }

    /// Derives the statistics from the cached ones of the group ([`crate::state::lb_cache`]). Only the CPU
    /// that contains the task has other values without it.
    fn cached_stats_without_task(&self, without: &LoadWithoutTask, sums: &LbSample, group: &SchedGroup) -> SgLbStats {
        let &LoadWithoutTask { task, own_cpu: cpu, own_load, is_asym } = without;
        let mut stats = SgLbStats {
            group_load: sums.load,
            group_util: u64::from(sums.util),
            group_runnable: sums.runnable,
            sum_nr_running: sums.nr_running,
            sum_h_nr_running: sums.h_nr_running,
            idle_cpus: sums.idle_cpus,
            ..self.domains.empty_stats(group, is_asym)
        };
        if group.span.contains(cpu) {
            let (with, rq, p) = (self.lb_cache.cpu(cpu), &self.rqs[cpu], &self.tasks[task]);
            let own = self.fair.task_running_on_cpu(cpu, p);
            stats.group_load = stats.group_load.wrapping_sub(with.load.min(own_load));
            let util = self.fair.cpu_util_without(self.features, rq, p);
            stats.group_util = stats.group_util - u64::from(with.util) + util;
            stats.group_runnable = stats.group_runnable - with.runnable + self.fair.cpu_runnable_without(cpu, p);
            stats.sum_nr_running -= own;
            stats.sum_h_nr_running -= own;
            let is_idle = rq.nr_running == own && rq.idle_cpu_without(task);
            stats.idle_cpus = stats.idle_cpus - with.idle_cpus + u32::from(is_idle);
        }
        stats
    }
}

impl SchedDomains {
    /// Returns the statistics of a group before any CPU is added.
    fn empty_stats(&self, group: &SchedGroup, is_asym: bool) -> SgLbStats {
        SgLbStats {
            group_capacity: self.capacities[group.capacity].capacity,
            group_weight: group.group_weight,
            group_misfit_task_load: u64::from(is_asym),
            ..SgLbStats::default()
        }
    }

    /// Whether the idlest group is better than the local one.
    ///
    /// Rules, in order:
    /// 1. The group of the better type.
    /// 2. Both busy: the loads must differ by the domain's imbalance margin, both in proportion and as a
    ///    fraction of a nice-0 task; between NUMA nodes, the local group's load must also be higher by that
    ///    fraction.
    /// 3. Both too small for the task: the group with the larger CPU.
    /// 4. Both with spare capacity: the group with more idle CPUs. Between NUMA nodes the task stays local
    ///    while few tasks run here and the difference is small.
    /// 5. Two groups imbalanced by affinity: the local one.
    fn is_worth_leaving(&self, sd: DomainId, [local, idlest]: [&IdlestCandidate; 2], allowed: &CpuMask) -> bool {
        let domain = &self.domains[sd];
        let is_numa = domain.flags.contains(SdFlags::NUMA);
        let imbalance_pct = u64::from(domain.imbalance_pct);
        let (here, there) = (&local.stats, &idlest.stats);
        if here.group_type != there.group_type {
            return here.group_type > there.group_type;
        }
        match here.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => {
                let margin = scale_load_down(NICE_0_LOAD) * (imbalance_pct - 100) / 100;
                let is_near_enough = is_numa && there.avg_load.wrapping_add(margin) >= here.avg_load;
                !is_near_enough
                    && there.avg_load < here.avg_load.wrapping_add(margin)
                    && here.avg_load.wrapping_mul(100) > there.avg_load.wrapping_mul(imbalance_pct)
            }
            GroupType::MisfitTask => local.max_capacity < idlest.max_capacity,
            GroupType::HasSpare => {
                let stays_near = is_numa && self.allows_numa_imbalance(domain.imb_numa_nr, local, there, allowed);
                !stays_near && here.idle_cpus < there.idle_cpus
            }
            GroupType::Imbalanced | GroupType::AsymPacking | GroupType::SmtBalance => false,
        }
    }

    /// Whether the difference between two nodes is small enough to keep communicating tasks together. The
    /// number of allowed local CPUs also limits how many tasks count as few.
    fn allows_numa_imbalance(
        &self,
        imb_numa_nr: u32,
        local: &IdlestCandidate,
        there: &SgLbStats,
        allowed: &CpuMask,
    ) -> bool {
        let usable = self.groups[local.group].span.weight_and(allowed) as u32;
        let imbalance = i64::from(local.stats.idle_cpus.abs_diff(there.idle_cpus));
        adjust_numa_imbalance(imbalance, local.stats.sum_nr_running + 1, imb_numa_nr.min(usable)) == 0
    }
}

/// Whether a group is more idle than the idlest one so far.
///
/// Rules, in order:
/// 1. The better type. Without a group so far, any group except an overloaded one of unlimited load.
/// 2. Both busy: less load. Both too small: a larger CPU. Both with spare capacity: more idle CPUs, or as
///    many and less utilisation. Both imbalanced: the first.
fn update_pick_idlest(idlest: Option<&IdlestCandidate>, candidate: &IdlestCandidate) -> bool {
    let new = &candidate.stats;
    let Some(idlest) = idlest else {
        return new.group_type < GroupType::Overloaded || new.avg_load < u64::from(u32::MAX);
    };
    let old = &idlest.stats;
    if new.group_type != old.group_type {
        return new.group_type < old.group_type;
    }
    match new.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => new.avg_load < old.avg_load,
        GroupType::MisfitTask => candidate.max_capacity > idlest.max_capacity,
        GroupType::HasSpare => {
            new.idle_cpus > old.idle_cpus || (new.idle_cpus == old.idle_cpus && new.group_util < old.group_util)
        }
        GroupType::Imbalanced | GroupType::AsymPacking | GroupType::SmtBalance => false,
    }
}
