// SPDX-License-Identifier: GPL-2.0-or-later
//! When a domain is balanced next.
//!
//! Models `get_sd_balance_interval()`, `update_next_balance()` and `update_max_interval()` (6.1).

use crate::sched::Sched;
use crate::topology::{DomainId, SchedDomain};

/// Ticks in a second.
pub(crate) const fn hz(tick_ns: u64) -> u64 {
    1_000_000_000 / tick_ns
}

/// Ticks that cover a number of milliseconds: `msecs_to_jiffies()`.
pub(crate) const fn msecs_to_jiffies(ms: u64, hz: u64) -> u64 {
    (ms * hz).div_ceil(1000)
}

/// The interval of a domain, in ticks.
///
/// Rules, in order:
/// 1. A busy CPU waits longer by the busy factor,
/// 2. and one tick less than that, so that levels with multiples of one interval do not meet.
/// 3. Never less than a tick, nor more than the longest interval of the machine.
pub(crate) fn balance_interval(sd: &SchedDomain, cpu_busy: bool, hz: u64, max: u64) -> u64 {
    let factor = if cpu_busy { sd.busy_factor } else { 1 };
    let ticks = msecs_to_jiffies(u64::from(sd.balance_interval) * u64::from(factor), hz);
    let ticks = if cpu_busy { ticks.wrapping_sub(1) } else { ticks };
    ticks.clamp(1, max)
}

impl Sched {
    /// Ticks in a second.
    pub(crate) const fn hz(&self) -> u64 {
        hz(self.tick_ns)
    }

    /// The longest interval between passes, in ticks: a tenth of a second for each CPU (`max_load_balance_interval`).
    pub(crate) fn max_balance_interval(&self) -> u64 {
        (self.hz() * self.domains.root.online.weight() as u64 / 10).max(1)
    }

    /// The interval of a domain for a CPU that is busy or not, in ticks.
    pub(crate) fn get_sd_balance_interval(&self, sd: DomainId, cpu_busy: bool) -> u64 {
        balance_interval(&self.domains.domains[sd], cpu_busy, self.hz(), self.max_balance_interval())
    }

    /// Moves `next_balance` forward to when an idle CPU would balance the domain, if that is earlier.
    pub(crate) fn update_next_balance(&self, sd: DomainId, next_balance: &mut u64) {
        let next = self.domains.domains[sd].last_balance + self.get_sd_balance_interval(sd, false);
        *next_balance = (*next_balance).min(next);
    }
}
