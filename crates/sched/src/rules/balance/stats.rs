// SPDX-License-Identifier: GPL-2.0-or-later
//! Statistics of the groups of a domain for a load-balance pass.
//!
//! Models `struct sg_lb_stats`, `struct sd_lb_stats`, `update_sg_lb_stats()`, `update_sd_lb_stats()`,
//! `update_sd_pick_busiest()` and `update_idle_cpu_scan()` (6.1 and 6.12). No lock is held meanwhile: statistics may
//! be out of date when they are used.

use crate::interface::balance::{BalanceDecision, GroupType};
use crate::interface::ctx::Ctx;
use crate::rules::balance::classify::{group_classify, sched_asym, sched_asym_prefer, smt_vs_nonsmt_groups};
use crate::rules::balance::env::LbEnv;
use crate::state::State;
use crate::state::lb_cache::LbSample;
use crate::state::topology::{DomainId, SchedDomains, SchedGroup, SchedGroupId, SdFlags};
use crate::track::misfit::capacity_greater;
use crate::types::features::Feature;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::kernel_rules::KernelRules;
use crate::types::units::{SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT};
use crate::types::work::KernelOp;

/// Maximum number of CPUs of a cache domain that counts as small with the tunable `small_llc_scan`.
const MAX_SMALL_LLC_CPUS: u32 = 16;

/// Statistics of a group (`struct sg_lb_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SgLbStats {
    /// Load per capacity, scaled by 1024. Only set for overloaded groups until another rule needs it.
    pub avg_load: u64,
    pub group_load: u64,
    pub group_capacity: u64,
    pub group_util: u64,
    pub group_runnable: u64,
    pub sum_nr_running: u32,
    pub sum_h_nr_running: u32,
    pub idle_cpus: u32,
    pub group_weight: u32,
    pub group_type: GroupType,
    pub group_asym_packing: bool,
    pub group_smt_balance: bool,
    pub group_misfit_task_load: u64,
}

impl SgLbStats {
    /// Returns load per capacity, scaled by 1024.
    pub(crate) fn load_per_capacity(&self) -> u64 {
        (self.group_load << SCHED_CAPACITY_SHIFT) / self.group_capacity
    }
}

/// Statistics of a domain (`struct sd_lb_stats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SdLbStats {
    pub busiest: Option<SchedGroupId>,
    pub local: SchedGroupId,
    pub total_load: u64,
    pub total_capacity: u64,
    /// Load per capacity of the whole domain, scaled by 1024; computed when needed.
    pub avg_load: u64,
    pub prefer_sibling: bool,
    pub busiest_stat: SgLbStats,
    pub local_stat: SgLbStats,
}

impl SdLbStats {
    /// Returns empty statistics, with which any group with tasks becomes the busiest group.
    fn new(local: SchedGroupId) -> Self {
        Self {
            busiest: None,
            local,
            total_load: 0,
            total_capacity: 0,
            avg_load: 0,
            prefer_sibling: false,
            busiest_stat: SgLbStats { idle_cpus: u32::MAX, ..SgLbStats::default() },
            local_stat: SgLbStats::default(),
        }
    }

    /// Returns load per capacity of the whole domain, scaled by 1024.
    pub(crate) fn load_per_capacity(&self) -> u64 {
        (self.total_load << SCHED_CAPACITY_SHIFT) / self.total_capacity
    }
}

/// Sums of a domain that update the root domain and the cache domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SdStatus {
    overload: bool,
    overutilized: bool,
    util: u64,
    /// Number of CPUs whose statistics were collected.
    nr_cpus: u32,
}

/// Statistics of a domain in which only the local group has fair tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuietStats {
    pub local: LbSample,
    /// Number of CPUs whose statistics a pass gathers.
    pub nr_cpus: u32,
    /// Utilisation of the domain; `None` if no rule needs it.
    pub util: Option<u64>,
    pub overload: bool,
}

