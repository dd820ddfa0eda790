// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader of a machine's sysfs, with additions from `/proc` and debugfs where they are readable.

use super::tree::Tree;
use super::{CapturedCpu, CapturedFrequencyDomain, CapturedIdleState, CapturedMachine, parse_cpu_list, source_error};
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use fairlab_workload::message::Message;
use std::collections::BTreeMap;

/// Cluster IDs of CPUs whose cluster the firmware does not report.
const NO_CLUSTER_IDS: [&str; 3] = ["-1", "65535", "4294967295"];
/// Tunables: the kernel's name in debugfs or `/proc/sys/kernel`, and fairlab's name.
const TUNABLES: [(&str, &str); 5] = [
    ("latency_ns", "latency_ns"),
    ("min_granularity_ns", "min_granularity_ns"),
    ("wakeup_granularity_ns", "wakeup_granularity_ns"),
    ("migration_cost_ns", "migration_cost_ns"),
    ("nr_migrate", "nr_migrate"),
];

/// Reads the files of a machine.
pub(super) fn read(tree: &Tree, source: &str) -> Result<CapturedMachine, Message> {
    let mut captured = CapturedMachine { source: "sysfs", ..CapturedMachine::default() };
    let present = tree.numbered_entries("cpu", "cpu");
    let online = match tree.device_text("cpu/online") {
        Some(list) => parse_cpu_list(&list),
        None => present.clone(),
    };
    let offline: Vec<u32> = present.iter().copied().filter(|cpu| !online.contains(cpu)).collect();
    if online.is_empty() || present.is_empty() {
        let help = "give the root directory of a machine (/), a directory that contains sys/devices/system, or that directory itself";
        return Err(source_error(source, "has no CPUs: there is no sys/devices/system/cpu/cpu0", help));
    }
    if !offline.is_empty() {
        captured.remarks.push(format!("offline CPUs are left out: {offline:?}"));
    }
    let nodes = nodes(tree, &mut captured);
    captured.cpus = online.iter().map(|&cpu| read_cpu(tree, cpu, &nodes)).collect();
    if captured.cpus.iter().all(|cpu| cpu.llc.is_none()) {
        captured.remarks.push("sysfs lists no caches: the CPUs of a package share one".to_owned());
    }
    frequencies(tree, &online, &mut captured);
    idle_states(tree, &online, &mut captured);
    read_kernel(tree, &mut captured);
    captured.model = model(tree);
    Ok(captured)
}

/// Returns the node of each CPU, and records the distances.
fn nodes(tree: &Tree, captured: &mut CapturedMachine) -> BTreeMap<u32, u64> {
    let mut of_cpu = BTreeMap::new();
    let numbers = tree.numbered_entries("node", "node");
    let mut with_cpus = Vec::new();
    for &node in &numbers {
        let cpus = parse_cpu_list(&tree.device_text(&format!("node/node{node}/cpulist")).unwrap_or_default());
        if !cpus.is_empty() {
            with_cpus.push(node);
        }
        of_cpu.extend(cpus.into_iter().map(|cpu| (cpu, u64::from(node))));
    }
    if with_cpus.len() < numbers.len() {
        captured.remarks.push("nodes without CPUs (memory alone) are left out".to_owned());
    }
    let row = |node: &u32| {
        let row = tree.device_text(&format!("node/node{node}/distance")).unwrap_or_default();
        let row: Vec<u64> = row.split_whitespace().filter_map(|distance| distance.parse().ok()).collect();
        // A row has a distance for each node, including nodes without CPUs.
        let kept = with_cpus.iter().filter_map(|node| row.get(numbers.iter().position(|own| own == node)?).copied());
        kept.collect::<Vec<u64>>()
    };
    captured.distances = with_cpus.iter().map(row).collect();
    of_cpu
}

