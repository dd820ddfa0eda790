// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader of the JSON of `lscpu`: a list of CPUs (`lscpu -J -e`), or the summary (`lscpu -J`).

use super::{CapturedCpu, CapturedFrequencyDomain, CapturedMachine, parse_cpu_list, source_error};
use fairlab_workload::message::Message;
use serde_json::Value;

const HELP: &str = "give the output of `lscpu -J -e` or `lscpu -J`";

/// Whether a JSON text is the output of `lscpu`.
pub(super) fn is_lscpu(text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|json: Value| json["cpus"].is_array() || json["lscpu"].is_array())
}

/// Reads the JSON text.
pub(super) fn read(text: &str, source: &str) -> Result<CapturedMachine, Message> {
    let json: Value = serde_json::from_str(text).map_err(|error| source_error(source, error, HELP))?;
    let mut captured = CapturedMachine { source: "lscpu", ..CapturedMachine::default() };
    if let Some(cpus) = json["cpus"].as_array() {
        read_list(cpus, &mut captured);
    } else if let Some(fields) = json["lscpu"].as_array() {
        read_summary(fields, &mut captured);
    } else {
        return Err(source_error(source, "has neither `cpus` nor `lscpu`", HELP));
    }
    if captured.cpus.is_empty() {
        return Err(source_error(source, "lists no CPUs", HELP));
    }
    captured.remarks.push("lscpu has no data on capacities, idle states, node distances and the kernel".to_owned());
    Ok(captured)
}

/// Returns a number, which some versions of lscpu write as a string.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn read_list(cpus: &[Value], captured: &mut CapturedMachine) {
    for (place, cpu) in cpus.iter().enumerate() {
        let is_offline = cpu["online"] == Value::Bool(false) || cpu["online"] == "no";
        if is_offline {
            captured.remarks.push("offline CPUs are left out".to_owned());
            continue;
        }
        let number_of = |key: &str| number(&cpu[key]);
        let own = number_of("cpu").unwrap_or(place as u64);
        // The format is `l1d:l1i:l2:l3`; the last entry is that of the highest level.
        let caches = cpu.as_object().and_then(|all| all.iter().find(|(key, _)| key.contains("l1d")));
        let has_l3 = caches.is_some_and(|(key, _)| key.contains("l3"));
        let llc = caches.and_then(|(_, value)| value.as_str()?.rsplit(':').next()?.parse().ok());
        captured.cpus.push(CapturedCpu {
            number: u32::try_from(own).unwrap_or(u32::MAX),
            core: number_of("core").unwrap_or(own),
            cluster: None,
            llc: llc.filter(|_| has_l3 || caches.is_some()),
            package: number_of("socket").unwrap_or(0),
            node: number_of("node").unwrap_or(0),
            capacity: None,
        });
        let khz = |key: &str| {
            let mhz = cpu[key].as_f64().or_else(|| cpu[key].as_str()?.replace(',', ".").parse().ok());
            mhz.filter(|mhz| (1.0..1e5).contains(mhz)).map(|mhz| (mhz * 1000.0) as u64)
        };
        if let (Some(low), Some(high)) = (khz("minmhz"), khz("maxmhz"))
            && low < high
        {
            let cpus = vec![captured.cpus[captured.cpus.len() - 1].number];
            captured.domains.push(CapturedFrequencyDomain {
                cpus,
                khz: vec![low, high],
                has_no_table: true,
                ..CapturedFrequencyDomain::default()
            });
        }
    }
}

fn read_summary(fields: &[Value], captured: &mut CapturedMachine) {
    let mut all = Vec::new();
    flatten(fields, &mut all);
    let text =
        |key: &str| all.iter().find(|(field, _)| field.trim_end_matches(':') == key).map(|(_, data)| data.as_str());
    let number = |key: &str| text(key).and_then(|data| data.trim().parse::<u32>().ok());
    let threads = number("Thread(s) per core").unwrap_or(1).max(1);
    let sockets = number("Socket(s)").or_else(|| number("Cluster(s)")).unwrap_or(1).max(1);
    let online = text("On-line CPU(s) list").map(parse_cpu_list).unwrap_or_default();
    let nr = number("CPU(s)").unwrap_or(0).min(4096);
    let online = if online.is_empty() { (0..nr).collect() } else { online };
    captured.model = text("Model name").map(str::to_owned);
    let cores = (online.len() as u32 / threads).max(1);
    let instances = text("L3 cache").or_else(|| text("L2 cache")).and_then(|data| {
        let (_, rest) = data.split_once('(')?;
        rest.split_whitespace().next()?.parse::<u32>().ok()
    });
    let nodes: Vec<(u64, Vec<u32>)> = (0..64_u64)
        .filter_map(|node| Some((node, parse_cpu_list(text(&format!("NUMA node{node} CPU(s)"))?))))
        .filter(|(_, cpus)| !cpus.is_empty())
        .collect();
    for (place, &cpu) in online.iter().enumerate() {
        // Linux numbers the first threads of all cores first.
        let core = place as u32 % cores;
        let part = |nr: u32| u64::from(core * nr.min(cores) / cores);
        let node = nodes.iter().find(|(_, cpus)| cpus.contains(&cpu)).map_or(0, |(node, _)| *node);
        captured.cpus.push(CapturedCpu {
            number: cpu,
            core: core.into(),
            cluster: None,
            llc: instances.map(part),
            package: part(sockets),
            node,
            capacity: None,
        });
    }
    captured.remarks.push("a summary of lscpu does not list shared units: cores, caches and sockets are assumed in the order of the CPU numbers, with the first threads of all cores first".to_owned());
}

/// Flattens nested fields, which newer versions of lscpu write.
fn flatten(fields: &[Value], all: &mut Vec<(String, String)>) {
    for field in fields {
        if let (Some(name), Some(data)) = (field["field"].as_str(), field["data"].as_str()) {
            all.push((name.to_owned(), data.to_owned()));
        }
        if let Some(children) = field["children"].as_array() {
            flatten(children, all);
        }
    }
}
