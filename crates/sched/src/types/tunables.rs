// SPDX-License-Identifier: GPL-2.0-or-later
//! Tunables: the numbers of debugfs `sched/` and of `kernel.sched_*`, and the switches of published changes.
//!
//! The submodule [`list`] declares them; this module has their common types.

mod list;

pub use list::{PublishedChanges, TUNABLES, Tunables};

use crate::types::features::{Demo, FormerDefault};
use crate::types::series::KernelSeries;
use core::fmt;
use core::ops::RangeInclusive;

/// Method by which load tracking accounts for slower CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeltScaling {
    /// Since 5.1: the PELT clock runs slower, and contributions are not scaled.
    #[default]
    Time,
    /// Before 5.1: the PELT clock runs at full speed, and every contribution is scaled.
    Contribution,
}

/// Default of a tunable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialValue {
    /// Default that depends on neither the machine nor the kernel.
    Fixed(i64),
    /// Default in 6.1 and in 6.12.
    FixedBySeries(i64, i64),
    /// Value times 1 + log2 of the number of CPUs, at most 8 of which count (`sched_init_granularity()`,
    /// `SCHED_TUNABLESCALING_LOG`).
    Scaled(i64),
}

impl InitialValue {
    /// Returns the default of a kernel on a machine with this number of CPUs.
    ///
    /// # Panics
    /// If `nr_cpus` is 0.
    pub fn of_machine(self, series: KernelSeries, nr_cpus: usize) -> i64 {
        match self {
            Self::Fixed(value) => value,
            Self::FixedBySeries(v6_1, v6_12) => match series {
                KernelSeries::V6_1 => v6_1,
                KernelSeries::V6_12 => v6_12,
            },
            Self::Scaled(value) => value * i64::from(1 + nr_cpus.min(8).ilog2()),
        }
    }
}

/// Statement of scenario files that sets a tunable. The grammar is fixed, so some tunables have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunableStatement {
    /// Statement `tune`: a number of the kernel.
    Tune,
    /// Statement `arm`: a published change.
    Arm,
}

/// Description of a tunable.
#[derive(Clone, Debug)]
pub struct TunableInfo {
    /// Name as in debugfs or `/proc/sys/kernel`, without `sched_`; published changes have names of their own.
    pub name: &'static str,
    /// Meaning of the value.
    pub meaning: &'static str,
    /// Series of the kernel that alone has the tunable; `None` if both have it. Published changes are switches of 6.1.
    pub only_in: Option<KernelSeries>,
    /// Unit of the value.
    pub unit: &'static str,
    /// Permitted values, both ends included.
    pub range: RangeInclusive<i64>,
    /// Default; some depend on the kernel or on the number of CPUs.
    pub default: InitialValue,
    /// Statement of scenario files that sets the tunable, if there is one.
    pub statement: Option<TunableStatement>,
    /// Two values between which the demo differs.
    pub test_values: [i64; 2],
    /// Run in which the tunable makes a difference.
    pub demo: Demo,
    /// Values before changes of the kernel, the earliest change first.
    pub former_values: &'static [(i64, FormerDefault)],
    get: fn(&Tunables) -> i64,
    set: fn(&mut Tunables, i64),
}

impl TunableInfo {
    /// Returns the tunable of this name, of whatever kernel.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        TUNABLES.iter().find(|info| info.name == name)
    }

    /// Returns the tunable of this name, if the kernel has it.
    pub fn from_name_in(series: KernelSeries, name: &str) -> Option<&'static Self> {
        Self::of_series(series).find(|info| info.name == name)
    }

    /// Tunables of a series.
    pub fn of_series(series: KernelSeries) -> impl Iterator<Item = &'static Self> + Clone {
        TUNABLES.iter().filter(move |info| info.exists_in(series))
    }

    /// Whether the kernel has the tunable.
    pub fn exists_in(&self, series: KernelSeries) -> bool {
        self.only_in.is_none_or(|only| only == series)
    }

    /// Returns the value of the tunable.
    pub fn get(&self, tunables: &Tunables) -> i64 {
        (self.get)(tunables)
    }

    /// Sets the value of the tunable.
    ///
    /// # Errors
    /// If the value is out of range.
    pub fn set(&self, tunables: &mut Tunables, value: i64) -> Result<(), TunableError> {
        if !self.range.contains(&value) {
            return Err(TunableError { name: self.name, value, range: self.range.clone() });
        }
        (self.set)(tunables, value);
        Ok(())
    }
}

