// SPDX-License-Identifier: GPL-2.0-or-later
//! Tick rates of kernel configurations.

use fairlab_sched::units::Nanos;

/// Ticks per second (`CONFIG_HZ`): 100, 250, 300 or 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hz(u64);

impl Hz {
    /// Default of a kernel configuration.
    pub const DEFAULT: Self = Self(250);

    /// Returns the tick rate if a kernel can be configured for it.
    pub const fn new(hz: u64) -> Option<Self> {
        match hz {
            100 | 250 | 300 | 1000 => Some(Self(hz)),
            _ => None,
        }
    }

    /// Returns the number of ticks per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Length of a tick, rounded to the nearest nanosecond (`TICK_NSEC`).
    pub const fn tick(self) -> Nanos {
        Nanos((1_000_000_000 + self.0 / 2) / self.0)
    }
}