impl State {
    /// Collects the statistics for a pass.
    ///
    /// Rules, in order:
    /// 1. The local group's capacity is updated; in newly-idle balancing only when its update is due.
    /// 2. Each other group is compared with the busiest one so far.
    /// 3. The widest domain sets whether the machine is overloaded and over-utilised. A narrower domain can
    ///    only set the latter.
    pub(crate) fn update_sd_lb_stats(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv) -> SdLbStats {
        let sd = &self.domains.domains[env.sd];
        let (child, parent) = (sd.child, sd.parent);
        env.dst_core_idle = !self.domains.smt_present || self.is_core_idle(env.dst_cpu);
        self.nohz.begin_nohz_stats(&self.tunables, env);
        self.refresh_lb_cache_in(env.sd);
        let is_short = self.uses_cached_stats(ctx, env);
        let (mut sds, mut status) = (SdLbStats::new(self.domains.domains[env.sd].groups), SdStatus::default());
        if is_short {
            self.gather_cached(env, &mut sds, &mut status);
        } else {
            self.gather_groups(ctx, env, &mut sds, &mut status);
        }
        self.end_nohz_stats(env);
        sds.prefer_sibling = if self.rules.sibling_flag_of_busiest {
            sds.busiest.is_some_and(|group| self.domains.groups[group].flags.intersects(SdFlags::PREFER_SIBLING))
        } else {
            child.is_some_and(|child| self.domains.domains[child].flags.intersects(SdFlags::PREFER_SIBLING))
        };
        if parent.is_none() {
            self.domains.root.overload = status.overload;
            self.set_overutilized_status(ctx, env.dst_cpu, status.overutilized);
        } else if status.overutilized {
            self.set_overutilized_status(ctx, env.dst_cpu, true);
        }
        self.update_idle_cpu_scan(env.sd, env.dst_cpu, env.idle, status.util);
        ctx.op_counts.count(KernelOp::GroupStatCpu, u64::from(status.nr_cpus));
        env.decision.nr_cpus += status.nr_cpus;
        sds
    }

    /// Visits all groups of the domain.
    fn gather_groups(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, sds: &mut SdLbStats, status: &mut SdStatus) {
        let first = self.domains.domains[env.sd].groups;
        let mut group = first;
        loop {
            let is_local = self.domains.groups[group].span.contains(env.dst_cpu);
            if is_local {
                sds.local = group;
                self.update_local_capacity(env, group);
            }
            if env.flags.nohz_stats {
                self.update_nohz_stats_of_group(ctx, env, group);
                self.refresh_lb_cache_in(env.sd);
            }
            if ctx.op_counts.records_touches() {
                ctx.op_counts.touch_statistics(self.domains.groups[group].span.iter_and(&env.cpus));
            }
            self.add_group(env, sds, status, group, is_local);
            group = self.domains.groups[group].next;
            if group == first {
                return;
            }
        }
    }

    /// Whether the cached statistics are sufficient: they exist for the whole domain, and the caller does not
    /// record which runqueues are read.
    fn uses_cached_stats(&self, ctx: &Ctx<'_>, env: &LbEnv) -> bool {
        self.can_use_lb_cache(env)
            && self.lb_cache.domain(env.sd).is_some()
            && !env.flags.nohz_stats
            && !ctx.op_counts.records_touches()
    }

    /// Visits only the local group and those with fair tasks, because no other group can be the busiest. The
    /// sums are those of the whole domain. (Its capacity is needed only if there is a busiest group.)
    fn gather_cached(&mut self, env: &LbEnv, sds: &mut SdLbStats, status: &mut SdStatus) {
        let local = self.domains.domains[env.sd].groups;
        self.update_local_capacity(env, local);
        self.add_group(env, sds, status, local, true);
        let all = self.lb_cache.domain(env.sd).expect("uses_cached_stats() was true");
        if all.h_nr_running != sds.local_stat.sum_h_nr_running {
            let mut group = self.domains.groups[local].next;
            while group != local {
                if self.lb_cache.h_nr_running(group) > 0 {
                    self.add_group(env, sds, status, group, false);
                }
                group = self.domains.groups[group].next;
            }
            sds.total_capacity = self.domains.capacity_of_domain(env.sd);
        }
        sds.total_load = all.load;
        status.util = u64::from(all.util);
        status.overload |= all.overloaded_cpus > 0;
        status.nr_cpus = self.domains.domains[env.sd].span_weight;
        debug_assert_eq!(
            (sds.busiest.map(|_| *sds), *status),
            self.recompute_stats(env, sds.local),
            "cached and recomputed statistics differ in {env:?}"
        );
    }