fn read_cpu(tree: &Tree, cpu: u32, nodes: &BTreeMap<u32, u64>) -> CapturedCpu {
    let topology = |file: &str| tree.device_text(&format!("cpu/cpu{cpu}/topology/{file}"));
    let first = |list: Option<String>| list.and_then(|list| parse_cpu_list(&list).first().copied()).map(u64::from);
    let siblings = topology("core_cpus_list").or_else(|| topology("thread_siblings_list"));
    let cluster = topology("cluster_id").filter(|id| !NO_CLUSTER_IDS.contains(&id.as_str()));
    let cluster = cluster.and_then(|_| first(topology("cluster_cpus_list")));
    let packages = topology("package_cpus_list").or_else(|| topology("core_siblings_list"));
    CapturedCpu {
        number: cpu,
        core: first(siblings).unwrap_or_else(|| cpu.into()),
        cluster,
        llc: last_level_cache(tree, cpu),
        package: first(packages).unwrap_or(0),
        node: nodes.get(&cpu).copied().unwrap_or(0),
        capacity: tree.number(&format!("cpu/cpu{cpu}/cpu_capacity")),
    }
}

/// Returns the first of the CPUs that share the cache of the highest level.
fn last_level_cache(tree: &Tree, cpu: u32) -> Option<u64> {
    let caches = tree.numbered_entries(&format!("cpu/cpu{cpu}/cache"), "index");
    let shared = caches.into_iter().filter_map(|index| {
        let file = |name: &str| tree.device_text(&format!("cpu/cpu{cpu}/cache/index{index}/{name}"));
        if file("type").is_some_and(|kind| kind == "Instruction") {
            return None;
        }
        let level: u32 = file("level")?.parse().ok()?;
        Some((level, *parse_cpu_list(&file("shared_cpu_list")?).first()?))
    });
    shared.max_by_key(|&(level, _)| level).map(|(_, first)| first.into())
}

fn frequencies(tree: &Tree, online: &[u32], captured: &mut CapturedMachine) {
    for policy in tree.numbered_entries("cpu/cpufreq", "policy") {
        let file = |name: &str| tree.device_text(&format!("cpu/cpufreq/policy{policy}/{name}"));
        let cpus = file("related_cpus").or_else(|| file("affected_cpus")).unwrap_or_default();
        let cpus: Vec<u32> = parse_cpu_list(&cpus).into_iter().filter(|cpu| online.contains(cpu)).collect();
        let numbers = |text: String| text.split_whitespace().filter_map(|khz| khz.parse().ok()).collect::<Vec<u64>>();
        let mut khz = file("scaling_available_frequencies").map(numbers).unwrap_or_default();
        khz.sort_unstable();
        khz.dedup();
        let has_no_table = khz.is_empty();
        if has_no_table {
            let bounds =
                ["cpuinfo_min_freq", "cpuinfo_max_freq"].into_iter().filter_map(|name| file(name)?.parse().ok());
            khz = bounds.collect();
            khz.dedup();
        }
        if cpus.is_empty() || khz.is_empty() {
            continue;
        }
        let latency = file("cpuinfo_transition_latency").and_then(|ns| ns.parse().ok());
        let domain = CapturedFrequencyDomain {
            power_uw: power_values(tree, &cpus, &khz),
            cpus,
            khz,
            governor: file("scaling_governor").unwrap_or_default(),
            // A driver that does not know its latency reports all bits set.
            transition_latency_ns: latency.filter(|&ns| ns < 1_000_000_000),
            has_no_table,
        };
        captured.domains.push(domain);
    }
    if captured.domains.is_empty() {
        captured.remarks.push("sysfs has no cpufreq: CPUs run at full speed".to_owned());
    }
}

/// Returns the power values of the energy model in microwatts, one for each frequency; empty unless all are
/// known.
fn power_values(tree: &Tree, cpus: &[u32], khz: &[u64]) -> Vec<u64> {
    let model = tree.root_path("sys/kernel/debug/energy_model");
    for domain in tree.entry_names(&model) {
        let path = format!("{model}/{domain}");
        if parse_cpu_list(&tree.text(&format!("{path}/cpus")).unwrap_or_default()) != cpus {
            continue;
        }
        let states = tree.entry_names(&path).into_iter().filter(|name| name.starts_with("ps:"));
        let known: BTreeMap<u64, u64> = states
            .filter_map(|state| {
                let number = |name: &str| tree.text(&format!("{path}/{state}/{name}"))?.parse().ok();
                Some((number("frequency")?, number("power")?))
            })
            .collect();
        return khz.iter().map(|khz| known.get(khz).copied()).collect::<Option<Vec<u64>>>().unwrap_or_default();
    }
    Vec::new()
}

