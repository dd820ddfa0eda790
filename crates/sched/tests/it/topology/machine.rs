// SPDX-License-Identifier: GPL-2.0-or-later
//! Machines read from the first lines of a scenario: `cpus`, `topo`, `smtmap`, `caps`, `levels`, `dist`.

use fairlab_sched::topology::{CpuPlace, MachineTopology, TopologyLevel};
use std::path::{Path, PathBuf};

pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/topology").join(name)
}

/// Reads a compressed text file.
pub(crate) fn read_zst(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = zstd::decode_all(&bytes[..]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of all files with this ending in a folder of test data, sorted, without the ending.
pub(crate) fn names(folder: &str, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(data(folder)).unwrap();
    let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = files.filter_map(|file| file.strip_suffix(ending).map(str::to_owned)).collect();
    names.sort();
    names
}

/// Returns a machine of one node and one cache, where each CPU is a core and a cluster of its own.
pub(crate) fn flat(nr_cpus: usize) -> MachineTopology {
    let place = |cpu| CpuPlace { core: cpu, cluster: cpu, llc: 0, package: 0, node: 0 };
    MachineTopology {
        cpus: (0..nr_cpus as u32).map(place).collect(),
        capacity: vec![1024; nr_cpus],
        levels: vec![TopologyLevel::Mc, TopologyLevel::All],
        distances: vec![vec![10]],
    }
}

/// Returns the machine that the statements of a scenario describe.
pub(crate) fn parse(scenario: &str) -> MachineTopology {
    let mut machine = None;
    let mut dist = None;
    for line in scenario.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        let Some((&keyword, rest)) = words.split_first() else { continue };
        if keyword == "cpus" {
            machine = Some(flat(number(rest[0]) as usize));
            continue;
        }
        let machine = machine.as_mut().expect("cpus is the first statement");
        match keyword {
            "topo" => rest.iter().for_each(|word| place_evenly(machine, word)),
            "smtmap" => machine.cpus.iter_mut().zip(rest).for_each(|(cpu, core)| cpu.core = number(core)),
            "caps" => machine.capacity = rest.iter().map(|capacity| number(capacity).into()).collect(),
            "levels" => machine.levels = rest[0].chars().map(level).collect(),
            "dist" => dist = Some(rest[1..].chunks(number(rest[0]) as usize).map(row).collect()),
            _ => {}
        }
    }
    let mut machine = machine.expect("the scenario has cpus");
    let nr_nodes = machine.cpus.iter().map(|place| place.node).max().unwrap() + 1;
    let even = |a| (0..nr_nodes).map(|b| if a == b { 10 } else { 20 }).collect();
    machine.distances = dist.unwrap_or_else(|| (0..nr_nodes).map(even).collect());
    machine
}

fn row(words: &[&str]) -> Vec<u32> {
    words.iter().map(|word| number(word)).collect()
}

fn number(word: &str) -> u32 {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
}

fn place_evenly(machine: &mut MachineTopology, word: &str) {
    let (unit, size) = word.split_once('=').expect("unit=size");
    for (cpu, place) in machine.cpus.iter_mut().enumerate() {
        let number = cpu as u32 / number(size);
        match unit {
            "smt" => place.core = number,
            "cls" => place.cluster = number,
            "llc" => place.llc = number,
            "pkg" => place.package = number,
            "node" => place.node = number,
            _ => panic!("unknown unit {unit}"),
        }
    }
}

fn level(letter: char) -> TopologyLevel {
    match letter {
        'S' => TopologyLevel::Smt,
        'C' => TopologyLevel::Cluster,
        'M' => TopologyLevel::Mc,
        'P' => TopologyLevel::Package,
        'A' => TopologyLevel::All,
        _ => panic!("unknown level {letter}"),
    }
}