    /// Returns the statistics of a pass over all CPUs of a domain if the cached ones show that no group but the local one
    /// has fair tasks, so that nothing can be pulled. `None` means that a pass has to collect them.
    pub(crate) fn stats_without_candidate(&self, sd: DomainId) -> Option<QuietStats> {
        let domain = &self.domains.domains[sd];
        let local = self.lb_cache.group(domain.groups)?;
        let (mut all, mut nr_cpus) = (local, domain.span_weight);
        if let Some(sums) = self.lb_cache.domain(sd) {
            all = *sums;
        } else {
            nr_cpus = self.domains.groups[domain.groups].group_weight;
            for id in self.domains.ring(sd).skip(1) {
                let group = &self.domains.groups[id];
                // Groups of a domain between nodes can overlap: then there are several local ones.
                if group.span.contains(domain.cpu) {
                    return None;
                }
                all = all.plus(&self.lb_cache.group(id)?);
                nr_cpus += group.group_weight;
            }
        }
        (all.h_nr_running == local.h_nr_running).then(|| QuietStats {
            local,
            nr_cpus,
            util: Some(u64::from(all.util)),
            overload: all.overloaded_cpus > 0,
        })
    }

    /// Returns the statistics of a domain of single CPUs, a core, if no CPU has fair tasks. `None` also if they need more
    /// than one value: the utilisation, or whether some CPU is overloaded.
    #[inline]
    pub(crate) fn stats_of_idle_core(&self, sd: DomainId) -> Option<QuietStats> {
        let domain = &self.domains.domains[sd];
        if domain.child.is_some() || domain.parent.is_none() || !domain.flags.intersects(SdFlags::SHARE_CPUCAPACITY) {
            return None;
        }
        let (word, cpus) = domain.span.only_word()?;
        let has_inactive_cpu = cpus & !self.hotplug.active.word(word) != 0;
        let is_llc = domain.span_weight == self.domains.cpus[domain.cpu].sd_llc_size;
        if is_llc || has_inactive_cpu || self.lb_cache.has_dirty_or_busy_in(word, cpus) {
            return None;
        }
        let local = *self.lb_cache.cpu(domain.cpu);
        Some(QuietStats { local, nr_cpus: domain.span_weight, util: None, overload: false })
    }

    /// Whether statistics equal those that a pass would collect, as far as they are used.
    pub(crate) fn agrees_with_pass(&self, decision: &BalanceDecision, sd: DomainId, stats: &QuietStats) -> bool {
        let (domain, cpu) = (&self.domains.domains[sd], decision.dst_cpu);
        let mut env = LbEnv::new(decision.on, sd, domain.level, cpu, decision.idle, domain.span.clone());
        env.has_all_cpus = true;
        let (busiest, status) = self.recompute_stats(&env, domain.groups);
        let uses_util = domain.span_weight == self.domains.cpus[cpu].sd_llc_size;
        busiest.is_none()
            && status.nr_cpus == stats.nr_cpus
            && (domain.parent.is_some() || status.overload == stats.overload)
            && (!uses_util || Some(status.util) == stats.util)
    }

    /// Recomputes the statistics from all groups, for comparison with the cached ones. The domain's
    /// statistics are only returned if there is a busiest group.
    fn recompute_stats(&self, env: &LbEnv, local: SchedGroupId) -> (Option<SdLbStats>, SdStatus) {
        let (mut sds, mut status) = (SdLbStats::new(local), SdStatus::default());
        for group in self.domains.ring(env.sd) {
            self.add_group(env, &mut sds, &mut status, group, group == local);
        }
        (sds.busiest.map(|_| sds), status)
    }

    fn update_local_capacity(&mut self, env: &LbEnv, local: SchedGroupId) {
        let next_update = self.domains.capacities[self.domains.groups[local].capacity].next_update;
        if env.idle != CpuIdleType::NewlyIdle || self.jiffies >= next_update {
            self.update_group_capacity(env.sd, env.dst_cpu);
            self.refresh_lb_cache_in(env.sd);
        }
    }

