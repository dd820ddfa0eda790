// SPDX-License-Identifier: GPL-2.0-or-later
//! Update of the blocked load of tickless CPUs during newly-idle balancing, as before 5.13
//! (`LBF_NOHZ_STATS`).
//!
//! Off unless the tunable `newidle_blocked` is set.

use crate::interface::blocked::BlockedCaller;
use crate::interface::ctx::Ctx;
use crate::rules::balance::env::LbEnv;
use crate::state::State;
use crate::state::nohz::Nohz;
use crate::state::topology::SchedGroupId;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::tunables::Tunables;
use crate::types::units::{LOAD_AVG_PERIOD_MS, msecs_to_jiffies};

impl State {
    /// Updates the blocked load of the tickless CPUs of a group.
    pub(crate) fn update_nohz_stats_of_group(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, group: SchedGroupId) {
        let mut from = CpuId(0);
        while let Some(cpu) = self.domains.groups[group].span.next_from(from) {
            if env.cpus.contains(cpu) && self.nohz.cpus[cpu].has_blocked_load {
                env.flags.nohz_again |= self.update_nohz_stats(ctx, cpu, BlockedCaller::NohzNewIdle);
            }
            from = CpuId(cpu.0 + 1);
        }
    }

    /// Schedules the next update of blocked load one half-life later, after a pass that covered all tickless
    /// CPUs and left blocked load on one of them.
    pub(crate) fn end_nohz_stats(&mut self, env: &LbEnv) {
        if env.flags.nohz_again && self.nohz.idle_cpus_mask.is_subset_of(&self.domains.domains[env.sd].span) {
            self.nohz.next_blocked = self.jiffies + msecs_to_jiffies(LOAD_AVG_PERIOD_MS, self.hz);
        }
    }
}

impl Nohz {
    /// Decides, before a pass collects statistics, whether it updates blocked load: with the tunable
    /// `newidle_blocked`, in newly-idle balancing, if a tickless CPU has blocked load.
    pub(crate) fn begin_nohz_stats(&self, tunables: &Tunables, env: &mut LbEnv) {
        env.flags.nohz_stats |=
            tunables.changes.newidle_blocked && env.idle == CpuIdleType::NewlyIdle && self.has_blocked;
    }
}
