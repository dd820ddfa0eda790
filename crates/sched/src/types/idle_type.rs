// SPDX-License-Identifier: GPL-2.0-or-later
//! In which state a CPU balances.

/// In which state a CPU balances: the kernel's `enum cpu_idle_type`, in 6.1's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CpuIdleType {
    /// `CPU_IDLE`: it is idle.
    Idle,
    /// `CPU_NOT_IDLE`: it is busy.
    NotIdle,
    /// `CPU_NEWLY_IDLE`: it is about to go idle.
    NewlyIdle,
}

impl CpuIdleType {
    /// All states, in the kernel's order.
    pub const ALL: [Self; 3] = [Self::Idle, Self::NotIdle, Self::NewlyIdle];
}
