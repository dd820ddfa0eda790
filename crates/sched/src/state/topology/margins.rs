// SPDX-License-Identifier: GPL-2.0-or-later
//! How much more than another one a group of a domain may have: `imbalance_pct`, as releases had it.

use crate::state::State;
use crate::state::topology::SdFlags;

/// The margin of domains of several caches before 5.10, in percent.
const WIDE_PCT: u32 = 125;

impl State {
    /// Gives the domains that were built just now the margins of before 5.10, if that is wanted: those of several caches were wider.
    pub(crate) fn settle_margins(&mut self) {
        if !self.tunables.changes.wide_imbalance {
            return;
        }
        let of_one_cache = SdFlags::SHARE_CPUCAPACITY | SdFlags::SHARE_PKG_RESOURCES;
        for sd in self.domains.domains.iter_mut().filter(|sd| !sd.flags.intersects(of_one_cache)) {
            sd.imbalance_pct = WIDE_PCT;
        }
    }
}
