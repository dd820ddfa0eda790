// SPDX-License-Identifier: GPL-2.0-or-later
//! The governor schedutil: it chooses the frequency that provides the utilisation and a quarter more.
//!
//! Models `cpufreq_schedutil.c` (6.1 and 6.12), for drivers that switch at once and for those that may sleep:
//! `sugov_update_single_freq()`, `sugov_update_shared()`, `sugov_next_freq_shared()`, `sugov_work()`,
//! `sugov_get_util()` and `ignore_dl_rate_limit()`. `sugov_limits()` is in [`super::limits`], arithmetic on one
//! policy or CPU in [`crate::state::cpufreq::sugov`].

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::track::cpufreq::effective::UtilType;
use crate::types::ids::CpuId;
use crate::types::units::Capacity;

impl State {
    /// Handles a change of a CPU's utilisation.
    ///
    /// Rules, in order:
    /// 1. Record whether a task waited for I/O, and the time of the update.
    /// 2. More deadline bandwidth than before does not wait for the rate limit.
    /// 3. Nothing happens if this CPU may not change the frequency, or if the last change is more recent than
    ///    the rate limit.
    /// 4. The CPU of the domain with the highest utilisation relative to its capacity decides.
    /// 5. A CPU that is alone in its domain and has been busy all the time keeps its frequency, unless clamps
    ///    keep it below.
    /// 6. If the chosen frequency differs from the last, the driver switches at once, or the policy's thread
    ///    calls the driver.
    pub(crate) fn sugov_update(&mut self, ctx: &mut Ctx<'_>, index: usize, cpu: CpuId, for_iowait: bool) {
        let rq = &self.rqs[cpu];
        let now = rq.clock;
        let sg_cpu = &mut self.cpufreq.cpus[cpu];
        sg_cpu.record_update(now, self.tick_ns, for_iowait);
        let has_more_bw_dl = rq.dl.cpu_bw() > sg_cpu.bw_dl;
        let can_update = self.cpufreq.can_update(ctx.cpu, index);
        let policy = &mut self.cpufreq.policies[index];
        if has_more_bw_dl {
            policy.sugov_mut().set_limits_changed();
        }
        if !can_update || !policy.sugov_mut().should_update_freq(now) {
            return;
        }
        let is_shared = policy.domain.cpus().filter(|&cpu| self.hotplug.online.contains(cpu)).nth(1).is_some();
        let khz = if is_shared {
            self.sugov_next_freq_shared(index, cpu, now)
        } else {
            self.sugov_next_freq_single(index, cpu, now)
        };
        let policy = &mut self.cpufreq.policies[index];
        if policy.sugov_mut().take(now, khz) {
            if policy.domain.has_governor_thread() {
                policy.sugov_mut().deferred_update(ctx, index);
            } else {
                policy.fast_switch(ctx, &mut self.rqs, khz, self.tunables.changes.energy_inefficient);
            }
        }
    }

    /// Starts the work of a policy's thread: `sugov_work()` up to the driver call.
    ///
    /// Returns the frequency to request from the driver, in kHz, or `None` if the policy has it already.
    /// After the driver call follows [`State::end_frequency_transition`].
    pub fn begin_frequency_transition(&mut self, policy: usize) -> Option<u64> {
        let policy = &mut self.cpufreq.policies[policy];
        let khz = policy.sugov_mut().begin_work();
        Some(policy.resolve(khz, self.tunables.changes.energy_inefficient)).filter(|&khz| khz != policy.cur_khz)
    }

    /// Records that the driver has switched a policy to a frequency.
    pub fn end_frequency_transition(&mut self, ctx: &mut Ctx<'_>, policy: usize, khz: u64) {
        let policy = &mut self.cpufreq.policies[policy];
        policy.fast_switch(ctx, &mut self.rqs, khz, self.tunables.changes.energy_inefficient);
    }