    /// Adds a group to the statistics of the domain.
    fn add_group(&self, env: &LbEnv, sds: &mut SdLbStats, status: &mut SdStatus, group: SchedGroupId, is_local: bool) {
        let sgs = self.update_sg_lb_stats(env, sds, group, status);
        sds.total_load = sds.total_load.wrapping_add(sgs.group_load);
        sds.total_capacity += sgs.group_capacity;
        status.util += sgs.group_util;
        if is_local {
            sds.local_stat = sgs;
        } else if self.update_sd_pick_busiest(env, sds, group, &sgs) {
            sds.busiest = Some(group);
            sds.busiest_stat = sgs;
        }
    }

    /// Collects the statistics of a group and classifies it.
    fn update_sg_lb_stats(
        &self,
        env: &LbEnv,
        sds: &SdLbStats,
        group_id: SchedGroupId,
        status: &mut SdStatus,
    ) -> SgLbStats {
        let (sd, group) = (&self.domains.domains[env.sd], &self.domains.groups[group_id]);
        let is_local = group_id == sds.local;
        let gathered = self.gather(env, group_id, is_local);
        status.nr_cpus += gathered.nr_cpus;
        status.overload |= gathered.overload;
        status.overutilized |= gathered.overutilized;
        let capacity = &self.domains.capacities[group.capacity];
        let mut sgs = SgLbStats {
            avg_load: 0,
            group_load: gathered.load,
            group_capacity: capacity.capacity,
            group_util: gathered.util,
            group_runnable: gathered.runnable,
            sum_nr_running: gathered.nr_running,
            sum_h_nr_running: gathered.h_nr_running,
            idle_cpus: gathered.idle_cpus,
            group_weight: group.group_weight,
            group_type: GroupType::default(),
            group_asym_packing: false,
            group_smt_balance: false,
            group_misfit_task_load: gathered.misfit_task_load,
        };
        if self.rules.has_smt_balance {
            self.classify_smt(env, group, is_local, &mut sgs);
        } else {
            sgs.group_asym_packing = !is_local
                && sd.flags.intersects(SdFlags::ASYM_PACKING)
                && env.idle != CpuIdleType::NotIdle
                && sgs.sum_h_nr_running > 0
                && sched_asym(env.dst_cpu, &self.domains.groups[sds.local], sds, &sgs, group);
        }
        sgs.group_type = group_classify(sd.imbalance_pct, capacity.imbalance, &sgs);
        if sgs.group_type == GroupType::Overloaded {
            sgs.avg_load = sgs.load_per_capacity();
        }
        sgs
    }

    /// Determines whether an idle CPU should take tasks from another group by priority, or because the group is a core
    /// with several tasks (6.12).
    #[cold]
    #[inline(never)]
    fn classify_smt(&self, env: &LbEnv, group: &SchedGroup, is_local: bool, sgs: &mut SgLbStats) {
        if is_local || env.idle == CpuIdleType::NotIdle || sgs.sum_h_nr_running == 0 {
            return;
        }
        let is_core = group.flags.intersects(SdFlags::SHARE_CPUCAPACITY);
        let has_one_busy_cpu = sgs.group_weight.wrapping_sub(sgs.idle_cpus) == 1;
        sgs.group_asym_packing = (!is_core || has_one_busy_cpu)
            && self.sched_use_asym_prio(env.sd, env.dst_cpu)
            && sched_asym_prefer(env.dst_cpu, group.asym_prefer_cpu);
        sgs.group_smt_balance = is_core && sgs.sum_h_nr_running > 1;
    }

    /// Whether priorities of CPUs count in a domain for a CPU: among cores only if the whole core is idle (6.12).
    pub(crate) fn sched_use_asym_prio(&self, sd: DomainId, cpu: CpuId) -> bool {
        let flags = self.domains.domains[sd].flags;
        flags.intersects(SdFlags::ASYM_PACKING)
            && (!self.domains.smt_present || flags.intersects(SdFlags::SHARE_CPUCAPACITY) || self.is_core_idle(cpu))
    }