fn idle_states(tree: &Tree, online: &[u32], captured: &mut CapturedMachine) {
    for &cpu in online {
        for state in tree.numbered_entries(&format!("cpu/cpu{cpu}/cpuidle"), "state") {
            let path = format!("cpu/cpu{cpu}/cpuidle/state{state}");
            let number = |name: &str| tree.number(&format!("{path}/{name}"));
            if number("disable") == Some(1) {
                continue;
            }
            let Some(name) = tree.device_text(&format!("{path}/name")) else { continue };
            let state = CapturedIdleState {
                place: state as usize,
                name,
                exit_latency_us: number("latency").unwrap_or(0),
                target_residency_us: number("residency").unwrap_or(0),
            };
            captured.states.entry(state).or_default().push(cpu);
        }
    }
    if captured.states.is_empty() {
        captured.remarks.push("sysfs has no idle states (cpuidle): idle CPUs wake up without a delay".to_owned());
    }
    let driver = tree.device_text("cpu/cpuidle/current_driver").unwrap_or_default();
    captured.polling_idle = ["intel_idle", "acpi_idle"].contains(&driver.as_str()) && !captured.states.is_empty();
}

/// Reads the kernel's release, tick rate, tunables and features.
fn read_kernel(tree: &Tree, captured: &mut CapturedMachine) {
    let root = |path: &str| tree.text(&tree.root_path(path));
    captured.release = root("proc/sys/kernel/osrelease").or_else(|| {
        let version = root("proc/version")?;
        version.split_whitespace().nth(2).map(str::to_owned)
    });
    let config = captured.release.as_ref().and_then(|release| root(&format!("boot/config-{release}")));
    let config = config.or_else(|| tree.gzip_text(&tree.root_path("proc/config.gz")));
    let hz = config.and_then(|config| config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse().ok()));
    match hz {
        Some(hz) => captured.hz = Some(hz),
        None => captured.remarks.push("the kernel's configuration cannot be read: CONFIG_HZ is unknown".to_owned()),
    }
    let mut found = false;
    for (kernel, own) in TUNABLES {
        let debug = root(&format!("sys/kernel/debug/sched/{kernel}"));
        let value = debug.or_else(|| root(&format!("proc/sys/kernel/sched_{kernel}")));
        if let Some(value) = value.and_then(|value| value.parse::<u64>().ok()) {
            captured.options.push(format!("--set {own}={value}"));
            found = true;
        }
    }
    let features = root("sys/kernel/debug/sched/features").or_else(|| root("sys/kernel/debug/sched_features"));
    if let Some(features) = features {
        let known = |word: &&str| {
            let name = word.strip_prefix("NO_").unwrap_or(word);
            Feature::from_name_in(KernelSeries::V6_1, name).is_some()
        };
        let (known_features, others): (Vec<&str>, Vec<&str>) = features.split_whitespace().partition(known);
        if !known_features.is_empty() {
            captured.options.push(format!("--features {}", known_features.join(",")));
        }
        if !others.is_empty() {
            captured.remarks.push(format!("features that are not modelled: {}", others.join(" ")));
        }
    } else if !found {
        captured.remarks.push("tunables and features of the scheduler cannot be read (debugfs needs root)".to_owned());
    }
}

fn model(tree: &Tree) -> Option<String> {
    let cpuinfo = tree.text(&tree.root_path("proc/cpuinfo"))?;
    let line = cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        ["model name", "Hardware", "Model"].contains(&key.trim()).then(|| value.trim().to_owned())
    });
    line.filter(|model| !model.is_empty())
}
