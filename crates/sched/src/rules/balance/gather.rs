// SPDX-License-Identifier: GPL-2.0-or-later
//! Sums over the CPUs of a group: the part of `update_sg_lb_stats()` (6.1) that reads each runqueue.
//!
//! The numbers come from the cached load-balance statistics ([`crate::state::lb_cache`]) if a pass covers all
//! CPUs of its domain and needs no other values. Otherwise each runqueue is read. Builds with assertions
//! compare both in every pass.

use crate::rules::balance::env::LbEnv;
use crate::state::State;
use crate::state::lb_cache::LbSample;
use crate::state::topology::{SchedGroupId, SdFlags};
use crate::track::capacity::check_cpu_capacity;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CfsRqId;

/// Sums over the CPUs of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupSums {
    pub load: u64,
    pub util: u64,
    pub runnable: u64,
    pub nr_running: u32,
    pub h_nr_running: u32,
    pub idle_cpus: u32,
    /// Number of CPUs whose values were added.
    pub nr_cpus: u32,
    /// Highest load of a task that should be helped.
    pub misfit_task_load: u64,
    /// Whether some CPU has more than one task, or a misfit task.
    pub overload: bool,
    /// Whether some CPU is over-utilised.
    pub overutilized: bool,
}

impl State {
    /// Sums the values of those CPUs of a group that take part in a pass.
    ///
    /// For groups other than the local one, also finds tasks that should be helped:
    /// 1. With asymmetric capacities, misfit tasks.
    /// 2. Otherwise, if the destination is idle, the only fair task of a CPU with reduced capacity.
    #[inline]
    pub(crate) fn gather(&self, env: &LbEnv, group: SchedGroupId, is_local: bool) -> GroupSums {
        let Some(sums) = self.cached_sums(env, group, is_local) else { return self.sum_each_cpu(env, group, is_local) };
        let gathered = GroupSums {
            load: sums.load,
            util: u64::from(sums.util),
            runnable: sums.runnable,
            nr_running: sums.nr_running,
            h_nr_running: sums.h_nr_running,
            idle_cpus: sums.idle_cpus,
            nr_cpus: self.domains.groups[group].group_weight,
            misfit_task_load: 0,
            overload: sums.overloaded_cpus > 0,
            overutilized: false,
        };
        debug_assert_eq!(gathered, self.sum_each_cpu(env, group, is_local), "{group:?} in {env:?}");
        gathered
    }

    /// Returns the cached sums of a group, if the pass needs no other values.
    fn cached_sums(&self, env: &LbEnv, group: SchedGroupId, is_local: bool) -> Option<LbSample> {
        if !self.can_use_lb_cache(env) {
            return None;
        }
        let may_ask_for_help = !is_local && env.idle != CpuIdleType::NotIdle;
        self.lb_cache.group(group).filter(|sums| !may_ask_for_help || sums.reduced_cpus == 0)
    }

    /// Whether the cached statistics are sufficient for a pass: it excludes no CPU, capacities are equal, and
    /// no rule asks whether a CPU is over-utilised.
    pub(crate) fn can_use_lb_cache(&self, env: &LbEnv) -> bool {
        env.has_all_cpus
            && !self.domains.domains[env.sd].flags.intersects(SdFlags::ASYM_CPUCAPACITY)
            && !self.sched_energy_enabled()
    }

    /// Sums the values of the participating CPUs of a group from their runqueues.
    fn sum_each_cpu(&self, env: &LbEnv, group: SchedGroupId, is_local: bool) -> GroupSums {
        let (sd, group) = (&self.domains.domains[env.sd], &self.domains.groups[group]);
        let has_time = env.idle != CpuIdleType::NotIdle;
        let is_asym_capacity = sd.flags.intersects(SdFlags::ASYM_CPUCAPACITY);
        let energy_enabled = self.sched_energy_enabled();
        let mut sums = GroupSums::default();
        group.span.for_each_and(&env.cpus, |cpu| {
            sums.nr_cpus += 1;
            let (rq, cfs_rq) = (&self.rqs[cpu], &self.fair.cfs_rqs[CfsRqId::root(cpu)]);
            let load = cfs_rq.avg.load_avg;
            sums.load = sums.load.wrapping_add(load);
            sums.util += self.fair.cpu_util_cfs(self.features, &self.rqs[cpu]);
            sums.runnable += cfs_rq.avg.runnable_avg;
            sums.h_nr_running += cfs_rq.h_nr_running;
            sums.nr_running += rq.nr_running;
            sums.overload |= rq.nr_running > 1;
            sums.overutilized |= energy_enabled && self.cpu_overutilized(cpu);
            if rq.is_idle() {
                sums.idle_cpus += 1;
                return;
            }
            if is_local {
                return;
            }
            if is_asym_capacity {
                if sums.misfit_task_load < rq.misfit_task_load {
                    sums.misfit_task_load = rq.misfit_task_load;
                    sums.overload = true;
                }
            } else if has_time && cfs_rq.h_nr_running == 1 && check_cpu_capacity(rq, sd) {
                sums.misfit_task_load = sums.misfit_task_load.max(load);
            }
        });
        sums
    }
}
