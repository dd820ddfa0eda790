// SPDX-License-Identifier: GPL-2.0-or-later
//! Balance interval of a domain.
//!
//! Models `get_sd_balance_interval()` and `update_next_balance()` (6.1).

use crate::state::State;
use crate::state::topology::{DomainId, SchedDomain};
use crate::units::msecs_to_jiffies;

/// Returns the balance interval of a domain, in jiffies.
///
/// Rules, in order:
/// 1. For a busy CPU the interval is multiplied by the busy factor.
/// 2. It is then one jiffy shorter, so that levels whose intervals are multiples of each other do not
///    coincide.
/// 3. It is at least one jiffy, and at most the longest interval of the machine.
#[inline]
pub(crate) fn balance_interval(sd: &SchedDomain, cpu_busy: bool, hz: u64, max: u64) -> u64 {
    let factor = if cpu_busy { sd.busy_factor } else { 1 };
    let ticks = msecs_to_jiffies(u64::from(sd.balance_interval) * u64::from(factor), hz);
    let ticks = if cpu_busy { ticks.wrapping_sub(1) } else { ticks };
    ticks.clamp(1, max)
}

/// Returns the balance interval for a busy CPU as before 5.10, in jiffies: twice as long, and not one jiffy
/// shorter.
fn busy_interval_before_5_10(sd: &SchedDomain, hz: u64, max: u64) -> u64 {
    msecs_to_jiffies(u64::from(sd.balance_interval) * u64::from(2 * sd.busy_factor), hz).clamp(1, max)
}

impl State {
    /// Returns the balance interval of a domain for a busy or other CPU, in jiffies.
    #[inline]
    pub(crate) fn get_sd_balance_interval(&self, sd: DomainId, cpu_busy: bool) -> u64 {
        let sd = &self.domains.domains[sd];
        if cpu_busy && self.tunables.changes.busy_balance_rare {
            return busy_interval_before_5_10(sd, self.hz, self.max_balance_interval);
        }
        balance_interval(sd, cpu_busy, self.hz, self.max_balance_interval)
    }

    /// Lowers `next_balance` to the time at which an idle CPU would balance the domain, if that is earlier.
    pub(crate) fn update_next_balance(&self, sd: DomainId, next_balance: &mut u64) {
        let next = self.domains.domains[sd].last_balance + self.get_sd_balance_interval(sd, false);
        *next_balance = (*next_balance).min(next);
    }
}
