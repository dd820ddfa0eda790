// SPDX-License-Identifier: GPL-2.0-or-later
//! Source of a load-balance pass: the busiest group of a domain, and its busiest runqueue.
//!
//! Models `find_busiest_group()` and `find_busiest_queue()` (6.1 and 6.12, without NUMA balancing).

use crate::interface::balance::{BalancedReason, MigrationType};
use crate::interface::ctx::Ctx;
use crate::rules::balance::classify::{sched_asym_prefer, smt_vs_nonsmt_groups};
use crate::rules::balance::env::LbEnv;
use crate::rules::balance::imbalance::{GroupCores, ImbalanceParams, calculate_imbalance, why_balanced};
use crate::rules::balance::stats::SdLbStats;
use crate::state::State;
use crate::state::topology::{SchedDomains, SchedGroupId, SdFlags};
use crate::track::capacity::check_cpu_capacity;
use crate::track::misfit::capacity_greater;
use crate::types::ids::{CfsRqId, CpuId};
use crate::types::work::KernelOp;

impl State {
    /// Returns the group to pull from, with the imbalance in `env`, or the reason why there is none.
    pub(crate) fn find_busiest_group(
        &mut self,
        ctx: &mut Ctx<'_>,
        env: &mut LbEnv,
    ) -> Result<SchedGroupId, BalancedReason> {
        let mut sds = self.update_sd_lb_stats(ctx, env);
        let sd = &self.domains.domains[env.sd];
        let at = ImbalanceParams {
            idle: env.idle,
            flags: sd.flags,
            imbalance_pct: sd.imbalance_pct,
            imb_numa_nr: sd.imb_numa_nr,
            energy_aware: self.sched_energy_enabled() && !self.domains.root.overutilized,
            cores: if self.rules.scales_sibling_imbalance { self.domains.group_cores(&sds) } else { None },
        };
        env.decision.local_type = Some(sds.local_stat.group_type);
        env.decision.busiest_type = sds.busiest.map(|_| sds.busiest_stat.group_type);
        env.imbalance = 0;
        if let Some(why) = why_balanced(&mut sds, &at) {
            return Err(why);
        }
        (env.migration, env.imbalance) = calculate_imbalance(&mut sds, &at);
        match sds.busiest {
            Some(busiest) if env.imbalance != 0 => Ok(busiest),
            _ => Err(BalancedReason::NoImbalance),
        }
    }

    /// Returns the runqueue to pull from: the one with most of what is to be moved.
    ///
    /// Rules, in order:
    /// 1. It must have fair tasks. A single task is not pulled to a CPU that is not larger (asymmetric
    ///    capacities), or that has a lower priority (asymmetric packing).
    /// 2. Load counts per capacity of the CPU. A single task with more load than is to be moved stays, unless
    ///    the CPU's capacity is reduced.
    /// 3. Utilisation counts only if there are two or more tasks, because a part of it must stay.
    pub(crate) fn find_busiest_queue(&self, ctx: &mut Ctx<'_>, env: &LbEnv, group: SchedGroupId) -> Option<CpuId> {
        let span = &self.domains.groups[group].span;
        ctx.op_counts.touch_read_all(span.iter_and(&env.cpus));
        if !self.can_use_cached_queues(env, group) {
            let (nr_cpus, busiest) = self.scan_busiest_queue(env, group);
            ctx.op_counts.count(KernelOp::QueueStatCpu, nr_cpus);
            return busiest;
        }
        ctx.op_counts.count(KernelOp::QueueStatCpu, u64::from(self.domains.groups[group].group_weight));
        let busiest = self.find_cached_busiest_queue(env, group);
        debug_assert_eq!(busiest, self.scan_busiest_queue(env, group).1, "{group:?} in {env:?}");
        busiest
    }

    /// Whether the cached statistics suffice: the search must not depend on capacities, priorities of CPUs,
    /// or misfit tasks.
    fn can_use_cached_queues(&self, env: &LbEnv, group: SchedGroupId) -> bool {
        self.can_use_lb_cache(env)
            && self.lb_cache.has(group)
            && env.migration != MigrationType::Misfit
            && !self.domains.domains[env.sd].flags.intersects(SdFlags::ASYM_PACKING)
    }