/// A field that can be set and read as a number.
trait TunableValue {
    fn number(self) -> i64;
    fn of(number: i64) -> Self;
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl TunableValue for $type {
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

impl TunableValue for bool {
    fn number(self) -> i64 {
        i64::from(self)
    }

    fn of(number: i64) -> Self {
        number != 0
    }
}

/// Encodes "no limit" as -1.
impl TunableValue for Option<u32> {
    fn number(self) -> i64 {
        self.map_or(-1, i64::from)
    }

    fn of(number: i64) -> Self {
        u32::try_from(number).ok()
    }
}

impl TunableValue for PeltScaling {
    fn number(self) -> i64 {
        i64::from(self == Self::Contribution)
    }

    fn of(number: i64) -> Self {
        if number != 0 { Self::Contribution } else { Self::Time }
    }
}

impl Tunables {
    /// Returns the defaults of a kernel on a machine with this number of CPUs. Fields that the kernel does not have
    /// get a default too.
    ///
    /// # Panics
    /// If `nr_cpus` is 0.
    pub fn of_machine(series: KernelSeries, nr_cpus: usize) -> Self {
        let mut tunables = Self::zero();
        for info in TUNABLES {
            (info.set)(&mut tunables, info.default.of_machine(series, nr_cpus));
        }
        tunables
    }

    /// Resets the tunables that scale with the number of CPUs to the defaults of `nr_cpus`
    /// (`update_sysctl()`).
    pub(crate) fn scale_for(&mut self, series: KernelSeries, nr_cpus: usize) {
        for info in TUNABLES.iter().filter(|info| matches!(info.default, InitialValue::Scaled(_))) {
            (info.set)(self, info.default.of_machine(series, nr_cpus));
        }
    }

    /// Migration cost as the unsigned 32-bit number that the kernel keeps; -1 is a very large one.
    pub(crate) const fn migration_cost_u64(&self) -> u64 {
        self.migration_cost_ns as u32 as u64
    }

    /// Period of the real-time runtime limit, in ns.
    pub(crate) const fn rt_period_ns(&self) -> u64 {
        self.rt_period_us * 1000
    }

    /// Time slice of SCHED_RR in ticks of this length, rounded up.
    pub const fn rr_timeslice_ticks(&self, tick_ns: u64) -> u64 {
        (self.rr_timeslice_ms * 1_000_000).div_ceil(tick_ns)
    }

    /// Returns the amount that a CPU draws at a time (`sched_cfs_bandwidth_slice()`), in ns.
    pub(crate) const fn bandwidth_slice_ns(&self) -> u64 {
        self.cfs_bandwidth_slice_us * 1000
    }

    /// Time in which each of the runnable entities runs once, in ns (`__sched_period()`).
    pub(crate) fn sched_period(&self, nr_running: u32) -> u64 {
        if nr_running > self.nr_latency { u64::from(nr_running) * self.min_granularity_ns } else { self.latency_ns }
    }
}

/// Value outside the range of its tunable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunableError {
    name: &'static str,
    value: i64,
    range: RangeInclusive<i64>,
}

impl fmt::Display for TunableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, range } = self;
        write!(f, "tunable {name}: {value} is not in {}..{}", range.start(), range.end())
    }
}

impl core::error::Error for TunableError {}
