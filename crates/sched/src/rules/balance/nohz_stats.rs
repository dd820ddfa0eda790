// SPDX-License-Identifier: GPL-2.0-or-later
//! Blocked load of tickless CPUs that a CPU updates on its way while it looks for work, as before 5.12 (`LBF_NOHZ_STATS`).
//!
//! Off unless the tunable `newidle_blocked` is set.

use crate::interface::blocked::BlockedCaller;
use crate::interface::ctx::Ctx;
use crate::rules::balance::env::LbEnv;
use crate::state::State;
use crate::state::topology::SchedGroupId;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::units::{LOAD_AVG_PERIOD_MS, msecs_to_jiffies};

impl State {
    /// Before a pass gathers statistics: with the tunable `newidle_blocked`, a CPU that runs out of work updates blocked
    /// load on the way.
    pub(crate) fn begin_nohz_stats(&self, env: &mut LbEnv) {
        env.flags.nohz_stats |=
            self.tunables.changes.newidle_blocked && env.idle == CpuIdleType::NewlyIdle && self.nohz.has_blocked;
    }

    /// Updates blocked load of the tickless CPUs of a group.
    pub(crate) fn update_nohz_stats_of_group(&mut self, ctx: &mut Ctx<'_>, env: &mut LbEnv, group: SchedGroupId) {
        let mut from = CpuId(0);
        while let Some(cpu) = self.domains.groups[group].span.next_from(from) {
            if env.cpus.contains(cpu) && self.nohz.cpus[cpu.index()].has_blocked_load {
                env.flags.nohz_again |= self.update_nohz_stats(ctx, cpu, BlockedCaller::NohzNewIdle);
            }
            from = CpuId(cpu.0 + 1);
        }
    }

    /// After statistics were gathered: if all tickless CPUs were looked at, and some still has blocked load, it is time
    /// again after a half-life.
    pub(crate) fn end_nohz_stats(&mut self, env: &LbEnv) {
        if env.flags.nohz_again && self.nohz.idle_cpus_mask.is_subset_of(&self.domains.domains[env.sd].span) {
            self.nohz.next_blocked = self.jiffies + msecs_to_jiffies(LOAD_AVG_PERIOD_MS, self.hz);
        }
    }
}
