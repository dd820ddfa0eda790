// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel whose rules the scheduler follows.

use core::fmt;

/// Series of Linux with rules of their own. A run has one; [`KernelRules`](super::kernel_rules::KernelRules) has what differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelSeries {
    /// Linux 6.1: CFS.
    #[default]
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
}
