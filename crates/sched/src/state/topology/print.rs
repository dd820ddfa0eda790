// SPDX-License-Identifier: GPL-2.0-or-later
//! Text format of sched domains: one line for each domain of a CPU, as the reference program of the scheduler
//! prints them.

use crate::state::topology::SchedDomains;
use crate::types::ids::CpuId;
use crate::types::ids::DomainId;
use core::fmt;

/// Domains of one CPU, one line each, from its base domain upward. See [`SchedDomains::print_cpu`].
#[derive(Clone, Copy, Debug)]
pub struct CpuDomainsDisplay<'a> {
    sds: &'a SchedDomains,
    cpu: CpuId,
}

impl SchedDomains {
    /// Formats the domains of a CPU: `L1 MC w=8 flags=917 imb=117 busy=16 min=8 max=16 groups: [0,1,cap=2048]
    /// [2,3,cap=2048]`.
    ///
    /// A line has the level, its name, the number of CPUs, the flags in hex, `imbalance_pct`, `busy_factor`,
    /// the intervals in ms, and the groups in the order of their ring with their CPUs and capacities.
    pub const fn print_cpu(&self, cpu: CpuId) -> CpuDomainsDisplay<'_> {
        CpuDomainsDisplay { sds: self, cpu }
    }
}

impl fmt::Display for CpuDomainsDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sds.chain(self.cpu).try_for_each(|sd| print_domain(self.sds, sd, f))
    }
}

fn print_domain(sds: &SchedDomains, id: DomainId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let sd = &sds.domains[id];
    write!(f, "L{} {} w={} flags={:x} ", sd.level, sd.name, sd.span_weight, sd.flags)?;
    write!(f, "imb={} busy={} ", sd.imbalance_pct, sd.busy_factor)?;
    write!(f, "min={} max={} groups:", sd.min_interval_ms, sd.max_interval_ms)?;
    for group in sds.ring(id).map(|group| &sds.groups[group]) {
        f.write_str(" [")?;
        for cpu in group.span.iter() {
            write!(f, "{},", cpu.0)?;
        }
        write!(f, "cap={}]", sds.capacities[group.capacity].capacity)?;
    }
    writeln!(f)
}