    fn sugov_next_freq_single(&mut self, policy: usize, cpu: CpuId, now: u64) -> u64 {
        let util = self.sugov_get_util(cpu, now);
        let rq = &self.rqs[cpu];
        let is_capped = self.uclamp_used && rq.is_capped(self.fair.cpu_util_cfs(self.features, rq));
        let policy = &mut self.cpufreq.policies[policy];
        let before = *policy.sugov_mut();
        let all = self.tunables.changes.energy_inefficient;
        let khz = policy.get_next_freq(util, rq.cpu_capacity_orig, &self.rules, all);
        let is_busy = before.holds_when_busy() && !is_capped && self.cpufreq.cpus[cpu].is_busy(rq.idle_calls);
        if is_busy { policy.sugov_mut().hold(before, khz) } else { khz }
    }

    fn sugov_next_freq_shared(&mut self, policy: usize, cpu: CpuId, now: u64) -> u64 {
        if self.rules.policy_has_one_capacity {
            return self.next_shared_performance(policy, cpu, now);
        }
        let (mut util, mut max) = (0, 1);
        for place in 0..self.cpufreq.policies[policy].domain.nr_cpus() {
            let cpu = self.cpufreq.policies[policy].domain.cpu_at(place);
            if !self.hotplug.online.contains(cpu) {
                continue;
            }
            let (cpu_util, cpu_max) = (self.sugov_get_util(cpu, now), self.rqs[cpu].cpu_capacity_orig);
            if cpu_util * max > cpu_max * util {
                (util, max) = (cpu_util, cpu_max);
            }
        }
        let all = self.tunables.changes.energy_inefficient;
        self.cpufreq.policies[policy].get_next_freq(util, max, &self.rules, all)
    }

    /// Returns the frequency for the highest performance that a CPU of a policy requests in 6.12. The capacity is that
    /// of the CPU whose utilisation has changed.
    fn next_shared_performance(&mut self, policy: usize, cpu: CpuId, now: u64) -> u64 {
        let max_cap = self.rqs[cpu].cpu_capacity_orig;
        let mut most = 0;
        for place in 0..self.cpufreq.policies[policy].domain.nr_cpus() {
            let cpu = self.cpufreq.policies[policy].domain.cpu_at(place);
            if self.hotplug.online.contains(cpu) {
                most = most.max(self.sugov_get_performance(cpu, now, max_cap));
            }
        }
        let all = self.tunables.changes.energy_inefficient;
        self.cpufreq.policies[policy].get_next_freq(most, max_cap, &self.rules, all)
    }

    /// Utilisation that a CPU requests, with its boost for I/O.
    fn sugov_get_util(&mut self, cpu: CpuId, now: u64) -> u64 {
        if self.rules.separates_perf_request {
            let max_cap = self.rqs[cpu].cpu_capacity_orig;
            return self.sugov_get_performance(cpu, now, max_cap);
        }
        let rq = &self.rqs[cpu];
        let util_cfs = self.fair.cpu_util_cfs(self.features, rq);
        let util = rq.effective_cpu_util(util_cfs, UtilType::Frequency, None, self.uclamp_used);
        let sg_cpu = &mut self.cpufreq.cpus[cpu];
        sg_cpu.bw_dl = rq.dl.cpu_bw();
        let Some(boost) = sg_cpu.apply_boost(now, self.tick_ns, rq.cpu_capacity_orig) else { return util };
        util.max(if self.uclamp_used { rq.uclamp.util_with(boost, None) } else { boost })
    }

    /// Performance that a CPU requests in 6.12, with its boost for I/O relative to `max_cap`.
    fn sugov_get_performance(&mut self, cpu: CpuId, now: u64, max_cap: Capacity) -> u64 {
        let rq = &self.rqs[cpu];
        let mut request = rq.perf_request(self.fair.cpu_util_cfs_boost(self.features, rq), self.uclamp_used);
        let sg_cpu = &mut self.cpufreq.cpus[cpu];
        request.util = request.util.max(sg_cpu.apply_boost(now, self.tick_ns, max_cap).unwrap_or(0));
        sg_cpu.bw_dl = request.min;
        request.performance()
    }
}
