// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine from hwloc's XML, version 2: packages, caches, cores, and the CPUs (`PU`) in them.

use super::{CaptureError, Captured, Cpu, wrong};
use roxmltree::{Document, Node, ParsingOptions};

const HELP: &str = "give what `lstopo machine.xml` of hwloc 2 writes";

/// Reads the text.
pub(super) fn read(text: &str, source: &str) -> Result<Captured, CaptureError> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: 10_000_000, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| wrong(source, error, HELP))?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        return Err(wrong(source, format!("begins with <{}>, and not with <topology>", root.tag_name().name()), HELP));
    }
    let mut captured = Captured { source: "hwloc", ..Captured::default() };
    let mut nodes: Vec<(u64, Vec<u32>)> = Vec::new();
    for object in objects(root) {
        match kind(object) {
            "PU" => captured.cpus.extend(cpu_of(object)),
            "NUMANode" => {
                let number = object.attribute("os_index").and_then(|index| index.parse().ok());
                nodes.extend(number.zip(object.attribute("cpuset").map(cpus_of)));
            }
            _ => {}
        }
    }
    for cpu in &mut captured.cpus {
        cpu.node = nodes.iter().find(|(_, cpus)| cpus.contains(&cpu.number)).map_or(0, |(node, _)| *node);
    }
    captured.cpus.sort_by_key(|cpu| cpu.number);
    if captured.cpus.is_empty() {
        return Err(wrong(source, "has no objects of type PU", HELP));
    }
    let with_cpus: Vec<usize> = (0..nodes.len()).filter(|&node| !nodes[node].1.is_empty()).collect();
    captured.distances = distances(root, nodes.len(), &with_cpus);
    captured.model = root.descendants().find_map(|node| {
        (node.attribute("name") == Some("CPUModel")).then(|| node.attribute("value").map(str::to_owned))?
    });
    captured
        .remarks
        .push("hwloc tells nothing of the scheduler's capacities, frequencies, idle states and the kernel".to_owned());
    Ok(captured)
}

fn objects<'a>(root: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    root.descendants().filter(|node| node.tag_name().name() == "object")
}

fn kind<'a>(object: Node<'a, 'a>) -> &'a str {
    object.attribute("type").unwrap_or_default()
}

/// The CPU of a PU, with what it is in: units are known by the places of their objects in the file.
fn cpu_of(object: Node<'_, '_>) -> Option<Cpu> {
    let number = object.attribute("os_index")?.parse().ok()?;
    let inside = |wanted: &dyn Fn(&str) -> bool| {
        object.ancestors().filter(|node| wanted(kind(*node))).last().map(|node| node.range().start as u64)
    };
    let nearest =
        |wanted: &str| object.ancestors().find(|node| kind(*node) == wanted).map(|node| node.range().start as u64);
    Some(Cpu {
        number,
        core: nearest("Core").unwrap_or_else(|| object.range().start as u64),
        cluster: None,
        // The outermost cache is that of the highest level.
        llc: inside(&|kind| kind.ends_with("Cache") && !kind.ends_with("iCache")),
        package: nearest("Package").unwrap_or(0),
        node: 0,
        capacity: None,
    })
}

/// A set of CPUs: words of 32 bits in hexadecimal, the highest first.
fn cpus_of(set: &str) -> Vec<u32> {
    let words = set.rsplit(',').map(|word| u32::from_str_radix(word.trim().trim_start_matches("0x"), 16).unwrap_or(0));
    let bits = words.enumerate().flat_map(|(place, word)| {
        (0..32).filter(move |bit| word & (1 << bit) != 0).map(move |bit| 32 * place as u32 + bit)
    });
    bits.collect()
}

/// Distances between nodes, without those that have no CPUs.
fn distances(root: Node<'_, '_>, nr_nodes: usize, with_cpus: &[usize]) -> Vec<Vec<u64>> {
    let list = root
        .descendants()
        .find(|node| node.tag_name().name() == "distances2" && node.attribute("type") == Some("NUMANode"));
    let Some(list) = list else { return Vec::new() };
    let values = list.descendants().filter(|node| node.tag_name().name() == "u64values").filter_map(|node| node.text());
    let values: Vec<u64> =
        values.flat_map(|text| text.split_whitespace()).filter_map(|word| word.parse().ok()).collect();
    if values.len() != nr_nodes * nr_nodes {
        return Vec::new();
    }
    with_cpus.iter().map(|&from| with_cpus.iter().map(|&to| values[from * nr_nodes + to]).collect()).collect()
}
