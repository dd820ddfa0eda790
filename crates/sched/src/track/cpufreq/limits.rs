// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of frequencies: what the user allows, and what heat leaves.
//!
//! Models `policy->max` with its requests of user and cooling device, `sugov_limits()`, and
//! `arch_update_thermal_pressure()` (6.1).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::cpufreq::domain::Governor;
use crate::state::cpufreq::limits::FrequencyLimit;
use crate::track::pelt::other::update_thermal;
use crate::types::ids::CpuId;
use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE};

impl State {
    /// The CPUs of a CPU's frequency domain may go up to this part of 1024 of their highest frequency: to the highest
    /// frequency of the domain that is not above it, or to the lowest.
    ///
    /// Rules, in order:
    /// 1. Heat takes capacity: the part that is above the limit becomes thermal pressure. Without a frequency domain that
    ///    is all that happens.
    /// 2. schedutil hears that limits have changed, and keeps them from its next look at a CPU of the domain on. With a driver that may
    ///    sleep, a frequency above the limit is lowered at once, by whoever sets the limit.
    /// 3. A domain whose frequency is fixed goes as near to it as it may, at once.
    pub fn limit_frequency(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, limit: FrequencyLimit, part: Capacity) {
        let Some(index) = self.cpufreq.policies.iter().position(|policy| policy.domain.contains(cpu)) else {
            if limit == FrequencyLimit::Thermal {
                let capacity = self.rqs[cpu.index()].cpu_capacity_orig;
                self.set_thermal_pressure(cpu, capacity - capacity * part / SCHED_CAPACITY_SCALE);
            }
            return;
        };
        let policy = &mut self.cpufreq.policies[index];
        let highest = policy.domain.highest_khz();
        let wanted = highest * part / SCHED_CAPACITY_SCALE;
        let khz = policy.domain.khz().iter().copied().filter(|&khz| khz <= wanted).max();
        let khz = khz.unwrap_or_else(|| policy.domain.khz()[0]);
        match limit {
            FrequencyLimit::User => policy.limits.user_khz = khz,
            FrequencyLimit::Thermal => policy.limits.thermal_khz = khz,
        }
        let governor = policy.domain.governor();
        if limit == FrequencyLimit::Thermal {
            for place in 0..self.cpufreq.policies[index].domain.nr_cpus() {
                let cpu = self.cpufreq.policies[index].domain.cpu_at(place);
                let capacity = self.rqs[cpu.index()].cpu_capacity_orig;
                self.set_thermal_pressure(cpu, capacity - capacity * khz / highest);
            }
        }
        match governor {
            Governor::Schedutil(_) => {
                self.sugov_mut(index).limits_changed = true;
                let policy = &self.cpufreq.policies[index];
                let (cur_khz, all) = (policy.cur_khz, self.tunables.changes.energy_inefficient);
                if policy.domain.has_governor_thread() && policy.resolve(cur_khz, all) < cur_khz {
                    self.cpufreq_driver_fast_switch(ctx, index, cur_khz);
                }
            }
            Governor::Fixed { khz } => self.cpufreq_driver_fast_switch(ctx, index, khz),
        }
    }

    /// The pressure changes. The first pressure begins the average where it would be if it had been looked at all the time: what comes next counts from the
    /// last look on.
    fn set_thermal_pressure(&mut self, cpu: CpuId, pressure: Capacity) {
        let shift = self.tunables.thermal_decay_shift;
        let rq = &mut self.rqs[cpu.index()];
        if rq.avg_thermal.last_update_time == 0 {
            update_thermal(&mut rq.avg_thermal, rq.thermal_looked_at >> shift, 0);
        }
        self.handle_thermal_pressure(cpu, pressure);
    }
}
