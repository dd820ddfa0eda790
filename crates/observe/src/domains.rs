// SPDX-License-Identifier: GPL-2.0-or-later
//! Sched domains as text, under the names of the kernel's debugfs (`/sys/kernel/debug/sched/domains/cpuN/domainM`), with their
//! groups, which debugfs does not have.

use crate::export::schedstat::mask;
use fairlab_machine::description::cpu_list;
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::SchedDomain;
use serde::Serialize;

/// A group of a domain.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DomainGroup {
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// What they can do in sum.
    pub capacity: u64,
    /// Names of the flags of the child domain for which it stands (`groups_flags`).
    pub flags: Vec<&'static str>,
}

/// A domain of a CPU.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DomainInfo {
    /// Its CPU.
    pub cpu: u32,
    /// Its place in the CPU's chain, from 0.
    pub domain: usize,
    /// The level's name.
    pub name: &'static str,
    /// The CPUs that it spans.
    pub span: Vec<u32>,
    /// Names of its flags.
    pub flags: Vec<&'static str>,
    /// In milliseconds.
    pub min_interval: u32,
    /// In milliseconds.
    pub max_interval: u32,
    /// By how much the interval grows while the CPU is busy.
    pub busy_factor: u32,
    /// In percent.
    pub imbalance_pct: u32,
    /// How many failed passes before cache-hot tasks are moved.
    pub cache_nice_tries: u32,
    /// The price of the most expensive newly-idle pass lately, in nanoseconds.
    pub max_newidle_lb_cost: u64,
    /// Its groups, from that of the CPU.
    pub groups: Vec<DomainGroup>,
    /// The span as the kernel writes masks.
    #[serde(skip)]
    mask: String,
}

/// The chain of domains of a CPU, the narrowest first.
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
    /// Lines `cpuN/domainM/FILE: CONTENT`, as `grep -r .` shows them in debugfs.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |file: &str, content: String| {
            text.push_str(&format!("cpu{}/domain{}/{file}:{content}\n", self.cpu, self.domain));
        };
        line("name", self.name.to_owned());
        line("span", format!("{} ({})", self.mask, cpu_list(&self.span)));
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
        let groups = self.groups.iter().map(|group| format!("{}={}", cpu_list(&group.cpus), group.capacity));
        line("groups", groups.collect::<Vec<_>>().join(" "));
        text
    }
}
