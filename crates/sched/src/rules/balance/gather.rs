// SPDX-License-Identifier: GPL-2.0-or-later
//! Sums over the CPUs of a group: the part of `update_sg_lb_stats()` (6.1) that looks at each runqueue.
//!
//! There are two ways to the same numbers. Tallies ([`crate::state::tallies`]) have them where a pass looks at all CPUs of its
//! domain and asks for nothing that they do not keep; otherwise each runqueue is looked at. That is also what tallies are
//! compared with: in every build that has assertions, in every pass.

use crate::rules::balance::env::LbEnv;
use crate::state::State;
use crate::state::lb_cache::LbSample;
use crate::state::topology::{SchedGroupId, SdFlags};
use crate::track::capacity::check_cpu_capacity;
use crate::types::idle_type::CpuIdleType;

/// What the CPUs of a group are like together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupSums {
    pub load: u64,
    pub util: u64,
    pub runnable: u64,
    pub nr_running: u32,
    pub h_nr_running: u32,
    pub idle_cpus: u32,
    /// How many were looked at.
    pub nr_cpus: u32,
    /// The greatest load of a task that should be helped.
    pub misfit_task_load: u64,
    /// Whether some CPU has more than one task, or a misfit one.
    pub overload: bool,
    /// Whether some CPU is over-utilised.
    pub overutilized: bool,
}

impl State {
    /// Gathers what the CPUs of a group that take part in a pass are like.
    ///
    /// Of groups other than the local one also whether a task there should be helped:
    /// 1. Where capacities differ, one that is too big for its CPU.
    /// 2. Elsewhere, to a CPU without work, the only fair task of a CPU of which other classes leave too little.
    #[inline]
    pub(crate) fn gather(&self, env: &LbEnv, group: SchedGroupId, is_local: bool) -> GroupSums {
        let Some(sums) = self.tallied(env, group, is_local) else { return self.sum_each_cpu(env, group, is_local) };
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

    /// The sums of a group, if they are all that the pass asks for.
    fn tallied(&self, env: &LbEnv, group: SchedGroupId, is_local: bool) -> Option<LbSample> {
        if !self.tallies_serve(env) {
            return None;
        }
        let may_ask_for_help = !is_local && env.idle != CpuIdleType::NotIdle;
        self.tallies.group(group).filter(|sums| !may_ask_for_help || sums.reduced_cpus == 0)
    }

    /// Whether tallies are enough for a pass: it leaves out no CPU, capacities do not differ, and nobody asks whether a CPU
    /// is over-utilised.
    pub(crate) fn tallies_serve(&self, env: &LbEnv) -> bool {
        env.has_all_cpus
            && !self.domains.domains[env.sd].flags.intersects(SdFlags::ASYM_CPUCAPACITY)
            && !self.sched_energy_enabled()
    }

    /// The same from the runqueues of those CPUs that take part.
    fn sum_each_cpu(&self, env: &LbEnv, group: SchedGroupId, is_local: bool) -> GroupSums {
        let (sd, group) = (&self.domains.domains[env.sd], &self.domains.groups[group]);
        let has_time = env.idle != CpuIdleType::NotIdle;
        let is_asym_capacity = sd.flags.intersects(SdFlags::ASYM_CPUCAPACITY);
        let energy_enabled = self.sched_energy_enabled();
        let mut sums = GroupSums::default();
        group.span.for_each_and(&env.cpus, |cpu| {
            sums.nr_cpus += 1;
            let (rq, cfs_rq) = (&self.rqs[cpu.index()], &self.cfs_rqs[cpu.index()]);
            let load = cfs_rq.avg.load_avg;
            sums.load = sums.load.wrapping_add(load);
            sums.util += self.cpu_util_cfs(cpu);
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
