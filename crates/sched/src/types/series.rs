// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel whose rules the scheduler follows.

use crate::types::features::Release;
use core::fmt;

/// Series of Linux with rules of their own. A run has one; [`KernelRules`](super::kernel_rules::KernelRules) has what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSeries {
    /// Linux 6.1: CFS.
    V6_1,
    /// Linux 6.12: EEVDF.
    V6_12,
}

impl fmt::Display for KernelSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        })
    }
}

impl KernelSeries {
    /// All series, oldest first.
    pub const ALL: [Self; 2] = [Self::V6_1, Self::V6_12];

    /// First release with the rules of 6.12.
    const FIRST_6_12: Release = (6, 12);

    /// Returns the series whose rules a release follows. Releases between the two follow those of 6.1.
    pub fn of_release(release: Release) -> Self {
        if release < Self::FIRST_6_12 { Self::V6_1 } else { Self::V6_12 }
    }
}