    /// Finds the busiest runqueue by the cached statistics of the CPUs with fair tasks.
    fn find_cached_busiest_queue(&self, env: &LbEnv, group: SchedGroupId) -> Option<CpuId> {
        let sd = &self.domains.domains[env.sd];
        let mut busiest = None;
        let (mut most, mut most_capacity) = (0, 1);
        self.domains.groups[group].span.for_each_and(self.lb_cache.busy(), |cpu| {
            let of = self.lb_cache.cpu(cpu);
            let is_single = of.h_nr_running == 1;
            let is_more = match env.migration {
                MigrationType::Load => {
                    let rq = &self.rqs[cpu];
                    let (load, capacity) = (of.load, rq.cpu_capacity);
                    let is_too_much = is_single && load > env.imbalance as u64;
                    let stays = is_too_much && !(of.reduced_cpus > 0 && check_cpu_capacity(rq, sd));
                    let is_more = !stays && is_denser((load, capacity), (most, most_capacity));
                    if is_more {
                        (most, most_capacity) = (load, capacity);
                    }
                    is_more
                }
                MigrationType::Util if self.rules.boosts_util_by_runnable => {
                    !is_single && raise(&mut most, self.fair.cpu_util_cfs_boost(self.features, &self.rqs[cpu]))
                }
                MigrationType::Util => !is_single && raise(&mut most, u64::from(of.util)),
                MigrationType::Task => raise(&mut most, u64::from(of.h_nr_running)),
                MigrationType::Misfit => unreachable!("the cached statistics have no misfit loads"),
            };
            if is_more {
                busiest = Some(cpu);
            }
        });
        busiest
    }

    /// Finds the busiest runqueue by reading each runqueue. Also returns the number of runqueues read.
    fn scan_busiest_queue(&self, env: &LbEnv, group: SchedGroupId) -> (u64, Option<CpuId>) {
        let sd = &self.domains.domains[env.sd];
        let is_asym_capacity = sd.flags.intersects(SdFlags::ASYM_CPUCAPACITY);
        let is_packed = sd.flags.intersects(SdFlags::ASYM_PACKING);
        let dst_capacity = self.rqs[env.dst_cpu].cpu_capacity;
        let mut busiest = None;
        let (mut most, mut most_capacity) = (0, 1);
        let mut nr_cpus = 0;
        for cpu in self.domains.groups[group].span.iter_and(&env.cpus) {
            nr_cpus += 1;
            let rq = &self.rqs[cpu];
            let cfs_rq = &self.fair.cfs_rqs[CfsRqId::root(cpu)];
            let nr_running = cfs_rq.h_nr_running;
            if nr_running == 0 {
                continue;
            }
            let capacity = rq.cpu_capacity;
            let is_single = nr_running == 1;
            if is_single && is_asym_capacity && !capacity_greater(dst_capacity, capacity)
                || is_single
                    && is_packed
                    && sched_asym_prefer(cpu, env.dst_cpu)
                    && (!self.rules.asym_needs_idle_core || self.sched_use_asym_prio(env.sd, cpu))
            {
                continue;
            }
            let is_more = match env.migration {
                MigrationType::Load => {
                    let load = cfs_rq.avg.load_avg;
                    let stays = is_single && load > env.imbalance as u64 && !check_cpu_capacity(rq, sd);
                    let is_more = !stays && is_denser((load, capacity), (most, most_capacity));
                    if is_more {
                        (most, most_capacity) = (load, capacity);
                    }
                    is_more
                }
                MigrationType::Util if self.rules.boosts_util_by_runnable => {
                    !is_single && raise(&mut most, self.fair.cpu_util_cfs_boost(self.features, &self.rqs[cpu]))
                }
                MigrationType::Util => {
                    !is_single && raise(&mut most, self.fair.cpu_util_cfs(self.features, &self.rqs[cpu]))
                }
                MigrationType::Task => raise(&mut most, u64::from(nr_running)),
                MigrationType::Misfit => raise(&mut most, rq.misfit_task_load),
            };
            if is_more {
                busiest = Some(cpu);
            }
        }
        (nr_cpus, busiest)
    }
}

/// Whether a CPU has more load per capacity than the most loaded one so far.
const fn is_denser((load, capacity): (u64, u64), (most, most_capacity): (u64, u64)) -> bool {
    load.wrapping_mul(most_capacity) > most.wrapping_mul(capacity)
}

/// Raises a maximum. Returns whether the value was higher.
fn raise(most: &mut u64, value: u64) -> bool {
    let is_more = value > *most;
    if is_more {
        *most = value;
    }
    is_more
}

impl SchedDomains {
    /// Cores of the local and the busiest group, which matter in 6.12.
    #[cold]
    #[inline(never)]
    fn group_cores(&self, sds: &SdLbStats) -> Option<GroupCores> {
        let busiest = sds.busiest?;
        let (local, busiest) = (&self.groups[sds.local], &self.groups[busiest]);
        let smt_vs_nonsmt = smt_vs_nonsmt_groups(local, busiest);
        Some(GroupCores { local: local.cores, busiest: busiest.cores, smt_vs_nonsmt })
    }
}
