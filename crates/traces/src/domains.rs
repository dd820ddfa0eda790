// SPDX-License-Identifier: GPL-2.0-or-later
//! Sched domains as text, with the file names of the kernel's debugfs
//! (`/sys/kernel/debug/sched/domains/cpuN/domainM`), and their groups, which debugfs does not have.

use crate::export::schedstat::mask;
use fairlab_board::format_cpu_list;
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::SchedDomain;
use serde::Serialize;

/// Group of a sched domain.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DomainGroup {
    /// CPUs of the group.
    pub cpus: Vec<u32>,
    /// Sum of the CPUs' capacities, where 1024 is the largest capacity of one CPU.
    pub capacity: u64,
    /// Flag names of the child domain that the group represents (`groups_flags`).
    pub flags: Vec<&'static str>,
}

/// Sched domain of one CPU.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DomainInfo {
    /// CPU that the domain belongs to.
    pub cpu: u32,
    /// Position in the CPU's chain of domains, from 0 for the narrowest.
    pub domain: usize,
    /// Name of the topology level.
    pub name: &'static str,
    /// CPUs that the domain spans.
    pub span: Vec<u32>,
    /// Names of the domain's flags.
    pub flags: Vec<&'static str>,
    /// Shortest interval between periodic load balances, in milliseconds.
    pub min_interval: u32,
    /// Longest interval between periodic load balances, in milliseconds.
    pub max_interval: u32,
    /// Factor on the interval while the CPU is busy.
    pub busy_factor: u32,
    /// Imbalance in percent above which load is moved; 100 is no imbalance.
    pub imbalance_pct: u32,
    /// Number of failed passes before cache-hot tasks are moved.
    pub cache_nice_tries: u32,
    /// Cost of the most expensive recent newly-idle balance, in nanoseconds.
    pub max_newidle_lb_cost: u64,
    /// Groups, starting with that of the CPU.
    pub groups: Vec<DomainGroup>,
    /// Span in the kernel's bitmask format.
    #[serde(skip)]
    mask: String,
}

/// Returns the domains of a CPU, narrowest first.
pub fn of_cpu(machine: &Machine, cpu: CpuId) -> Vec<DomainInfo> {
    let domains = machine.sched().domains();
    let chain = domains.chain(cpu).map(|id| (id, &domains.domains[id]));
    let of_one = |(place, (id, sd)): (usize, (_, &SchedDomain))| {
        let groups = domains.ring(id).map(|group| {
            let group = &domains.groups[group];
            let capacity = domains.capacities[group.capacity].capacity;
            DomainGroup { cpus: numbers(group.span.iter()), capacity, flags: group.flags.names().collect() }
        });
        DomainInfo {
            cpu: cpu.0,
            domain: place,
            name: sd.name,
            span: numbers(sd.span.iter()),
            flags: sd.flags.names().collect(),
            min_interval: sd.min_interval_ms,
            max_interval: sd.max_interval_ms,
            busy_factor: sd.busy_factor,
            imbalance_pct: sd.imbalance_pct,
            cache_nice_tries: sd.cache_nice_tries,
            max_newidle_lb_cost: sd.max_newidle_lb_cost,
            groups: groups.collect(),
            mask: mask(&sd.span, machine.hardware().nr_cpus()),
        }
    };
    chain.enumerate().map(of_one).collect()
}

fn numbers(cpus: impl Iterator<Item = CpuId>) -> Vec<u32> {
    cpus.map(|cpu| cpu.0).collect()
}

impl DomainInfo {
    /// Formats lines `cpuN/domainM/FILE:CONTENT`, as `grep -r .` prints them for debugfs.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |file: &str, content: String| {
            text.push_str(&format!("cpu{}/domain{}/{file}:{content}\n", self.cpu, self.domain));
        };
        line("name", self.name.to_owned());
        line("span", format!("{} ({})", self.mask, format_cpu_list(&self.span)));
        line("flags", self.flags.join(" "));
        let flags = self.groups.first().map(|group| group.flags.join(" ")).unwrap_or_default();
        line("groups_flags", flags);
        for (file, number) in [
            ("min_interval", self.min_interval),
            ("max_interval", self.max_interval),
            ("busy_factor", self.busy_factor),
            ("imbalance_pct", self.imbalance_pct),
            ("cache_nice_tries", self.cache_nice_tries),
        ] {
            line(file, number.to_string());
        }
        line("max_newidle_lb_cost", self.max_newidle_lb_cost.to_string());
        let groups = self.groups.iter().map(|group| format!("{}={}", format_cpu_list(&group.cpus), group.capacity));
        line("groups", groups.collect::<Vec<_>>().join(" "));
        text
    }
}
