// SPDX-License-Identifier: GPL-2.0-or-later
//! What a pass of balancing knows of the groups of its domain, and how it finds out.
//!
//! Models `struct sg_lb_stats`, `struct sd_lb_stats`, `update_sg_lb_stats()`, `update_sd_lb_stats()`,
//! `update_sd_pick_busiest()` and `update_idle_cpu_scan()` (6.1). No lock is held meanwhile: what is gathered may be out
//! of date when it is used.

use crate::interface::balance::GroupType;
use crate::interface::ctx::Ctx;
use crate::rules::balance::classify::{group_classify, sched_asym, sched_asym_prefer};
use crate::rules::balance::env::LbEnv;
use crate::state::State;
use crate::state::topology::{DomainId, SchedGroupId, SdFlags};
use crate::track::misfit::capacity_greater;
use crate::types::features::Feature;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::units::{CAPACITY_SHIFT, SCHED_CAPACITY_SCALE};
use crate::types::work::KernelOp;

/// CPUs of a cache domain that counts as small with `small_llc_scan`.
const SMALL_LLC: u32 = 16;

/// What is known of a group: the kernel's `struct sg_lb_stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SgLbStats {
    /// Load for its capacity; only of groups where tasks compete, until others need it.
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
    pub group_misfit_task_load: u64,
}

impl SgLbStats {
    /// Load for the capacity, of 1024.
    pub(crate) fn load_per_capacity(&self) -> u64 {
        (self.group_load << CAPACITY_SHIFT) / self.group_capacity
    }
}

/// What is known of a domain: the kernel's `struct sd_lb_stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SdLbStats {
    pub busiest: Option<SchedGroupId>,
    pub local: SchedGroupId,
    pub total_load: u64,
    pub total_capacity: u64,
    /// Load for the capacity of the whole domain; computed when it is needed.
    pub avg_load: u64,
    pub prefer_sibling: bool,
    pub busiest_stat: SgLbStats,
    pub local_stat: SgLbStats,
}

impl SdLbStats {
    /// Nothing is known yet: any group with tasks is busier than the busiest so far.
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

    /// Load for the capacity of the whole domain.
    pub(crate) fn load_per_capacity(&self) -> u64 {
        (self.total_load << CAPACITY_SHIFT) / self.total_capacity
    }
}

/// What the CPUs of a domain are like together: what the root domain and the cache domain are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SdStatus {
    overload: bool,
    overutilized: bool,
    /// Sum of the groups' utilisation.
    util: u64,
    /// How many CPUs were looked at.
    nr_cpus: u32,
}

impl State {
    /// Gathers what a pass has to know.
    ///
    /// Rules, in order:
    /// 1. The local group's capacity is computed anew; by a CPU that runs out of work only when it is time.
    /// 2. Each other group is compared with the busiest so far.
    /// 3. The widest domain says whether the machine is overloaded and over-utilised; a narrower one only that it is.
    pub(crate) fn update_sd_lb_stats(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv) -> SdLbStats {
        let sd = &self.domains.domains[env.sd];
        let (child, parent) = (sd.child, sd.parent);
        env.dst_core_idle = !self.domains.smt_present || self.is_core_idle(env.dst_cpu);
        self.begin_nohz_stats(env);
        self.refresh_tallies_in(env.sd);
        let is_short = self.uses_cached_stats(ctx, env);
        let (mut sds, mut status) = (SdLbStats::new(self.domains.domains[env.sd].groups), SdStatus::default());
        if is_short {
            self.go_short_way(env, &mut sds, &mut status);
        } else {
            self.go_around(ctx, env, &mut sds, &mut status);
        }
        self.end_nohz_stats(env);
        sds.prefer_sibling =
            child.is_some_and(|child| self.domains.domains[child].flags.intersects(SdFlags::PREFER_SIBLING));
        if parent.is_none() {
            self.domains.root.overload = status.overload;
            self.set_overutilized_status(ctx, env.dst_cpu, status.overutilized);
        } else if status.overutilized {
            self.set_overutilized_status(ctx, env.dst_cpu, true);
        }
        self.update_idle_cpu_scan(env, status.util);
        ctx.work.count(KernelOp::GroupStatCpu, u64::from(status.nr_cpus));
        env.decision.nr_cpus += status.nr_cpus;
        sds
    }

