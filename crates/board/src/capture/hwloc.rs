// SPDX-License-Identifier: GPL-2.0-or-later
//! Reader of hwloc's XML, version 2: packages, caches, cores, and their CPUs (`PU`).

use super::{CapturedCpu, CapturedMachine, source_error};
use fairlab_workload::message::Message;
use roxmltree::{Document, Node, ParsingOptions};

/// Number of characters within which the first element begins, after declarations and comments.
const MAX_HEAD_CHARS: usize = 4096;
const HELP: &str = "give the output of `lstopo machine.xml` of hwloc 2";

/// Whether a text is hwloc's XML: its first element is near the start.
pub(super) fn is_hwloc(text: &str) -> bool {
    text.chars().take(MAX_HEAD_CHARS).collect::<String>().contains("<topology")
}

/// Reads the XML text.
pub(super) fn read(text: &str, source: &str) -> Result<CapturedMachine, Message> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: 10_000_000, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| source_error(source, error, HELP))?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        return Err(source_error(
            source,
            format!("begins with <{}> instead of <topology>", root.tag_name().name()),
            HELP,
        ));
    }
    let mut captured = CapturedMachine { source: "hwloc", ..CapturedMachine::default() };
    let mut nodes: Vec<(u64, Vec<u32>)> = Vec::new();
    for object in objects(root) {
        match kind(object) {
            "PU" => captured.cpus.extend(cpu_from_pu(object)),
            "NUMANode" => {
                let number = object.attribute("os_index").and_then(|index| index.parse().ok());
                nodes.extend(number.zip(object.attribute("cpuset").map(parse_cpuset)));
            }
            _ => {}
        }
    }
    for cpu in &mut captured.cpus {
        cpu.node = nodes.iter().find(|(_, cpus)| cpus.contains(&cpu.number)).map_or(0, |(node, _)| *node);
    }
    captured.cpus.sort_by_key(|cpu| cpu.number);
    if captured.cpus.is_empty() {
        return Err(source_error(source, "has no objects of type PU", HELP));
    }
    let with_cpus: Vec<usize> = (0..nodes.len()).filter(|&node| !nodes[node].1.is_empty()).collect();
    captured.distances = distances(root, nodes.len(), &with_cpus);
    captured.model = root.descendants().find_map(|node| {
        (node.attribute("name") == Some("CPUModel")).then(|| node.attribute("value").map(str::to_owned))?
    });
    captured
        .remarks
        .push("hwloc has no data on the scheduler's capacities, frequencies, idle states and the kernel".to_owned());
    Ok(captured)
}

fn objects<'a>(root: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    root.descendants().filter(|node| node.tag_name().name() == "object")
}

fn kind<'a>(object: Node<'a, 'a>) -> &'a str {
    object.attribute("type").unwrap_or_default()
}

/// Returns the CPU of a PU object with its units, which are identified by the positions of their objects in
/// the file.
fn cpu_from_pu(object: Node<'_, '_>) -> Option<CapturedCpu> {
    let number = object.attribute("os_index")?.parse().ok()?;
    let inside = |wanted: &dyn Fn(&str) -> bool| {
        object.ancestors().filter(|node| wanted(kind(*node))).last().map(|node| node.range().start as u64)
    };
    let nearest =
        |wanted: &str| object.ancestors().find(|node| kind(*node) == wanted).map(|node| node.range().start as u64);
    Some(CapturedCpu {
        number,
        core: nearest("Core").unwrap_or_else(|| object.range().start as u64),
        cluster: None,
        // The outermost cache has the highest level.
        llc: inside(&|kind| kind.ends_with("Cache") && !kind.ends_with("iCache")),
        package: nearest("Package").unwrap_or(0),
        node: 0,
        capacity: None,
    })
}

/// Parses a cpuset: 32-bit words in hexadecimal, the highest first.
fn parse_cpuset(set: &str) -> Vec<u32> {
    let words = set.rsplit(',').map(|word| u32::from_str_radix(word.trim().trim_start_matches("0x"), 16).unwrap_or(0));
    let bits = words.enumerate().flat_map(|(place, word)| {
        (0..32).filter(move |bit| word & (1 << bit) != 0).map(move |bit| 32 * place as u32 + bit)
    });
    bits.collect()
}

/// Returns the distances between nodes, without nodes that have no CPUs.
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
