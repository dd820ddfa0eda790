// SPDX-License-Identifier: GPL-2.0-or-later
//! Idle type of a load-balancing pass.

use crate::types::series::KernelSeries;

/// Idle type of a load-balancing pass: the kernel's `enum cpu_idle_type`, in the order of 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CpuIdleType {
    /// The CPU is idle (`CPU_IDLE`).
    Idle,
    /// The CPU is busy (`CPU_NOT_IDLE`).
    NotIdle,
    /// The CPU is about to go idle (`CPU_NEWLY_IDLE`).
    NewlyIdle,
}

impl CpuIdleType {
    /// All idle types, in the order of 6.1.
    pub const ALL: [Self; 3] = [Self::Idle, Self::NotIdle, Self::NewlyIdle];

    /// Returns all idle types in a kernel's order.
    pub const fn in_order_of(series: KernelSeries) -> [Self; 3] {
        match series {
            KernelSeries::V6_1 => Self::ALL,
            KernelSeries::V6_12 => [Self::NotIdle, Self::Idle, Self::NewlyIdle],
        }
    }
}
