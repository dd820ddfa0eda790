// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[interrupt_load]]`: periodic interrupts that take time from CPUs; `[[steal]]`: steal time of a
//! hypervisor.

use super::cpu_list::CpuList;
use super::cpu_types::parse_cpu_list;
use super::error::DescriptionFault;
use super::raw::RawInterruptLoad;
use super::values::{MAX_SPAN_NS, name, number};
use fairlab_sched::units::Nanos;
use toml::Spanned;

/// A periodic interrupt, or periodic steal time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptLoadDescription {
    /// Name, such as `eth0`.
    pub name: String,
    /// Affected CPUs, each at the full rate.
    pub cpus: CpuList,
    /// Time between the ends of two interrupts.
    pub period: Nanos,
    /// Duration of one interrupt; less than the period.
    pub duration: Nanos,
}

pub(super) fn from_raw(
    raw: &[Spanned<RawInterruptLoad>],
    count: u32,
) -> Result<Vec<InterruptLoadDescription>, DescriptionFault> {
    let one = |raw: &Spanned<RawInterruptLoad>| {
        let raw = raw.get_ref();
        let cpus = raw.cpus.as_ref().map_or_else(|| Ok(CpuList::all(count)), |cpus| parse_cpu_list(cpus, count))?;
        let period = number(&raw.period_ns, 1_000..=MAX_SPAN_NS, "ns")?;
        let duration = number(&raw.duration_ns, 1..=MAX_SPAN_NS, "ns")?;
        if duration >= period {
            let message = format!("an interrupt takes {} of every {}", Nanos(duration), Nanos(period));
            return Err(DescriptionFault::from_value(&raw.duration_ns, message, "leave time between one and the next"));
        }
        Ok(InterruptLoadDescription { name: name(&raw.name)?, cpus, period: Nanos(period), duration: Nanos(duration) })
    };
    raw.iter().map(one).collect()
}
