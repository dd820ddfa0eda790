// SPDX-License-Identifier: GPL-2.0-or-later
//! Domains that Debian's kernels 6.1.192 and 6.12.117 built when they booted on machines described to QEMU.
//!
//! Recorded from debugfs, boot messages and sysfs, one JSON file for each machine and kernel. Everything is
//! compared exactly except the capacities of groups. They were printed during boot and are reduced by the
//! interrupts of that moment, so up to 14 % below the full capacity is accepted.

use super::RULES;
use super::machine::{data, names, read_zst};
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::{
    BuildParams, CpuPlace, DomainId, MachineTopology, SchedDomains, SchedGroup, SdFlags, TopologyLevel,
    build_sched_domains,
};
use serde_json::Value;

pub(crate) fn load(kernel: &str, name: &str) -> Value {
    let path = data("recorded").join(kernel).join(format!("{name}.json.zst"));
    serde_json::from_str(&read_zst(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn machine_names(kernel: &str) -> Vec<String> {
    names(&format!("recorded/{kernel}"), ".json.zst")
}

/// Parses a list of CPUs such as `0-3,8`.
fn cpus(list: &Value) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().expect("a number of a cpu");
    let ranges =
        list.as_str().expect("a list of cpus").split(',').map(|range| range.split_once('-').unwrap_or((range, range)));
    ranges.flat_map(|(low, high)| number(low)..=number(high)).collect()
}

/// Number of CPUs in CPU 0's unit. Units of one kind have one size and follow each other, except in
/// [`arm64_machine`].
fn unit_size(recording: &Value, unit: &str) -> u32 {
    cpus(&recording["cpus"][0]["siblings"][unit]).len() as u32
}

/// Returns the node of each CPU, and the distances.
fn nodes(recording: &Value) -> (Vec<u32>, Vec<Vec<u32>>) {
    let nodes = recording["nodes"].as_array().expect("nodes");
    let mut node_of = vec![0; recording["cpus"].as_array().expect("cpus").len()];
    for (number, node) in nodes.iter().enumerate() {
        cpus(&node["cpus"]).into_iter().for_each(|cpu| node_of[cpu as usize] = number as u32);
    }
    let row = |node: &Value| node["distances"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap() as u32).collect();
    (node_of, nodes.iter().map(row).collect())
}

/// Returns the machine that x86 sees: SMT, CLS (the L2), MC (the L3, which QEMU gives to each die, but only
/// within one node), DIE (the node). A machine with several nodes in a die has no DIE
/// (`x86_numa_in_package_topology`).
fn x86_machine(recording: &Value) -> MachineTopology {
    let (node_of, distances) = nodes(recording);
    let (core, cluster, die) =
        (unit_size(recording, "core"), unit_size(recording, "cluster"), unit_size(recording, "die"));
    let place = |(cpu, &node): (usize, &u32)| {
        let cpu = cpu as u32;
        let llc = cpu / die * distances.len() as u32 + node;
        CpuPlace { core: cpu / core, cluster: cpu / cluster, llc, package: node, node }
    };
    let mut levels = vec![TopologyLevel::Smt, TopologyLevel::Cluster, TopologyLevel::Mc];
    let several_nodes_in_a_die = node_of.chunks(die as usize).any(|die| die.iter().any(|node| *node != die[0]));
    if !several_nodes_in_a_die {
        levels.push(TopologyLevel::Package);
    }
    MachineTopology {
        cpus: node_of.iter().enumerate().map(place).collect(),
        capacity: vec![1024; node_of.len()],
        levels,
        distances,
    }
}

/// Returns the machine that arm64 sees, where every CPU is a core of its own.
///
/// Debian's 6.1 has only the level DIE; 6.12 also has MC, which is the socket. On machines with several
/// sockets, each has all CPUs of one capacity.
fn arm64_machine(recording: &Value, levels: &[TopologyLevel]) -> MachineTopology {
    let (node_of, distances) = nodes(recording);
    let capacity: Vec<u64> =
        recording["cpu_capacity"].as_array().expect("capacities").iter().map(|c| c.as_u64().unwrap()).collect();
    let one_socket = unit_size(recording, "package") as usize == node_of.len();
    let place = |(cpu, &node): (usize, &u32)| {
        let llc = if one_socket { 0 } else { capacity[cpu] as u32 };
        CpuPlace { core: cpu as u32, cluster: cpu as u32, llc, package: node, node }
    };
    MachineTopology {
        cpus: node_of.iter().enumerate().map(place).collect(),
        capacity: capacity.clone(),
        levels: levels.to_vec(),
        distances,
    }
}

fn machine(kernel: &str, recording: &Value) -> MachineTopology {
    match kernel {
        "6.1-arm64" => arm64_machine(recording, &[TopologyLevel::Package]),
        "6.12-arm64" => arm64_machine(recording, &[TopologyLevel::Smt, TopologyLevel::Mc, TopologyLevel::Package]),
        _ => x86_machine(recording),
    }
}

/// Description of the first difference between a recording and the domains that were built.
#[derive(Debug)]
struct Difference(String);

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn check(ok: bool, what: impl FnOnce() -> String) -> Result<(), Difference> {
    if ok { Ok(()) } else { Err(Difference(what())) }
}

fn compare(kernel: &str, name: &str) -> Result<(), Difference> {
    let recording = load(kernel, name);
    compare_with(&machine(kernel, &recording), &recording)
}

/// Returns the first difference between a recording and the domains built for a machine.
fn compare_with(machine: &MachineTopology, recording: &Value) -> Result<(), Difference> {
    let sds = build_sched_domains(machine, &BuildParams::new(RULES)).map_err(|error| Difference(error.to_string()))?;
    for cpu in recording["cpus"].as_array().expect("cpus") {
        let number = cpu["cpu"].as_u64().expect("a number") as u32;
        let recorded = cpu["domains"].as_array().expect("domains");
        let actual: Vec<_> = sds.chain(CpuId(number)).collect();
        check(actual.len() == recorded.len(), || {
            format!("cpu {number}: {} domains, not {}", actual.len(), recorded.len())
        })?;
        for (&sd, recorded) in actual.iter().zip(recorded) {
            compare_domain(&sds, sd, recorded)
                .map_err(|what| Difference(format!("cpu {number}: {}: {what}", recorded["name"])))?;
        }
    }
    Ok(())
}

fn compare_domain(sds: &SchedDomains, id: DomainId, recorded: &Value) -> Result<(), Difference> {
    let sd = &sds.domains[id];
    let name = if recorded["name"] == "DIE" { "PKG" } else { recorded["name"].as_str().expect("a name") };
    check(sd.name == name, || format!("we have {}", sd.name))?;
    compare_span("span", &sd.span, &recorded["span"])?;
    check(sd.span_weight as usize == sd.span.weight(), || format!("weight {}", sd.span_weight))?;
    let flags: Vec<_> = recorded["flags"].as_array().expect("flags").iter().map(flag_name).collect();
    let actual: Vec<_> = sd.flags.names().collect();
    check(actual == flags, || format!("flags {actual:?}, not {flags:?}"))?;
    let numbers = [
        ("imbalance_pct", sd.imbalance_pct),
        ("busy_factor", sd.busy_factor),
        ("cache_nice_tries", sd.cache_nice_tries),
        ("min_interval", sd.min_interval_ms),
        ("max_interval", sd.max_interval_ms),
        ("level", sd.level),
    ];
    for (key, actual) in numbers {
        let recorded = recorded.get(key).map_or_else(|| actual.into(), |value| value.as_u64().expect("a number"));
        check(u64::from(actual) == recorded, || format!("{key} {actual}, not {recorded}"))?;
    }
    compare_groups(sds, id, recorded["groups"].as_array().expect("groups"))
}

/// Name of a flag in 6.1.
fn flag_name(name: &Value) -> &str {
    match name.as_str().expect("a name") {
        "SD_SHARE_LLC" => "SD_SHARE_PKG_RESOURCES",
        name => name,
    }
}

fn compare_span(what: &str, actual: &CpuMask, recorded: &Value) -> Result<(), Difference> {
    let recorded = recorded.as_str().expect("a list of cpus");
    check(actual.to_string() == recorded, || format!("{what} {actual}, not {recorded}"))
}

/// Groups that fit into a kernel message of about 1000 characters. Only the first groups of long rings were
/// recorded.
const GROUPS_IN_A_MESSAGE: usize = 58;

fn compare_groups(sds: &SchedDomains, sd: DomainId, recorded: &[Value]) -> Result<(), Difference> {
    let actual: Vec<_> = sds.ring(sd).map(|group| &sds.groups[group]).collect();
    let complete =
        actual.len() == recorded.len() || actual.len() > recorded.len() && recorded.len() >= GROUPS_IN_A_MESSAGE;
    check(complete, || format!("{} groups, not {}", actual.len(), recorded.len()))?;
    for (place, (group, recorded)) in actual.into_iter().zip(recorded).enumerate() {
        compare_group(sds, group, recorded).map_err(|what| Difference(format!("group {place}: {what}")))?;
    }
    Ok(())
}

fn compare_group(sds: &SchedDomains, group: &SchedGroup, recorded: &Value) -> Result<(), Difference> {
    let capacity = &sds.capacities[group.capacity];
    check(u64::from(capacity.id.0) == recorded["id"], || format!("id {}, not {}", capacity.id.0, recorded["id"]))?;
    compare_span("span", &group.span, &recorded["span"])?;
    compare_span("mask", &group.balance_mask, recorded.get("mask").unwrap_or_else(|| &recorded["span"]))?;
    let (full, printed) = (capacity.capacity, recorded["capacity"].as_u64().expect("a capacity"));
    check((full * 86 / 100..=full).contains(&printed), || format!("capacity {full}, not {printed}"))
}

#[test]
fn domains_of_all_recorded_machines_equal_those_of_6_1() {
    for (kernel, machines) in [("6.1", 17), ("6.1-arm64", 9)] {
        let names = machine_names(kernel);
        assert_eq!(names.len(), machines);
        for name in names {
            compare(kernel, &name).unwrap_or_else(|what| panic!("{kernel}/{name}: {what}"));
        }
    }
}

/// The rules of 6.1 give the domains of 6.12 for the hardware as 6.12 sees it. Only names changed: DIE became
/// PKG, and `SD_SHARE_PKG_RESOURCES` became `SD_SHARE_LLC`.
#[test]
fn domains_of_all_recorded_machines_of_6_12_follow_from_the_rules_of_6_1() {
    for (kernel, machines) in [("6.12", 22), ("6.12-arm64", 9)] {
        let names = machine_names(kernel);
        assert_eq!(names.len(), machines);
        for name in names {
            compare(kernel, &name).unwrap_or_else(|what| panic!("{kernel}/{name}: {what}"));
        }
    }
}

/// Machines and domains whose first group has flags of a dropped level. Only 6.12 shows these flags.
///
/// Where a level is dropped because the one below it spans the same CPUs, 6.1 leaves the flags of the dropped
/// level on the groups of the next domain. Later kernels give that group the flags of the remaining level
/// ("sched/topology: Propagate SMT flags when removing degenerate domain"). Below MC, CLS is dropped for SMT;
/// below NUMA, PKG and NODE are dropped for MC.
const GROUP_FLAGS_OF_A_DROPPED_LEVEL: [(&str, &str); 12] = [
    ("1s2d4c2t", "MC"),
    ("1s2d4c2t_intel", "MC"),
    ("1s4c2t", "MC"),
    ("2s4c_numa", "NUMA"),
    ("2s8c2t_numa", "MC"),
    ("2s8c2t_numa", "NUMA"),
    ("4s48c_numa", "NUMA"),
    ("glueless8", "NUMA"),
    ("numa_d35", "NUMA"),
    ("ring4", "NUMA"),
    ("ring8", "NUMA"),
    ("snc2x2", "NUMA"),
];

#[test]
fn groups_keep_the_flags_of_a_dropped_level_and_otherwise_have_those_of_6_12() {
    let mut differing = Vec::new();
    for kernel in ["6.12", "6.12-arm64"] {
        for name in machine_names(kernel) {
            let recording = load(kernel, &name);
            let sds = build_sched_domains(&machine(kernel, &recording), &BuildParams::new(RULES))
                .expect("the machine of a recording is well described");
            for cpu in recording["cpus"].as_array().unwrap() {
                let chain = sds.chain(CpuId(cpu["cpu"].as_u64().unwrap() as u32)).map(|sd| &sds.domains[sd]);
                for (sd, recorded) in chain.zip(cpu["domains"].as_array().unwrap()) {
                    let Some(flags) = recorded.get("groups_flags") else { continue };
                    let flags: Vec<_> = flags.as_array().unwrap().iter().map(flag_name).collect();
                    let child: Vec<_> =
                        sd.child.map_or(SdFlags::EMPTY, |child| sds.domains[child].flags).names().collect();
                    assert_eq!(flags, child, "{name}: 6.12 takes the flags of the domain below");
                    if sds.groups[sd.groups].flags.names().ne(flags) {
                        differing.push((name.clone(), sd.name));
                    }
                }
            }
        }
    }
    differing.sort_unstable();
    differing.dedup();
    let listed: Vec<_> = GROUP_FLAGS_OF_A_DROPPED_LEVEL.iter().map(|&(name, level)| (name.to_owned(), level)).collect();
    assert_eq!(differing, listed);
}

/// Machines that 6.12 sees differently from 6.1, so that one description gives different domains, with the
/// reason.
const SEEN_IN_ANOTHER_WAY: [(&str, &str, &str); 11] = [
    ("", "1s4c2t", THREADS),
    ("", "2s8c2t_numa", THREADS),
    ("-arm64", "asym_2caps_close", MC),
    ("-arm64", "bigLITTLE_4L4B_2clusters", MC),
    ("-arm64", "bigLITTLE_4L4B_2sockets", MC),
    ("-arm64", "dynamiq_4L3M1B", MC),
    ("-arm64", "dynamiq_4L4B", MC),
    ("-arm64", "gold_431_3sockets", MC),
    ("-arm64", "juno_4L2B", MC),
    ("-arm64", "juno_4L2B_2sockets", MC),
    ("-arm64", "sym8", MC),
];
const THREADS: &str = "x86 finds threads also where the vendor is not Intel, so there is a level SMT";
const MC: &str = "arm64 has a level MC, the socket; in 6.1 all CPUs are in one domain DIE, whatever the sockets";

#[test]
fn the_same_description_gives_other_domains_in_6_12_only_where_hardware_is_seen_in_another_way() {
    let mut differing = Vec::new();
    for arch in ["", "-arm64"] {
        let older = format!("6.1{arch}");
        let newer = format!("6.12{arch}");
        for name in machine_names(&older).into_iter().filter(|name| machine_names(&newer).contains(name)) {
            let seen_by_6_1 = machine(&older, &load(&older, &name));
            if compare_with(&seen_by_6_1, &without_levels(load(&newer, &name))).is_err() {
                differing.push((arch, name));
            }
        }
    }
    let listed: Vec<_> = SEEN_IN_ANOTHER_WAY.iter().map(|&(arch, name, _)| (arch, name.to_owned())).collect();
    assert_eq!(differing, listed);
}

/// Removes the numbers of levels, which depend on the levels in the kernel's table, not on the domains.
fn without_levels(mut recording: Value) -> Value {
    for cpu in recording["cpus"].as_array_mut().expect("cpus") {
        for domain in cpu["domains"].as_array_mut().expect("domains") {
            domain.as_object_mut().expect("a domain").remove("level");
        }
    }
    recording
}
