// SPDX-License-Identifier: GPL-2.0-or-later
//! Flags of sched domains: the kernel's `SD_*` with the bits that they have in 6.1
//! (`include/linux/sched/sd_flags.h`), and those that were added since.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// Set of `SD_*` flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SdFlags(pub u32);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl SdFlags {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*

            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$name, concat!("SD_", stringify!($name)))),*];
        }
    };
}

flags! {
    /// Balance when a CPU of the domain is about to go idle.
    BALANCE_NEWIDLE = 0;
    /// Search a CPU in the domain on exec.
    BALANCE_EXEC = 1;
    /// Search a CPU in the domain on fork and clone.
    BALANCE_FORK = 2;
    /// Search a CPU in the domain on wake-up. No domain has this flag by default.
    BALANCE_WAKE = 3;
    /// A wake-up may pull the task to the waking CPU.
    WAKE_AFFINE = 4;
    /// The CPUs of the domain differ in capacity.
    ASYM_CPUCAPACITY = 5;
    /// The domain has CPUs of every capacity of the machine. Comes with `ASYM_CPUCAPACITY`.
    ASYM_CPUCAPACITY_FULL = 6;
    /// The CPUs of the domain share a core (SMT).
    SHARE_CPUCAPACITY = 7;
    /// The CPUs of the domain share a cache. Since 6.10 `SD_SHARE_LLC`.
    SHARE_PKG_RESOURCES = 8;
    /// Only one CPU at a time balances such a domain.
    SERIALIZE = 9;
    /// Busy CPUs are packed onto those of higher priority.
    ASYM_PACKING = 10;
    /// Tasks are spread over the child domains.
    PREFER_SIBLING = 11;
    /// Groups of the domain may overlap.
    OVERLAP = 12;
    /// The domain spans NUMA nodes.
    NUMA = 13;
    /// The CPUs of the domain share a cluster. Since 6.6; its bit in the kernel is another one.
    CLUSTER = 14;
}

impl SdFlags {
    /// The empty set of flags.
    pub const EMPTY: Self = Self(0);

    /// Flags that do nothing in a domain of a single group: those with `SDF_NEEDS_GROUPS`, the kernel's
    /// `SD_DEGENERATE_GROUPS_MASK`. All but `WAKE_AFFINE`.
    pub const NEEDS_GROUPS: Self = Self(((1 << 15) - 1) & !Self::WAKE_AFFINE.0);

    /// Whether all of these flags are set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether any of these flags is set.
    pub const fn intersects(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }

    /// Returns the set with these flags added.
    #[must_use]
    pub const fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }

    /// Returns the set with these flags removed.
    #[must_use]
    pub const fn without(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }

    /// Adds flags to the set.
    pub const fn insert(&mut self, flags: Self) {
        self.0 |= flags.0;
    }

    /// Removes flags from the set.
    pub const fn remove(&mut self, flags: Self) {
        self.0 &= !flags.0;
    }

    /// Names in the kernel of the flags that are set, from the lowest bit.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().filter(move |(flag, _)| self.contains(*flag)).map(|&(_, name)| name)
    }
}

impl BitOr for SdFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitOrAssign for SdFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.insert(other);
    }
}

impl fmt::LowerHex for SdFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}
