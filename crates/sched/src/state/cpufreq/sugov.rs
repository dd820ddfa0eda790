// SPDX-License-Identifier: GPL-2.0-or-later
//! State of schedutil: `struct sugov_policy` and `struct sugov_cpu` (6.1).

use crate::state::cpufreq::domain::SchedutilConfig;
use crate::state::cpufreq::iowait::IowaitBoost;

/// State of schedutil for a policy: the kernel's `struct sugov_policy`.
#[derive(Clone, Debug)]
pub(crate) struct SugovPolicy {
    pub(crate) config: SchedutilConfig,
    /// Time of the last frequency change, in ns of a runqueue's clock.
    pub(crate) last_freq_update_time: u64,
    /// Frequency that was chosen last, in kHz.
    pub(crate) next_khz: u64,
    /// Raw request from which `next_khz` was chosen, before it was mapped to the domain's frequencies, in
    /// kHz.
    pub(crate) cached_raw_khz: u64,
    /// Whether the limits have changed, so that the next update must not wait for the rate limit.
    pub(crate) limits_changed: bool,
    /// Whether the next update must not reuse the frequency chosen before.
    pub(crate) need_freq_update: bool,
    /// Whether the governor's thread was woken and has not read the request yet.
    pub(crate) work_in_progress: bool,
}

/// State of schedutil for a CPU: the kernel's `struct sugov_cpu`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SugovCpu {
    pub(crate) iowait: IowaitBoost,
    /// Time of the CPU's last update, in ns of its runqueue's clock.
    pub(crate) last_update: u64,
    /// Deadline bandwidth at the last check; in 6.12 the lower limit of the performance (`bw_min`).
    pub(crate) bw_dl: u64,
    /// Number of the CPU's idle calls at the last check.
    pub(crate) saved_idle_calls: u64,
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
}
