// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[interrupt_load]]`: interrupts that take time from CPUs at a steady rate; `[[steal]]`: a host that does.

use super::cpu_list::CpuList;
use super::cpu_types::cpu_list;
use super::error::DescriptionFault;
use super::raw::RawInterruptLoad;
use super::read::{MAX_SPAN_NS, name, number};
use fairlab_sched::units::Nanos;
use toml::Spanned;

/// An interrupt that comes again and again, or a host that takes time again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptLoadKeys {
    pub(super) name: String,
    pub(super) cpus: CpuList,
    pub(super) period: Nanos,
    pub(super) duration: Nanos,
}

impl InterruptLoadKeys {
    /// The name, such as `eth0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The CPUs that it hits, each at this rate.
    pub const fn cpus(&self) -> &CpuList {
        &self.cpus
    }

    /// From the end of one interrupt to the end of the next.
    pub const fn period(&self) -> Nanos {
        self.period
    }

    /// How long one takes; less than the period.
    pub const fn duration(&self) -> Nanos {
        self.duration
    }
}

pub(super) fn understand(
    raw: &[Spanned<RawInterruptLoad>],
    count: u32,
) -> Result<Vec<InterruptLoadKeys>, DescriptionFault> {
    let one = |raw: &Spanned<RawInterruptLoad>| {
        let raw = raw.get_ref();
        let cpus = raw.cpus.as_ref().map_or_else(|| Ok(CpuList::all(count)), |cpus| cpu_list(cpus, count))?;
        let period = number(&raw.period_ns, 1_000..=MAX_SPAN_NS, "ns")?;
        let duration = number(&raw.duration_ns, 1..=MAX_SPAN_NS, "ns")?;
        if duration >= period {
            let message = format!("it takes {} of every {}", Nanos(duration), Nanos(period));
            return Err(DescriptionFault::of(&raw.duration_ns, message, "leave time between one and the next"));
        }
        Ok(InterruptLoadKeys { name: name(&raw.name)?, cpus, period: Nanos(period), duration: Nanos(duration) })
    };
    raw.iter().map(one).collect()
}