    /// Whether a group is busier than the busiest one so far.
    ///
    /// Rules, in order:
    /// 1. A group without fair tasks never is.
    /// 2. With asymmetric capacities, a misfit task needs a CPU of an idle core with more capacity than all
    ///    CPUs of the group, in a local group with spare capacity.
    /// 3. With asymmetric capacities, a CPU does not pull from larger CPUs whose tasks do not compete.
    /// 4. The worse group type is the busier one. Groups of equal type are compared by a criterion of that
    ///    type.
    fn update_sd_pick_busiest(&self, env: &LbEnv, sds: &SdLbStats, group: SchedGroupId, sgs: &SgLbStats) -> bool {
        if sgs.sum_h_nr_running == 0 {
            return false;
        }
        let group = &self.domains.groups[group];
        if self.domains.domains[env.sd].flags.intersects(SdFlags::ASYM_CPUCAPACITY) {
            let capacity = &self.domains.capacities[group.capacity];
            let dst_capacity = self.rqs[env.dst_cpu].cpu_capacity;
            let can_help = env.dst_core_idle
                && capacity_greater(dst_capacity, capacity.max_capacity)
                && sds.local_stat.group_type == GroupType::HasSpare;
            if sgs.group_type == GroupType::MisfitTask && !can_help {
                return false;
            }
            if sgs.group_type <= GroupType::FullyBusy && capacity_greater(capacity.min_capacity, dst_capacity) {
                return false;
            }
        }
        let busiest = &sds.busiest_stat;
        if sgs.group_type != busiest.group_type {
            return sgs.group_type > busiest.group_type;
        }
        self.domains.is_busier_of_type(&self.rules, sds, group, sgs)
    }

    /// Whether the other CPUs of a core are idle.
    pub(crate) fn is_core_idle(&self, cpu: CpuId) -> bool {
        let mut siblings = self.domains.cores.mask_of(cpu).iter();
        siblings.all(|sibling| sibling == cpu || self.rqs[sibling].is_idle())
    }

    /// Sets how many CPUs of the last-level cache a wake-up may scan (SIS_UTIL), if the balanced domain is
    /// that of the cache.
    ///
    /// Newly-idle balancing does not do this, because it is too frequent.
    pub(crate) fn update_idle_cpu_scan(&mut self, sd: DomainId, cpu: CpuId, idle: CpuIdleType, sum_util: u64) {
        if !self.features.has(Feature::SisUtil) || idle == CpuIdleType::NewlyIdle {
            return;
        }
        let (cached, sd) = (&self.domains.cpus[cpu], &self.domains.domains[sd]);
        if sd.span_weight != cached.sd_llc_size {
            return;
        }
        let Some(shared) = cached.sd_llc_shared else { return };
        let mut nr = nr_idle_scan(sum_util, sd.span_weight, sd.imbalance_pct);
        if self.tunables.changes.small_llc_scan {
            nr = boosted_for_small_llc(nr, sd.span_weight);
        }
        self.domains.shared[shared].nr_idle_scan = nr;
    }
}

impl SchedDomains {
    /// Returns the type of a domain's local group, by its cached statistics.
    pub(crate) fn classify_local(&self, sd: DomainId, local: &LbSample) -> GroupType {
        let domain = &self.domains[sd];
        let group = &self.groups[domain.groups];
        let capacity = &self.capacities[group.capacity];
        if local.nr_running == 0 && !capacity.imbalance {
            return GroupType::HasSpare;
        }
        let sgs = SgLbStats {
            group_capacity: capacity.capacity,
            group_util: u64::from(local.util),
            group_runnable: local.runnable,
            sum_nr_running: local.nr_running,
            group_weight: group.group_weight,
            ..SgLbStats::default()
        };
        group_classify(domain.imbalance_pct, capacity.imbalance, &sgs)
    }

    /// Returns the sum of the capacities of a domain's groups.
    pub(crate) fn capacity_of_domain(&self, sd: DomainId) -> u64 {
        let groups = self.ring(sd).map(|group| self.groups[group].capacity);
        groups.map(|capacity| self.capacities[capacity].capacity).sum()
    }

