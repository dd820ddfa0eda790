// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[frequency_limit]]`: frequency limits that change while the machine runs.

use super::cpu_list::CpuList;
use super::cpu_types::parse_cpu_list;
use super::error::DescriptionFault;
use super::raw::{RawFrequencyLimit, RawLimitReason};
use super::values::number;
use fairlab_sched::units::Nanos;
use toml::Spanned;

/// Latest start of a limit: one hour.
const MAX_TIME_NS: u64 = 3_600_000_000_000;

/// A frequency limit that holds from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedFrequencyLimit {
    /// Start of the limit, relative to the start of the run.
    pub at: Nanos,
    /// CPUs whose frequency domains are limited.
    pub cpus: CpuList,
    /// Whether the limit is thermal.
    pub is_thermal: bool,
    /// Allowed fraction of the highest frequency (1024: no limit).
    pub part: u32,
}

pub(super) fn from_raw(
    raw: &[Spanned<RawFrequencyLimit>],
    count: u32,
) -> Result<Vec<TimedFrequencyLimit>, DescriptionFault> {
    let one = |raw: &Spanned<RawFrequencyLimit>| {
        let raw = raw.get_ref();
        let cpus = raw.cpus.as_ref().map_or_else(|| Ok(CpuList::all(count)), |cpus| parse_cpu_list(cpus, count))?;
        let at = Nanos(number(&raw.at_ns, 0..=MAX_TIME_NS, "ns")?);
        let part = number(&raw.part, 1..=1024, "of 1024")? as u32;
        Ok(TimedFrequencyLimit { at, cpus, is_thermal: raw.reason == RawLimitReason::Thermal, part })
    };
    raw.iter().map(one).collect()
}
