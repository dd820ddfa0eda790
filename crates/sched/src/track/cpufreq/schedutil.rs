// SPDX-License-Identifier: GPL-2.0-or-later
//! The governor schedutil: it chooses the frequency that provides the utilisation and a quarter more.
//!
//! Models `cpufreq_schedutil.c` (6.1 and 6.12), for drivers that switch at once and for those that may sleep:
//! `sugov_update_single_freq()`, `sugov_update_shared()`, `sugov_should_update_freq()`,
//! `sugov_next_freq_shared()`, `get_next_freq()`, `sugov_update_next_freq()`, `sugov_deferred_update()`,
//! `sugov_work()`, `sugov_get_util()`, `sugov_cpu_is_busy()` and `ignore_dl_rate_limit()`. `sugov_limits()`
//! is in [`super::limits`].

use crate::interface::ctx::{Ctx, Effect};
use crate::state::State;
use crate::state::cpufreq::energy_model::map_util_perf;
use crate::state::cpufreq::sugov::SugovPolicy;
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
    pub(crate) fn sugov_update(&mut self, ctx: &mut Ctx<'_>, policy: usize, cpu: CpuId, for_iowait: bool) {
        let now = self.rqs[cpu].clock;
        let tick_ns = self.tick_ns;
        let state = &mut self.cpufreq.cpus[cpu];
        state.iowait.record_iowait(for_iowait, now.wrapping_sub(state.last_update) as i64, tick_ns);
        state.last_update = now;
        let bw_dl = state.bw_dl;
        if self.rqs[cpu].dl.cpu_bw() > bw_dl {
            self.sugov_mut(policy).limits_changed = true;
        }
        if !self.cpufreq_this_cpu_can_update(ctx, policy) || !self.sugov_should_update_freq(policy, now) {
            return;
        }
        let is_shared = self.cpufreq.policies[policy].domain.cpus().filter(|&cpu| self.is_online(cpu)).nth(1).is_some();
        let khz = if is_shared {
            self.sugov_next_freq_shared(policy, cpu, now)
        } else {
            self.sugov_next_freq_single(policy, cpu, now)
        };
        if self.sugov_mut(policy).take(now, khz) {
            if self.cpufreq.policies[policy].domain.has_governor_thread() {
                self.sugov_deferred_update(ctx, policy);
            } else {
                self.cpufreq_driver_fast_switch(ctx, policy, khz);
            }
        }
    }

    /// Wakes the thread of a policy by an interrupt of this CPU, unless a request is pending
    /// (`sugov_deferred_update()`, `sugov_irq_work()`).
    fn sugov_deferred_update(&mut self, ctx: &mut Ctx<'_>, policy: usize) {
        if !core::mem::replace(&mut self.sugov_mut(policy).work_in_progress, true) {
            let cpu = ctx.cpu;
            ctx.emit(Effect::WakeGovernor { cpu, policy: policy as u32 });
        }
    }

    /// Starts the work of a policy's thread: `sugov_work()` up to the driver call.
    ///
    /// Returns the frequency to request from the driver, in kHz, or `None` if the policy has it already.
    /// After the driver call follows [`State::end_frequency_transition`].
    pub fn begin_frequency_transition(&mut self, policy: usize) -> Option<u64> {
        let all = self.tunables.changes.energy_inefficient;
        let sugov = self.sugov_mut(policy);
        sugov.work_in_progress = false;
        let khz = sugov.next_khz;
        let policy = &self.cpufreq.policies[policy];
        Some(policy.resolve(khz, all)).filter(|&khz| khz != policy.cur_khz)
    }

    /// Records that the driver has switched a policy to a frequency.
    pub fn end_frequency_transition(&mut self, ctx: &mut Ctx<'_>, policy: usize, khz: u64) {
        self.cpufreq_driver_fast_switch(ctx, policy, khz);
    }

    fn sugov_should_update_freq(&mut self, policy: usize, now: u64) -> bool {
        let sugov = self.sugov_mut(policy);
        if core::mem::take(&mut sugov.limits_changed) {
            sugov.need_freq_update = true;
            return true;
        }
        now.wrapping_sub(sugov.last_freq_update_time) as i64 >= sugov.config.rate_limit.0 as i64
    }

    fn sugov_next_freq_single(&mut self, policy: usize, cpu: CpuId, now: u64) -> u64 {
        let util = self.sugov_get_util(cpu, now);
        let max = self.rqs[cpu].cpu_capacity_orig;
        let before = self.sugov_mut(policy).cached_raw_khz;
        let khz = self.get_next_freq(policy, util, max);
        let holds = self.sugov_mut(policy).config.holds_when_busy;
        let is_busy = holds && !self.uclamp_rq_is_capped(cpu) && self.sugov_cpu_is_busy(cpu);
        let sugov = self.sugov_mut(policy);
        if is_busy && khz < sugov.next_khz && !sugov.need_freq_update {
            sugov.cached_raw_khz = before;
            return sugov.next_khz;
        }
        khz
    }

    fn sugov_next_freq_shared(&mut self, policy: usize, cpu: CpuId, now: u64) -> u64 {
        if self.rules.policy_has_one_capacity {
            return self.next_shared_performance(policy, cpu, now);
        }
        let (mut util, mut max) = (0, 1);
        for place in 0..self.cpufreq.policies[policy].domain.nr_cpus() {
            let cpu = self.cpufreq.policies[policy].domain.cpu_at(place);
            if !self.is_online(cpu) {
                continue;
            }
            let (cpu_util, cpu_max) = (self.sugov_get_util(cpu, now), self.rqs[cpu].cpu_capacity_orig);
            if cpu_util * max > cpu_max * util {
                (util, max) = (cpu_util, cpu_max);
            }
        }
        self.get_next_freq(policy, util, max)
    }

    /// Returns the frequency for the highest performance that a CPU of a policy requests in 6.12. The capacity is that
    /// of the CPU whose utilisation has changed.
    fn next_shared_performance(&mut self, policy: usize, cpu: CpuId, now: u64) -> u64 {
        let max_cap = self.rqs[cpu].cpu_capacity_orig;
        let mut most = 0;
        for place in 0..self.cpufreq.policies[policy].domain.nr_cpus() {
            let cpu = self.cpufreq.policies[policy].domain.cpu_at(place);
            if self.is_online(cpu) {
                most = most.max(self.sugov_get_performance(cpu, now, max_cap));
            }
        }
        self.get_next_freq(policy, most, max_cap)
    }

    /// Returns the frequency that provides `util` of `max` and a quarter more; in 6.12 `util` includes that quarter.
    ///
    /// An unchanged request returns the frequency chosen last, unless that must not be reused.
    fn get_next_freq(&mut self, policy: usize, util: u64, max: u64) -> u64 {
        let highest = self.cpufreq.policies[policy].domain.highest_khz();
        // Since 6.8 the margin is part of the utilisation.
        let wanted = if self.rules.separates_perf_request { util } else { map_util_perf(util) };
        let raw = highest * wanted / max;
        let sugov = self.sugov_mut(policy);
        if raw == sugov.cached_raw_khz && !sugov.need_freq_update {
            return sugov.next_khz;
        }
        sugov.cached_raw_khz = raw;
        self.cpufreq.policies[policy].resolve(raw, self.tunables.changes.energy_inefficient)
    }

    /// Utilisation that a CPU requests, with its boost for I/O.
    fn sugov_get_util(&mut self, cpu: CpuId, now: u64) -> u64 {
        if self.rules.separates_perf_request {
            let max_cap = self.rqs[cpu].cpu_capacity_orig;
            return self.sugov_get_performance(cpu, now, max_cap);
        }
        let mut util = self.effective_cpu_util(cpu, self.cpu_util_cfs(cpu), UtilType::Frequency, None);
        let (bw_dl, tick_ns) = (self.rqs[cpu].dl.cpu_bw(), self.tick_ns);
        let max = self.rqs[cpu].cpu_capacity_orig;
        let state = &mut self.cpufreq.cpus[cpu];
        state.bw_dl = bw_dl;
        let boost = state.iowait.apply(now.wrapping_sub(state.last_update) as i64, tick_ns, max);
        if let Some(boost) = boost {
            util = util.max(self.uclamp_rq_util_with(cpu, boost, None));
        }
        util
    }

    /// Performance that a CPU requests in 6.12, with its boost for I/O relative to `max_cap`.
    fn sugov_get_performance(&mut self, cpu: CpuId, now: u64, max_cap: Capacity) -> u64 {
        let tick_ns = self.tick_ns;
        let state = &mut self.cpufreq.cpus[cpu];
        let boost = state.iowait.apply(now.wrapping_sub(state.last_update) as i64, tick_ns, max_cap);
        let mut request = self.perf_request(cpu, self.cpu_util_cfs_boost(cpu));
        request.util = request.util.max(boost.unwrap_or(0));
        self.cpufreq.cpus[cpu].bw_dl = request.min;
        request.performance()
    }

    /// Whether a CPU has not idled since the last call.
    fn sugov_cpu_is_busy(&mut self, cpu: CpuId) -> bool {
        let idle_calls = self.rqs[cpu].idle_calls;
        core::mem::replace(&mut self.cpufreq.cpus[cpu].saved_idle_calls, idle_calls) == idle_calls
    }

    pub(crate) fn sugov_mut(&mut self, policy: usize) -> &mut SugovPolicy {
        self.cpufreq.policies[policy].sugov.as_mut().expect("only schedutil has hooks")
    }
}
