// SPDX-License-Identifier: GPL-2.0-or-later
//! Quantities with units: nanoseconds, capacities, ticks.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time or a time span, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Time zero, and the empty span.
    pub const ZERO: Self = Self(0);
    /// A time later than any event of a run (`KTIME_MAX`).
    pub const NEVER: Self = Self(i64::MAX as u64);

    /// Converts whole microseconds to nanoseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Converts whole milliseconds to nanoseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Converts whole seconds to nanoseconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Returns the span from `earlier` to this time; zero if `earlier` is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Nanos {
    /// Formats a time in the largest unit with a nonzero integer part: `1.5ms`, `250us`, `17ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0..1_000 => return write!(f, "{}ns", self.0),
            1_000..1_000_000 => (1_000, "us"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let (whole, mut rest) = (self.0 / unit, self.0 % unit);
        write!(f, "{whole}")?;
        if rest > 0 {
            let mut digits = unit.ilog10() as usize;
            while rest.is_multiple_of(10) {
                rest /= 10;
                digits -= 1;
            }
            write!(f, ".{rest:0digits$}")?;
        }
        f.write_str(name)
    }
}

/// Compute capacity of a CPU, or the fraction of it that a frequency leaves. The biggest CPU at its highest
/// frequency has 1024 ([`SCHED_CAPACITY_SCALE`]).
pub type Capacity = u64;

/// Capacity of the biggest CPU at its highest frequency (`SCHED_CAPACITY_SCALE`).
pub const SCHED_CAPACITY_SCALE: Capacity = 1024;

/// Binary logarithm of the full capacity (`SCHED_CAPACITY_SHIFT`).
pub const SCHED_CAPACITY_SHIFT: u32 = 10;

/// Scales `value` by a capacity, rounded down (`cap_scale()`).
#[inline]
pub const fn cap_scale(value: u64, capacity: Capacity) -> u64 {
    (value * capacity) >> SCHED_CAPACITY_SHIFT
}

/// Half-life of PELT averages and minimum time between updates of blocked load, in ms (`LOAD_AVG_PERIOD`).
pub(crate) const LOAD_AVG_PERIOD_MS: u64 = 32;

/// Returns the number of ticks per second (`HZ`), rounded down.
pub(crate) const fn hz(tick_ns: u64) -> u64 {
    1_000_000_000 / tick_ns
}

/// Converts milliseconds to ticks, rounded up (`msecs_to_jiffies()`).
#[inline]
pub(crate) const fn msecs_to_jiffies(ms: u64, hz: u64) -> u64 {
    (ms * hz).div_ceil(1000)
}
