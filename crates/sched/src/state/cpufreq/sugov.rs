// SPDX-License-Identifier: GPL-2.0-or-later
//! What schedutil remembers of its policies and CPUs: `struct sugov_policy` and `struct sugov_cpu` (6.1).

use crate::state::cpufreq::domain::SchedutilConfig;
use crate::state::cpufreq::iowait::IowaitBoost;

/// State of a policy: the kernel's `struct sugov_policy`.
#[derive(Clone, Debug)]
pub(crate) struct SugovPolicy {
    pub(crate) config: SchedutilConfig,
    /// When the frequency was changed last, in ns of a runqueue's clock.
    pub(crate) last_freq_update_time: u64,
    /// The frequency that was chosen last, in kHz.
    pub(crate) next_khz: u64,
    /// What had been asked for then, before the domain's frequencies were looked at, in kHz.
    pub(crate) cached_raw_khz: u64,
    /// The next update must not wait.
    pub(crate) limits_changed: bool,
    /// The next update must not trust what was chosen before.
    pub(crate) need_freq_update: bool,
    /// The thread was asked for and has not looked yet.
    pub(crate) work_in_progress: bool,
}

/// State of a CPU: the kernel's `struct sugov_cpu`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SugovCpu {
    pub(crate) iowait: IowaitBoost,
    /// When the CPU asked last.
    pub(crate) last_update: u64,
    /// Deadline bandwidth when it was looked at last.
    pub(crate) bw_dl: u64,
    /// How often the CPU had idled at that time.
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

    /// Takes over a chosen frequency. Returns whether it is another one.
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
