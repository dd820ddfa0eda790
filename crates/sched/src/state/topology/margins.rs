// SPDX-License-Identifier: GPL-2.0-or-later
//! Imbalance margins of domains (`imbalance_pct`) as kernels before 5.10 had them.

use crate::state::topology::{SchedDomains, SdFlags};
use crate::types::tunables::Tunables;

/// Margin of domains that span several caches before 5.10, in percent.
const WIDE_PCT: u32 = 125;

impl SchedDomains {
    /// Sets the margins of kernels before 5.10 in the domains that were just built, if the tunable
    /// `wide_imbalance` is on.
    ///
    /// Domains that span several caches had wider margins.
    pub(crate) fn apply_wide_imbalance(&mut self, tunables: &Tunables) {
        if !tunables.changes.wide_imbalance {
            return;
        }
        let of_one_cache = SdFlags::SHARE_CPUCAPACITY | SdFlags::SHARE_PKG_RESOURCES;
        for sd in self.domains.iter_mut().filter(|sd| !sd.flags.intersects(of_one_cache)) {
            sd.imbalance_pct = WIDE_PCT;
        }
    }
}
