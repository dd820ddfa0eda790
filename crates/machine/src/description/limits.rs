// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[frequency_limit]]`: limits of frequencies that come and go while the machine runs.

use super::cpu_list::CpuList;
use super::cpu_types::cpu_list;
use super::error::DescriptionFault;
use super::raw::{RawFrequencyLimit, RawLimitReason};
use super::read::number;
use fairlab_sched::units::Nanos;
use toml::Spanned;

/// The latest time of a limit: an hour.
const LATEST_NS: u64 = 3_600_000_000_000;

/// A limit that holds from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequencyLimitAt {
    pub(super) at: Nanos,
    pub(super) cpus: CpuList,
    pub(super) is_thermal: bool,
    pub(super) part: u32,
}

impl FrequencyLimitAt {
    /// From when on, from the start of the run.
    pub const fn at(&self) -> Nanos {
        self.at
    }

    /// For which CPUs, and those of their frequency domains.
    pub const fn cpus(&self) -> &CpuList {
        &self.cpus
    }

    /// Whether heat is the reason.
    pub const fn is_thermal(&self) -> bool {
        self.is_thermal
    }

    /// The part of 1024 of the highest frequency that is allowed.
    pub const fn part(&self) -> u32 {
        self.part
    }
}

pub(super) fn understand(
    raw: &[Spanned<RawFrequencyLimit>],
    count: u32,
) -> Result<Vec<FrequencyLimitAt>, DescriptionFault> {
    let one = |raw: &Spanned<RawFrequencyLimit>| {
        let raw = raw.get_ref();
        let cpus = raw.cpus.as_ref().map_or_else(|| Ok(CpuList::all(count)), |cpus| cpu_list(cpus, count))?;
        let at = Nanos(number(&raw.at_ns, 0..=LATEST_NS, "ns")?);
        let part = number(&raw.part, 1..=1024, "of 1024")? as u32;
        Ok(FrequencyLimitAt { at, cpus, is_thermal: raw.reason == RawLimitReason::Thermal, part })
    };
    raw.iter().map(one).collect()
}
