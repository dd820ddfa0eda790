// SPDX-License-Identifier: GPL-2.0-or-later
//! Writer of a captured machine as the text of a machine file.

use super::{CapturedCpu, CapturedFrequencyDomain, CapturedIdleState, CapturedMachine};
use crate::{DEFAULT_KERNEL_PROFILE, KERNEL_PROFILES, format_cpu_list};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Frequency governors that machine files can name.
const GOVERNORS: [&str; 3] = ["performance", "powersave", "schedutil"];

/// Returns the text of the file.
pub(super) fn write(captured: &CapturedMachine, name: &str) -> String {
    let mut text = String::from("# SPDX-License-Identifier: CC0-1.0\n");
    let mut remarks = captured.remarks.clone();
    remarks.dedup();
    remarks.push("costs of kernel code are not measured: without [prices] it takes no time; `base = \"NAME\"` takes the costs of another machine".to_owned());
    let (kernel, remark) = profile(captured.release.as_deref());
    remarks.extend(remark);
    // Writing into a string cannot fail.
    for remark in &remarks {
        let _ = writeln!(text, "# {}", remark.replace('\n', " "));
    }
    if !captured.options.is_empty() {
        let _ = writeln!(
            text,
            "# Options for the captured scheduler settings: fairlab run FILE --machine {name}.toml {}",
            captured.options.join(" ")
        );
    }
    let _ = writeln!(text, "name = {name:?}");
    if let Some(model) = &captured.model {
        let clean: String = model.chars().filter(|c| !c.is_control() && !"\"\\".contains(*c)).collect();
        let _ = writeln!(text, "description = \"{clean}\"");
    }
    let release = captured.release.as_ref().map_or_else(String::new, |release| format!(", Linux {release}"));
    let release: String = release.chars().filter(|c| !c.is_control() && !"\"\\".contains(*c)).collect();
    let _ = writeln!(text, "source = \"captured from {}{release}\"", captured.source);
    let _ = writeln!(text, "kernel = \"{kernel}\"");
    if let Some(hz) = captured.hz {
        let _ = writeln!(text, "hz = {hz}");
    }
    if captured.polling_idle {
        text.push_str("polling_idle = true\n");
    }
    write_cpus(&mut text, captured);
    let place: BTreeMap<u32, u32> = captured.cpus.iter().zip(0..).map(|(cpu, place)| (cpu.number, place)).collect();
    write_cpu_types(&mut text, captured);
    for domain in &captured.domains {
        write_frequency_domain(&mut text, domain, &place);
    }
    for (state, cpus) in &captured.states {
        write_idle_state(&mut text, state, cpus, &place);
    }
    text
}

/// First release with EEVDF.
const FIRST_EEVDF: (u32, u32) = (6, 6);
/// Release of the oldest profile with EEVDF.
const EEVDF_PROFILE: (u32, u32) = (6, 12);

