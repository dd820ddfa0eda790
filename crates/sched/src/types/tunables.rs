// SPDX-License-Identifier: GPL-2.0-or-later
//! Tunables: the numbers of debugfs `sched/` and of `kernel.sched_*`, and the switches of the published changes.
//!
//! The list of them is in [`list`]; here is what they all have in common.

mod list;

pub use list::{PublishedChanges, TUNABLES, Tunables};

use crate::types::features::{Demo, FormerDefault};
use alloc::string::String;
use core::fmt;
use core::ops::RangeInclusive;

/// How load tracking accounts for a slower CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeltScaling {
    /// Since 5.1: the clock of load tracking runs slower, contributions are not scaled.
    #[default]
    Time,
    /// Before 5.1: the clock runs at full speed and every contribution is scaled.
    Contribution,
}

/// What a tunable is on a machine of which nothing else was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialValue {
    /// The same on all machines.
    Fixed(i64),
    /// So many times 1 + log2 of the CPUs, of which at most 8 count (`sched_init_granularity()`, `SCHED_TUNABLESCALING_LOG`).
    Scaled(i64),
}

impl InitialValue {
    /// What that is with this many CPUs.
    ///
    /// # Panics
    /// If there is no CPU.
    pub fn on(self, nr_cpus: usize) -> i64 {
        match self {
            Self::Fixed(value) => value,
            Self::Scaled(value) => value * i64::from(1 + nr_cpus.min(8).ilog2()),
        }
    }
}

/// A statement of scenarios that sets a tunable. The grammar is fixed, so not every tunable has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// `tune`: a number of the kernel.
    Tune,
    /// `arm`: a published change.
    Arm,
}

/// A tunable by name.
#[derive(Clone, Debug)]
pub struct TunableInfo {
    /// Its name: as in debugfs or `/proc/sys/kernel`, without `sched_`; published changes have names of their own.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// The values that it may have.
    pub range: RangeInclusive<i64>,
    /// Its value in 6.1.
    pub default: InitialValue,
    /// The statement of scenarios that sets it, if there is one.
    pub statement: Option<SetBy>,
    /// Two values between which it makes a difference.
    pub test_values: [i64; 2],
    /// Where it does.
    pub shown: Demo,
    /// Its values before changes of the kernel, the earliest change first.
    pub before: &'static [(i64, FormerDefault)],
    get: fn(&Tunables) -> i64,
    set: fn(&mut Tunables, i64),
}

impl TunableInfo {
    /// The tunable of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TUNABLES.iter().find(|info| info.name == name)
    }

    /// Its value.
    pub fn get(&self, tunables: &Tunables) -> i64 {
        (self.get)(tunables)
    }
}

/// A field that is set and read as a number within its range.
trait Number {
    fn number(self) -> i64;
    fn of(number: i64) -> Self;
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Number for $type {
            fn number(self) -> i64 {
                self as i64
            }

            fn of(number: i64) -> Self {
                number as Self
            }
        })*
    };
}

numbers!(u8, u32, u64, i64);

impl Number for bool {
    fn number(self) -> i64 {
        i64::from(self)
    }

    fn of(number: i64) -> Self {
        number != 0
    }
}

/// -1 is no limit.
impl Number for Option<u32> {
    fn number(self) -> i64 {
        self.map_or(-1, i64::from)
    }

    fn of(number: i64) -> Self {
        u32::try_from(number).ok()
    }
}

impl Number for PeltScaling {
    fn number(self) -> i64 {
        i64::from(self == Self::Contribution)
    }

    fn of(number: i64) -> Self {
        if number != 0 { Self::Contribution } else { Self::Time }
    }
}

impl Default for PublishedChanges {
    /// 6.1 as it is.
    fn default() -> Self {
        Tunables::for_cpus(1).changes
    }
}

impl Tunables {
    /// The defaults of a machine with this many CPUs.
    ///
    /// # Panics
    /// If there is no CPU.
    pub fn for_cpus(nr_cpus: usize) -> Self {
        let mut tunables = Self::zero();
        for info in TUNABLES {
            (info.set)(&mut tunables, info.default.on(nr_cpus));
        }
        tunables
    }

    /// Another number of CPUs: what scales with it gets the value that a kernel with so many has (`update_sysctl()`).
    pub(crate) fn scale_for(&mut self, nr_cpus: usize) {
        for info in TUNABLES.iter().filter(|info| matches!(info.default, InitialValue::Scaled(_))) {
            (info.set)(self, info.default.on(nr_cpus));
        }
    }

    /// The time slice of SCHED_RR in ticks of this length, rounded up.
    pub const fn rr_timeslice_ticks(&self, tick_ns: u64) -> u64 {
        (self.rr_timeslice_ms * 1_000_000).div_ceil(tick_ns)
    }

    /// Sets a tunable by name.
    ///
    /// # Errors
    /// If there is none of that name, or the value is out of its range.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        let info = TunableInfo::named(name).ok_or_else(|| TunableError::Unknown(name.into()))?;
        if !info.range.contains(&value) {
            return Err(TunableError::OutOfRange(name.into(), value, info.range.clone()));
        }
        (info.set)(self, value);
        Ok(())
    }
}

/// Why a tunable could not be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunableError {
    /// There is none of that name.
    Unknown(String),
    /// The value is out of range.
    OutOfRange(String, i64, RangeInclusive<i64>),
}

impl fmt::Display for TunableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                write!(f, "unknown tunable `{name}`; there are ")?;
                for (index, info) in TUNABLES.iter().enumerate() {
                    write!(f, "{}{}", if index > 0 { ", " } else { "" }, info.name)?;
                }
                Ok(())
            }
            Self::OutOfRange(name, value, range) => {
                write!(f, "tunable {name}: {value} is not in {}..{}", range.start(), range.end())
            }
        }
    }
}

impl core::error::Error for TunableError {}
