// SPDX-License-Identifier: GPL-2.0-or-later
//! Effects of frequency limits, which the user or a cooling device sets.
//!
//! Models `policy->max` with the requests of user and cooling device, `sugov_limits()`,
//! `arch_update_thermal_pressure()` (6.1), and `cpufreq_update_pressure()` (6.12).

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::cpufreq::domain::Governor;
use crate::state::cpufreq::limits::FrequencyLimit;
use crate::types::ids::CpuId;
use crate::types::units::{Capacity, SCHED_CAPACITY_SCALE};

impl State {
    /// Limits a CPU's frequency domain to a share of 1024 of its highest frequency.
    ///
    /// The limit is the highest frequency of the domain that is not above this share, or the lowest
    /// frequency.
    ///
    /// Rules, in order:
    /// 1. A thermal limit takes capacity: the share above the limit becomes thermal pressure. Without a
    ///    frequency domain nothing else happens.
    /// 2. In 6.12 the lower one of both limits also takes capacity, at once (`cpufreq_get_pressure()`).
    /// 3. schedutil applies changed limits at its next update of a CPU of the domain. With a driver that may
    ///    sleep, a frequency above the limit is lowered at once, by the CPU that sets the limit.
    /// 4. A domain whose frequency is fixed changes at once to the nearest allowed frequency.
    // DIFFERS: a thermal limit of 6.12 is also hardware pressure, which decays after the limit has ended, as with a
    // driver that reports throttling by firmware (`arch_update_hw_pressure()`). The cooling device of 6.12
    // (`cpufreq_cooling`) only limits the frequency, and the capacity is back at once.
    pub fn limit_frequency(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, limit: FrequencyLimit, part: Capacity) {
        let Some(policy) = self.cpufreq.policies.iter_mut().find(|policy| policy.domain.contains(cpu)) else {
            if limit == FrequencyLimit::Thermal {
                let rq = &mut self.rqs[cpu];
                let capacity = rq.cpu_capacity_orig;
                rq.set_thermal_pressure(capacity - capacity * part / SCHED_CAPACITY_SCALE);
            }
            return;
        };
        let highest = policy.domain.highest_khz();
        let wanted = highest * part / SCHED_CAPACITY_SCALE;
        let khz = policy.domain.khz().iter().copied().filter(|&khz| khz <= wanted).max();
        let khz = khz.unwrap_or_else(|| policy.domain.khz()[0]);
        match limit {
            FrequencyLimit::User => policy.limits.user_khz = khz,
            FrequencyLimit::Thermal => policy.limits.thermal_khz = khz,
        }
        let governor = policy.domain.governor();
        let max_khz = policy.limits.max_khz();
        for cpu in policy.domain.cpus() {
            let rq = &mut self.rqs[cpu];
            let capacity = rq.cpu_capacity_orig;
            if limit == FrequencyLimit::Thermal {
                rq.set_thermal_pressure(capacity - capacity * khz / highest);
            }
            rq.cpufreq_pressure = capacity - capacity * max_khz / highest;
        }
        let (cur_khz, all) = (policy.cur_khz, self.tunables.changes.energy_inefficient);
        match governor {
            Governor::Schedutil(_) => {
                policy.sugov_mut().set_limits_changed();
                if policy.domain.has_governor_thread() && policy.resolve(cur_khz, all) < cur_khz {
                    policy.fast_switch(ctx, &mut self.rqs, cur_khz, all);
                }
            }
            Governor::Fixed { khz } => policy.fast_switch(ctx, &mut self.rqs, khz, all),
        }
    }
}