/// Returns the kernel profile nearest to a release, and a remark if the two differ.
fn profile(release: Option<&str>) -> (&'static str, Option<String>) {
    let Some(release) = release else { return (DEFAULT_KERNEL_PROFILE, None) };
    let number = |text: &str| {
        let mut parts = text.split(['.', '-', '+', '_']).map(|part| part.parse::<u32>().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    };
    let own = number(release);
    // Kernels with EEVDF are nearer to the oldest profile with EEVDF than to one without.
    let bound = if own >= FIRST_EEVDF { own.max(EEVDF_PROFILE) } else { own };
    let found =
        KERNEL_PROFILES.iter().rev().find(|profile| number(profile) <= bound).copied().unwrap_or(KERNEL_PROFILES[0]);
    let differs = number(found) != own;
    (found, differs.then(|| format!("there is no profile of Linux {release}: {found} is the nearest")))
}

/// Returns the numbers of units, from 0 without gaps, in the order of the CPUs.
fn units(cpus: &[CapturedCpu], unit: impl Fn(&CapturedCpu) -> (u64, u64)) -> Vec<usize> {
    let mut known = Vec::new();
    let mut number = |unit: (u64, u64)| {
        known.iter().position(|own| *own == unit).unwrap_or_else(|| {
            known.push(unit);
            known.len() - 1
        })
    };
    cpus.iter().map(|cpu| number(unit(cpu))).collect()
}

fn write_cpus(text: &mut String, captured: &CapturedMachine) {
    let cpus = &captured.cpus;
    let _ = writeln!(text, "\n[cpus]\ncount = {}", cpus.len());
    let mut put = |key: &str, list: &[usize]| {
        let list: Vec<String> = list.iter().map(usize::to_string).collect();
        let _ = writeln!(text, "{key} = [{}]", list.join(", "));
    };
    put("core", &units(cpus, |cpu| (cpu.package, cpu.core)));
    if cpus.iter().all(|cpu| cpu.cluster.is_some()) {
        put("cluster", &units(cpus, |cpu| (cpu.package, cpu.cluster.unwrap_or(cpu.core))));
    }
    // A cache lies within one package and one node.
    put("llc", &units(cpus, |cpu| (cpu.package << 32 | cpu.node, cpu.llc.map_or(0, |llc| llc + 1))));
    put("package", &units(cpus, |cpu| (cpu.package, 0)));
    let nodes = units(cpus, |cpu| (cpu.node, 0));
    put("node", &nodes);
    let nr_nodes = nodes.iter().max().map_or(1, |most| most + 1);
    let fits = captured.distances.len() == nr_nodes && captured.distances.iter().all(|row| row.len() == nr_nodes);
    if nr_nodes > 1 && fits {
        let rows: Vec<String> = captured.distances.iter().map(|row| format!("{row:?}")).collect();
        let _ = writeln!(text, "distances = [{}]", rows.join(", "));
    }
}

/// Writes the CPUs of each capacity if there are several. The largest capacity becomes 1024.
fn write_cpu_types(text: &mut String, captured: &CapturedMachine) {
    let mut types: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (cpu, place) in captured.cpus.iter().zip(0..) {
        types.entry(cpu.capacity.unwrap_or(1024).clamp(1, 1024)).or_default().push(place);
    }
    if types.len() < 2 {
        return;
    }
    let most = types.keys().last().copied().unwrap_or(1024);
    for (capacity, cpus) in types {
        let _ = writeln!(
            text,
            "\n[[cpu_type]]\nname = \"capacity-{capacity}\"\ncpus = \"{}\"\ncapacity = {}",
            format_cpu_list(&cpus),
            (capacity * 1024 / most).max(1)
        );
    }
}

fn write_frequency_domain(text: &mut String, domain: &CapturedFrequencyDomain, place: &BTreeMap<u32, u32>) {
    let CapturedFrequencyDomain { cpus, khz, power_uw, governor, transition_latency_ns, has_no_table } = domain;
    text.push('\n');
    if *has_no_table {
        text.push_str("# The driver has no table: only the lowest and the highest frequency are known.\n");
    }
    if !GOVERNORS.contains(&governor.as_str()) && !governor.is_empty() {
        let _ = writeln!(text, "# Its governor is {governor}, which is not modelled.");
    }
    let _ = writeln!(
        text,
        "[[frequency_domain]]\ncpus = \"{}\"\nkhz = {khz:?}",
        format_cpu_list(&cpu_indexes(cpus, place))
    );
    if power_uw.len() == khz.len() {
        let _ = writeln!(text, "power_uw = {power_uw:?}");
    }
    let governor = if GOVERNORS.contains(&governor.as_str()) { governor } else { "schedutil" };
    let _ = writeln!(text, "governor = \"{governor}\"");
    if let Some(ns) = transition_latency_ns {
        let _ = writeln!(text, "transition_latency_ns = {ns}");
    }
}

fn write_idle_state(text: &mut String, state: &CapturedIdleState, cpus: &[u32], place: &BTreeMap<u32, u32>) {
    let clean: String =
        state.name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '-' }).collect();
    let _ = writeln!(text, "\n[[idle_state]]\nname = \"{}\"", clean.trim_start_matches(['-', '.']));
    let cpus = cpu_indexes(cpus, place);
    if cpus.len() < place.len() {
        let _ = writeln!(text, "cpus = \"{}\"", format_cpu_list(&cpus));
    }
    let _ = writeln!(text, "exit_latency_ns = {}", state.exit_latency_us.saturating_mul(1000));
    let _ = writeln!(
        text,
        "target_residency_ns = {}",
        state.target_residency_us.max(state.exit_latency_us).saturating_mul(1000)
    );
    if state.name == "POLL" {
        text.push_str("polls = true\n");
    }
}

fn cpu_indexes(cpus: &[u32], place: &BTreeMap<u32, u32>) -> Vec<u32> {
    cpus.iter().filter_map(|cpu| place.get(cpu).copied()).collect()
}
