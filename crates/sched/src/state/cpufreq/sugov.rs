// SPDX-License-Identifier: GPL-2.0-or-later
//! State of schedutil: `struct sugov_policy` and `struct sugov_cpu` (6.1).
//!
//! Models `sugov_should_update_freq()`, `get_next_freq()`, `sugov_update_next_freq()`, `sugov_deferred_update()` and
//! `sugov_cpu_is_busy()` (6.1 and 6.12).

use crate::interface::ctx::{Ctx, Effect};
use crate::state::cpufreq::CpufreqPolicy;
use crate::state::cpufreq::domain::SchedutilConfig;
use crate::state::cpufreq::energy_model::map_util_perf;
use crate::state::cpufreq::iowait::IowaitBoost;
use crate::types::kernel_rules::KernelRules;
use crate::types::units::Capacity;

/// State of schedutil for a policy: the kernel's `struct sugov_policy`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SugovPolicy {
    config: SchedutilConfig,
    /// Time of the last frequency change, in ns of a runqueue's clock.
    last_freq_update_time: u64,
    /// Frequency that was chosen last, in kHz.
    next_khz: u64,
    /// Raw request from which `next_khz` was chosen, before it was mapped to the domain's frequencies, in
    /// kHz.
    cached_raw_khz: u64,
    /// Whether the limits have changed, so that the next update must not wait for the rate limit.
    limits_changed: bool,
    /// Whether the next update must not reuse the frequency chosen before.
    need_freq_update: bool,
    /// Whether the governor's thread was woken and has not read the request yet.
    work_in_progress: bool,
}

/// State of schedutil for a CPU: the kernel's `struct sugov_cpu`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SugovCpu {
    iowait: IowaitBoost,
    /// Time of the CPU's last update, in ns of its runqueue's clock.
    last_update: u64,
    /// Deadline bandwidth at the last check; in 6.12 the lower limit of the performance (`bw_min`).
    pub(crate) bw_dl: u64,
    /// Number of the CPU's idle calls at the last check.
    saved_idle_calls: u64,
}

impl SugovPolicy {
    pub(crate) const fn new(config: SchedutilConfig) -> Self {
        Self {
            config,
            last_freq_update_time: 0,
            next_khz: 0,
            cached_raw_khz: 0,
            limits_changed: false,
            need_freq_update: false,
            work_in_progress: false,
        }
    }

    /// Takes over a chosen frequency. Returns whether it differs from the previous one.
    pub(crate) fn take(&mut self, now: u64, khz: u64) -> bool {
        self.need_freq_update = false;
        if self.next_khz == khz {
            return false;
        }
        self.next_khz = khz;
        self.last_freq_update_time = now;
        true
    }

    /// Requests that the next update does not wait for the rate limit.
    pub(crate) fn set_limits_changed(&mut self) {
        self.limits_changed = true;
    }

    /// Whether a busy CPU that is alone in its domain keeps its frequency.
    pub(crate) fn holds_when_busy(&self) -> bool {
        self.config.holds_when_busy
    }

    /// Begins the work of the governor's thread. Returns the frequency to request from the driver, in kHz.
    pub(crate) fn begin_work(&mut self) -> u64 {
        self.work_in_progress = false;
        self.next_khz
    }

    /// Wakes the thread of a policy by an interrupt of this CPU, unless a request is pending.
    pub(crate) fn deferred_update(&mut self, ctx: &mut Ctx<'_>, policy: usize) {
        if !core::mem::replace(&mut self.work_in_progress, true) {
            let cpu = ctx.cpu;
            ctx.emit(Effect::WakeGovernor { cpu, policy: policy as u32 });
        }
    }

    /// Returns whether the frequency may change now: the rate limit is over, or does not count.
    pub(crate) fn should_update_freq(&mut self, now: u64) -> bool {
        if core::mem::take(&mut self.limits_changed) {
            self.need_freq_update = true;
            return true;
        }
        now.wrapping_sub(self.last_freq_update_time) as i64 >= self.config.rate_limit.0 as i64
    }

    /// Returns the frequency of a busy CPU for which `khz` was chosen after the state `before`: not less than the last
    /// one, unless that must not be reused.
    pub(crate) fn hold(&mut self, before: Self, khz: u64) -> u64 {
        if khz >= self.next_khz || self.need_freq_update {
            return khz;
        }
        self.cached_raw_khz = before.cached_raw_khz;
        self.next_khz
    }
}

impl CpufreqPolicy {
    /// Returns the frequency that provides `util` of `max` and a quarter more; in 6.12 `util` includes that quarter.
    /// With `all`, inefficient frequencies are in use too.
    ///
    /// An unchanged request returns the frequency chosen last, unless that must not be reused.
    pub(crate) fn get_next_freq(&mut self, util: u64, max: u64, rules: &KernelRules, all: bool) -> u64 {
        // Since 6.8 the margin is part of the utilisation.
        let wanted = if rules.separates_perf_request { util } else { map_util_perf(util) };
        let raw = self.domain.highest_khz() * wanted / max;
        let sugov = self.sugov_mut();
        if raw == sugov.cached_raw_khz && !sugov.need_freq_update {
            return sugov.next_khz;
        }
        sugov.cached_raw_khz = raw;
        self.resolve(raw, all)
    }
}

impl SugovCpu {
    /// Records an update of the CPU's utilisation. `for_iowait` says whether a task has waited for I/O.
    pub(crate) fn record_update(&mut self, now: u64, tick_ns: u64, for_iowait: bool) {
        self.iowait.record_iowait(for_iowait, now.wrapping_sub(self.last_update) as i64, tick_ns);
        self.last_update = now;
    }

    /// Returns the utilisation that the boost for I/O demands of a CPU of capacity `max`, if any.
    pub(crate) fn apply_boost(&mut self, now: u64, tick_ns: u64, max: Capacity) -> Option<u64> {
        self.iowait.apply(now.wrapping_sub(self.last_update) as i64, tick_ns, max)
    }

    /// Whether a CPU, which has entered the idle loop `idle_calls` times, has not done so since the last call.
    pub(crate) fn is_busy(&mut self, idle_calls: u64) -> bool {
        core::mem::replace(&mut self.saved_idle_calls, idle_calls) == idle_calls
    }
}