    /// Goes around all groups of the domain.
    fn go_around(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, sds: &mut SdLbStats, status: &mut SdStatus) {
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
                self.refresh_tallies_in(env.sd);
            }
            if ctx.work.records_touches() {
                ctx.work.touch_read_all(self.domains.groups[group].span.iter_and(&env.cpus));
            }
            self.add_group(env, sds, status, group, is_local);
            group = self.domains.groups[group].next;
            if group == first {
                return;
            }
        }
    }

    /// Whether the short way leads to the same end: tallies are enough, there is one for the whole domain, and nobody wants to
    /// know which runqueues are read.
    fn uses_cached_stats(&self, ctx: &Ctx<'_>, env: &LbEnv) -> bool {
        self.tallies_serve(env)
            && self.tallies.domain(env.sd).is_some()
            && !env.flags.nohz_stats
            && !ctx.work.records_touches()
    }

    /// Sees the local group and those that have fair tasks: no other can be the busiest. Sums are those of the whole domain.
    /// (Its capacity is only asked for if there is a busiest group.)
    fn go_short_way(&mut self, env: &LbEnv, sds: &mut SdLbStats, status: &mut SdStatus) {
        let local = self.domains.domains[env.sd].groups;
        self.update_local_capacity(env, local);
        self.add_group(env, sds, status, local, true);
        let all = self.tallies.domain(env.sd).expect("whoever goes this way has asked");
        if all.h_nr_running != sds.local_stat.sum_h_nr_running {
            let mut group = self.domains.groups[local].next;
            while group != local {
                if self.tallies.h_nr_running(group) > 0 {
                    self.add_group(env, sds, status, group, false);
                }
                group = self.domains.groups[group].next;
            }
            sds.total_capacity = self.capacity_of_domain(env.sd);
        }
        sds.total_load = all.load;
        status.util = u64::from(all.util);
        status.overload |= all.overloaded_cpus > 0;
        status.nr_cpus = self.domains.domains[env.sd].span_weight;
        debug_assert_eq!(
            (sds.busiest.map(|_| *sds), *status),
            self.add_all(env, sds.local),
            "the short way and the way around {env:?}"
        );
    }

    /// What the way around sees when no capacity is to be computed anew; of the domain only if there is a busiest group.
    fn add_all(&self, env: &LbEnv, local: SchedGroupId) -> (Option<SdLbStats>, SdStatus) {
        let (mut sds, mut status) = (SdLbStats::new(local), SdStatus::default());
        for group in self.domains.ring(env.sd) {
            self.add_group(env, &mut sds, &mut status, group, group == local);
        }
        (sds.busiest.map(|_| sds), status)
    }

    /// Sum of the capacities of a domain's groups.
    pub(crate) fn capacity_of_domain(&self, sd: DomainId) -> u64 {
        let groups = self.domains.ring(sd).map(|group| self.domains.groups[group].capacity);
        groups.map(|capacity| self.domains.capacities[capacity].capacity).sum()
    }

    fn update_local_capacity(&mut self, env: &LbEnv, local: SchedGroupId) {
        let next_update = self.domains.capacities[self.domains.groups[local].capacity].next_update;
        if env.idle != CpuIdleType::NewlyIdle || self.jiffies >= next_update {
            self.update_group_capacity(env.sd, env.dst_cpu);
            self.refresh_tallies_in(env.sd);
        }
    }

    /// Takes a group into account.
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

    /// Gathers what there is to know of a group, and puts it into a state.
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
            group_misfit_task_load: gathered.misfit_task_load,
        };
        sgs.group_asym_packing = !is_local
            && sd.flags.intersects(SdFlags::ASYM_PACKING)
            && env.idle != CpuIdleType::NotIdle
            && sgs.sum_h_nr_running > 0
            && sched_asym(env.dst_cpu, &self.domains.groups[sds.local], sds, &sgs, group);
        sgs.group_type = group_classify(sd.imbalance_pct, capacity.imbalance, &sgs);
        if sgs.group_type == GroupType::Overloaded {
            sgs.avg_load = sgs.load_per_capacity();
        }
        sgs
    }

    /// Whether a group is busier than the busiest so far.
    ///
    /// Rules, in order:
    /// 1. A group without fair tasks never is.
    /// 2. A misfit task can only be helped by a CPU of an idle core that is greater than all of the group's, in a group
    ///    with spare capacity.
    /// 3. Where capacities differ, smaller CPUs do not take from greater ones whose tasks do not compete.
    /// 4. The worse state is the busier one; within a state it depends.
    fn update_sd_pick_busiest(&self, env: &LbEnv, sds: &SdLbStats, group: SchedGroupId, sgs: &SgLbStats) -> bool {
        if sgs.sum_h_nr_running == 0 {
            return false;
        }
        let group = &self.domains.groups[group];
        if self.domains.domains[env.sd].flags.intersects(SdFlags::ASYM_CPUCAPACITY) {
            let capacity = &self.domains.capacities[group.capacity];
            let dst_capacity = self.capacity_of(env.dst_cpu);
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
        match sgs.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => sgs.avg_load > busiest.avg_load,
            GroupType::Imbalanced => false,
            GroupType::AsymPacking => {
                let busiest = sds.busiest.expect("the busiest so far is in that state");
                !sched_asym_prefer(group.asym_prefer_cpu, self.domains.groups[busiest].asym_prefer_cpu)
            }
            GroupType::MisfitTask => sgs.group_misfit_task_load >= busiest.group_misfit_task_load,
            GroupType::HasSpare => {
                sgs.idle_cpus < busiest.idle_cpus
                    || sgs.idle_cpus == busiest.idle_cpus && sgs.sum_nr_running > busiest.sum_nr_running
            }
        }
    }

    /// Whether the other CPUs of a core are idle.
    pub(crate) fn is_core_idle(&self, cpu: CpuId) -> bool {
        let mut siblings = self.domains.cores.mask_of(cpu).iter();
        siblings.all(|sibling| sibling == cpu || self.rqs[sibling.index()].is_idle())
    }

    /// Says how many CPUs of the last-level cache a wake-up may look at, when the balanced domain is the cache's.
    ///
    /// Not by CPUs that run out of work: that would be too often.
    fn update_idle_cpu_scan(&mut self, env: &LbEnv, sum_util: u64) {
        if !self.features.has(Feature::SisUtil) || env.idle == CpuIdleType::NewlyIdle {
            return;
        }
        let (cached, sd) = (&self.domains.cpus[env.dst_cpu.index()], &self.domains.domains[env.sd]);
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

/// How many CPUs of a cache domain with this utilisation a search for an idle one may look at: `update_idle_cpu_scan()`.
///
/// With `x` the average utilisation of a CPU, of 1024, it is the part `1 - (x * imbalance_pct / 100)^2` of the domain, but
/// not less than none: all of an idle domain, none of one that has no more than the margin left.
pub(crate) fn nr_idle_scan(sum_util: u64, llc_weight: u32, imbalance_pct: u32) -> i32 {
    let (weight, pct) = (u64::from(llc_weight), u64::from(imbalance_pct));
    let x = sum_util / weight;
    let busy = (x * x * pct * pct / (10_000 * SCHED_CAPACITY_SCALE)).min(SCHED_CAPACITY_SCALE);
    ((SCHED_CAPACITY_SCALE - busy) * weight / SCHED_CAPACITY_SCALE) as i32
}

/// SIS_UTIL's limit as it was proposed for small cache domains: as many more of at most 16 CPUs as 32 are more than the domain has.
///
/// What was rounded down to nothing stays so, and more than there are CPUs means all.
pub(crate) fn boosted_for_small_llc(nr_idle_scan: i32, llc_weight: u32) -> i32 {
    if llc_weight <= SMALL_LLC { nr_idle_scan * 2 * SMALL_LLC as i32 / llc_weight as i32 } else { nr_idle_scan }
}