    /// Compares a group with the busiest one so far, which has an equal type. Rules, by type:
    /// 1. Overloaded: more load per capacity. Misfit task: a higher load, before 6.9 also an equal one. Asymmetric packing: a
    ///    CPU of lower priority, before 6.9 also of equal priority.
    /// 2. Fully busy: more load per capacity. Since 6.5 as much suffices, unless the busiest group is a core.
    /// 3. SMT balance: if no CPU of both groups is idle, as fully busy; otherwise as a group with spare capacity.
    /// 4. Spare capacity: since 6.6, a core with one task is never busier than another group, and with several always.
    ///    Otherwise fewer idle CPUs, or among equals more tasks.
    fn is_busier_of_type(&self, rules: &KernelRules, sds: &SdLbStats, group: &SchedGroup, sgs: &SgLbStats) -> bool {
        let busiest = &sds.busiest_stat;
        let busiest_group = sds.busiest.map(|busiest| &self.groups[busiest]);
        let is_core = |group: &SchedGroup| group.flags.intersects(SdFlags::SHARE_CPUCAPACITY);
        let is_fuller = || {
            let is_tie = sgs.avg_load == busiest.avg_load;
            sgs.avg_load > busiest.avg_load
                || is_tie && rules.keeps_busy_smt_group && !busiest_group.is_some_and(is_core)
        };
        let keeps_first = rules.busiest_tie_keeps_first;
        match sgs.group_type {
            GroupType::Overloaded => sgs.avg_load > busiest.avg_load,
            GroupType::Imbalanced => false,
            GroupType::AsymPacking => {
                let busiest = busiest_group.expect("a busiest group of this type exists");
                if keeps_first {
                    sched_asym_prefer(busiest.asym_prefer_cpu, group.asym_prefer_cpu)
                } else {
                    !sched_asym_prefer(group.asym_prefer_cpu, busiest.asym_prefer_cpu)
                }
            }
            GroupType::MisfitTask if keeps_first => sgs.group_misfit_task_load > busiest.group_misfit_task_load,
            GroupType::MisfitTask => sgs.group_misfit_task_load >= busiest.group_misfit_task_load,
            GroupType::SmtBalance if sgs.idle_cpus != 0 || busiest.idle_cpus != 0 => has_less_spare(sgs, busiest),
            GroupType::SmtBalance | GroupType::FullyBusy => is_fuller(),
            GroupType::HasSpare
                if rules.has_smt_balance
                    && busiest_group.is_some_and(|busiest| smt_vs_nonsmt_groups(busiest, group)) =>
            {
                !is_core(group) || sgs.sum_h_nr_running > 1
            }
            GroupType::HasSpare => has_less_spare(sgs, busiest),
        }
    }
}

/// Whether a group has fewer idle CPUs than another one, or as many and more tasks.
const fn has_less_spare(sgs: &SgLbStats, busiest: &SgLbStats) -> bool {
    sgs.idle_cpus < busiest.idle_cpus
        || sgs.idle_cpus == busiest.idle_cpus && sgs.sum_nr_running > busiest.sum_nr_running
}

/// Returns how many CPUs of a cache domain of this utilisation an idle scan may visit
/// (`update_idle_cpu_scan()`).
///
/// With `x` the average utilisation of a CPU, scaled by 1024, the result is the share `1 - (x * imbalance_pct
/// / 100)^2` of the CPUs, at least 0: all CPUs of an idle domain, none if the utilisation reaches the margin.
pub(crate) fn nr_idle_scan(sum_util: u64, llc_weight: u32, imbalance_pct: u32) -> i32 {
    let (weight, pct) = (u64::from(llc_weight), u64::from(imbalance_pct));
    let x = sum_util / weight;
    let busy = (x * x * pct * pct / (10_000 * SCHED_CAPACITY_SCALE)).min(SCHED_CAPACITY_SCALE);
    ((SCHED_CAPACITY_SCALE - busy) * weight / SCHED_CAPACITY_SCALE) as i32
}

/// Returns the SIS_UTIL limit as it was proposed for small cache domains: multiplied by 32 / `llc_weight` in
/// domains of at most 16 CPUs.
///
/// A limit of 0 stays 0. A limit above the number of CPUs means all CPUs.
pub(crate) fn boosted_for_small_llc(nr_idle_scan: i32, llc_weight: u32) -> i32 {
    if llc_weight <= MAX_SMALL_LLC_CPUS {
        nr_idle_scan * 2 * MAX_SMALL_LLC_CPUS as i32 / llc_weight as i32
    } else {
        nr_idle_scan
    }
}
