// SPDX-License-Identifier: GPL-2.0-or-later
//! When a domain is balanced next.
//!
//! Models `get_sd_balance_interval()`, `update_next_balance()` and `update_max_interval()` (6.1).

use crate::state::State;
use crate::state::topology::{DomainId, SchedDomain};
use crate::units::msecs_to_jiffies;

/// The interval of a domain, in ticks.
///
/// Rules, in order:
/// 1. A busy CPU waits longer by the busy factor,
/// 2. and one tick less than that, so that levels with multiples of one interval do not meet.
/// 3. Never less than a tick, nor more than the longest interval of the machine.
#[inline]
pub(crate) fn balance_interval(sd: &SchedDomain, cpu_busy: bool, hz: u64, max: u64) -> u64 {
    let factor = if cpu_busy { sd.busy_factor } else { 1 };
    let ticks = msecs_to_jiffies(u64::from(sd.balance_interval) * u64::from(factor), hz);
    let ticks = if cpu_busy { ticks.wrapping_sub(1) } else { ticks };
    ticks.clamp(1, max)
}

/// The interval of a domain for a busy CPU as it was before 5.10, in ticks: twice as long, and not one tick less.
fn busy_interval_before_5_10(sd: &SchedDomain, hz: u64, max: u64) -> u64 {
    msecs_to_jiffies(u64::from(sd.balance_interval) * u64::from(2 * sd.busy_factor), hz).clamp(1, max)
}

impl State {
    /// The interval of a domain for a CPU that is busy or not, in ticks.
    #[inline]
    pub(crate) fn get_sd_balance_interval(&self, sd: DomainId, cpu_busy: bool) -> u64 {
        let sd = &self.domains.domains[sd];
        if cpu_busy && self.tunables.changes.busy_balance_rare {
            return busy_interval_before_5_10(sd, self.hz, self.max_balance_interval);
        }
        balance_interval(sd, cpu_busy, self.hz, self.max_balance_interval)
    }

    /// Moves `next_balance` forward to when an idle CPU would balance the domain, if that is earlier.
    pub(crate) fn update_next_balance(&self, sd: DomainId, next_balance: &mut u64) {
        let next = self.domains.domains[sd].last_balance + self.get_sd_balance_interval(sd, false);
        *next_balance = (*next_balance).min(next);
    }
}
