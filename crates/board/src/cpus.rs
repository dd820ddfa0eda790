// SPDX-License-Identifier: GPL-2.0-or-later
//! `[cpus]`: the number of CPUs, and the units that they share.
//!
//! Each kind of unit (core, cluster, last-level cache, package, node) follows from a rule for regular
//! machines, or is an array with one number for each CPU. Units nest: core in cluster in last-level cache in
//! package and in node; packages lie in nodes or nodes in packages.

use super::error::DescriptionFault;
use super::raw::{List, OptionalKey, RawCpus, RawLevel, RawNumbering};
use super::values::number;
use fairlab_sched::topology::{CpuPlace, TopologyLevel};
use std::ops::Range;
use toml::Spanned;

/// Maximum number of CPUs of a machine.
pub const MAX_CPUS: u32 = 4096;

/// Default distance of a node to itself and to others (`LOCAL_DISTANCE`, `REMOTE_DISTANCE`).
pub(super) const LOCAL_DISTANCE: u32 = 10;
pub(super) const REMOTE_DISTANCE: u32 = 20;

/// CPUs, their units, the domain levels and the node distances. Units are numbered densely from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) places: Vec<CpuPlace>,
    pub(super) levels: Vec<TopologyLevel>,
    pub(super) distances: Vec<Vec<u32>>,
}

impl Shape {
    pub(super) fn nr_cpus(&self) -> u32 {
        self.places.len() as u32
    }

    /// Returns the number of units of a kind.
    pub(super) fn nr_units(&self, unit: fn(&CpuPlace) -> u32) -> u32 {
        nr_units(&self.places, unit)
    }
}

/// Returns the number of units of a kind that CPUs are in.
pub(super) fn nr_units(places: &[CpuPlace], unit: fn(&CpuPlace) -> u32) -> u32 {
    places.iter().map(unit).max().map_or(0, |highest| highest + 1)
}

/// Returns the core of each CPU on a regular machine.
pub(super) fn core_numbers(count: u32, threads: u32, numbering: RawNumbering) -> Vec<u32> {
    let nr_cores = count / threads;
    let core = |cpu| match numbering {
        RawNumbering::CoreMajor => cpu / threads,
        RawNumbering::ThreadsLast => cpu % nr_cores,
    };
    (0..count).map(core).collect()
}

pub(super) fn from_raw(raw: &Spanned<RawCpus>) -> Result<Shape, DescriptionFault> {
    let (at, raw) = (raw.span(), raw.get_ref());
    let count = number(&raw.count, 1..=u64::from(MAX_CPUS), "CPUs")? as u32;
    let core = cores(raw, count)?;
    let units = UnitReader { at: &at, count, core: &core.of_cpu };
    let cluster = units.read(&raw.cluster, &raw.cores_per_cluster, "cluster", &core.of_cpu)?;
    let one = vec![0; count as usize];
    let package = units.read(&raw.package, &raw.cores_per_package, "package", &one)?;
    let node = units.read(&raw.node, &raw.cores_per_node, "node", &one)?;
    let smaller = if node.check_within(&package).is_ok() {
        &node
    } else {
        package.check_within(&node)?;
        &package
    };
    let llc = units.read(&raw.llc, &raw.cores_per_llc, "llc", &smaller.of_cpu)?;
    let units = [&core, &cluster, &llc, &package, &node];
    for inner in 0..3 {
        for outer in (inner + 1..units.len()).rev() {
            units[inner].check_within(units[outer])?;
        }
    }
    let places: Vec<CpuPlace> = (0..count as usize)
        .map(|cpu| CpuPlace {
            core: core.of_cpu[cpu],
            cluster: cluster.of_cpu[cpu],
            llc: llc.of_cpu[cpu],
            package: package.of_cpu[cpu],
            node: node.of_cpu[cpu],
        })
        .collect();
    let levels = levels(raw, &places)?;
    let distances = distances(raw, node.nr_units())?;
    Ok(Shape { places, levels, distances })
}

/// A kind of unit: the unit of each CPU, and the position in the file.
struct UnitMap {
    kind: &'static str,
    of_cpu: Vec<u32>,
    at: Range<usize>,
}

impl UnitMap {
    fn nr_units(&self) -> u32 {
        self.of_cpu.iter().max().map_or(0, |highest| highest + 1)
    }

    /// Checks that no unit has CPUs in two units of `outer`.
    fn check_within(&self, outer: &Self) -> Result<(), DescriptionFault> {
        let mut home = vec![None; self.nr_units() as usize];
        for (cpu, (&unit, &around)) in self.of_cpu.iter().zip(&outer.of_cpu).enumerate() {
            let first = *home[unit as usize].get_or_insert(around);
            if first != around {
                let (inner, kind) = (self.kind, outer.kind);
                let message =
                    format!("cpu {cpu} puts {inner} {unit} into {kind} {around}, but it is in {kind} {first}");
                let help = format!("CPUs of one {inner} must be in one {kind}");
                return Err(DescriptionFault::new(self.at.clone(), message, help));
            }
        }
        Ok(())
    }
}

fn cores(raw: &RawCpus, count: u32) -> Result<UnitMap, DescriptionFault> {
    let Some(array) = &raw.core else {
        let threads = match &raw.threads_per_core {
            None => 1,
            Some(threads) => divisor(threads, count, "CPUs", "core")?,
        };
        let numbering = raw.numbering.as_ref().map_or(RawNumbering::CoreMajor, |numbering| *numbering.get_ref());
        let at = raw.threads_per_core.as_ref().map_or_else(|| raw.count.span(), Spanned::span);
        return Ok(UnitMap { kind: "core", of_cpu: core_numbers(count, threads, numbering), at });
    };
    let rule = raw.threads_per_core.as_ref().map(Spanned::span).or_else(|| raw.numbering.as_ref().map(Spanned::span));
    if let Some(at) = rule {
        return Err(DescriptionFault::new(
            at,
            "`core` already says which core each CPU is in",
            "remove this key, or `core`",
        ));
    }
    Ok(UnitMap { kind: "core", of_cpu: per_cpu(array, count, "core")?, at: array.span() })
}

/// Reader of the units above the core.
struct UnitReader<'a> {
    at: &'a Range<usize>,
    count: u32,
    core: &'a [u32],
}

impl UnitReader<'_> {
    fn read(
        &self,
        array: &Option<List<u64>>,
        rule: &OptionalKey<u64>,
        kind: &'static str,
        default: &[u32],
    ) -> Result<UnitMap, DescriptionFault> {
        match (array, rule) {
            (Some(_), Some(rule)) => {
                let message = format!("`{kind}` already says which {kind} each CPU is in");
                Err(DescriptionFault::from_value(rule, message, format!("remove this key, or `{kind}`")))
            }
            (Some(array), None) => Ok(UnitMap { kind, of_cpu: per_cpu(array, self.count, kind)?, at: array.span() }),
            (None, Some(rule)) => {
                let nr_cores = self.core.iter().max().map_or(0, |highest| highest + 1);
                let cores = divisor(rule, nr_cores, "cores", kind)?;
                let of_cpu = self.core.iter().map(|core| core / cores).collect();
                Ok(UnitMap { kind, of_cpu, at: rule.span() })
            }
            (None, None) => Ok(UnitMap { kind, of_cpu: default.to_vec(), at: self.at.clone() }),
        }
    }
}

/// Checks that a number of parts for each unit divides the total.
fn divisor(value: &Spanned<u64>, parts: u32, of: &str, kind: &str) -> Result<u32, DescriptionFault> {
    let given = *value.get_ref();
    if given == 0 || !u64::from(parts).is_multiple_of(given) {
        let message = format!("{parts} {of} cannot be divided into {kind}s of {given}");
        let help = format!("write a divisor of {parts}, or `{kind} = [...]` with one number per CPU");
        return Err(DescriptionFault::from_value(value, message, help));
    }
    Ok(given as u32)
}

/// Reads an array with the unit of each CPU. Units are numbered from 0 without gaps.
fn per_cpu(array: &List<u64>, count: u32, kind: &str) -> Result<Vec<u32>, DescriptionFault> {
    let entries = array.get_ref();
    if entries.len() != count as usize {
        let message = format!("{} numbers for {count} CPUs", entries.len());
        return Err(DescriptionFault::from_value(array, message, format!("write the {kind} of each CPU, CPU 0 first")));
    }
    let mut is_used = vec![false; entries.len()];
    let mut units = Vec::with_capacity(entries.len());
    for entry in entries {
        let unit = number(entry, 0..=u64::from(count - 1), "")? as u32;
        is_used[unit as usize] = true;
        units.push(unit);
    }
    let nr_units = units.iter().max().map_or(0, |highest| *highest as usize + 1);
    if let Some(unused) = is_used[..nr_units].iter().position(|used| !used) {
        let message = format!("no CPU is in {kind} {unused}");
        return Err(DescriptionFault::from_value(array, message, format!("number the {kind}s from 0 without gaps")));
    }
    Ok(units)
}

/// Returns the levels that the file lists, or those that a kernel would build on such a machine.
fn levels(raw: &RawCpus, places: &[CpuPlace]) -> Result<Vec<TopologyLevel>, DescriptionFault> {
    let nr_nodes = places.iter().map(|place| place.node).max().map_or(1, |highest| highest + 1);
    let package_in_node =
        places.iter().all(|a| places.iter().find(|b| b.package == a.package).is_none_or(|b| b.node == a.node));
    let Some(list) = &raw.levels else {
        return Ok(default_levels(places, nr_nodes, package_in_node));
    };
    let mut previous = None;
    let mut levels = Vec::new();
    for entry in list.get_ref() {
        let level = *entry.get_ref();
        if previous >= Some(level) {
            let help = "list each level once, in the order smt, cluster, mc, package, all";
            return Err(DescriptionFault::from_value(entry, "this level does not lie above the one before", help));
        }
        let spans_nodes = match level {
            RawLevel::All => nr_nodes > 1,
            RawLevel::Package => !package_in_node,
            RawLevel::Smt | RawLevel::Cluster | RawLevel::Mc => false,
        };
        if spans_nodes {
            let help = "leave this level out: the levels between nodes follow from the distances";
            return Err(DescriptionFault::from_value(entry, "this level would span several nodes", help));
        }
        previous = Some(level);
        levels.push(to_topology_level(level));
    }
    if levels.is_empty() {
        return Err(DescriptionFault::from_value(
            list,
            "without levels there is no load balancing",
            "leave the key out, or list a level",
        ));
    }
    Ok(levels)
}

/// Returns the default levels: SMT and cluster if such units exist, the last-level cache, and one more. That
/// level is the whole machine with one node; with several nodes it is the package, unless packages are larger
/// than nodes.
fn default_levels(places: &[CpuPlace], nr_nodes: u32, package_in_node: bool) -> Vec<TopologyLevel> {
    let nr = |unit: fn(&CpuPlace) -> u32| places.iter().map(unit).max();
    let mut levels = Vec::new();
    if nr(|place| place.core) < Some(places.len() as u32 - 1) {
        levels.push(TopologyLevel::Smt);
    }
    if nr(|place| place.cluster) < nr(|place| place.core) {
        levels.push(TopologyLevel::Cluster);
    }
    levels.push(TopologyLevel::Mc);
    if nr_nodes == 1 {
        levels.push(TopologyLevel::All);
    } else if package_in_node {
        levels.push(TopologyLevel::Package);
    }
    levels
}

const fn to_topology_level(level: RawLevel) -> TopologyLevel {
    match level {
        RawLevel::Smt => TopologyLevel::Smt,
        RawLevel::Cluster => TopologyLevel::Cluster,
        RawLevel::Mc => TopologyLevel::Mc,
        RawLevel::Package => TopologyLevel::Package,
        RawLevel::All => TopologyLevel::All,
    }
}

/// Reads the distance matrix: square, symmetric, 10 on the diagonal and 11 to 254 elsewhere.
fn distances(raw: &RawCpus, nr_nodes: u32) -> Result<Vec<Vec<u32>>, DescriptionFault> {
    let nr = nr_nodes as usize;
    let Some(matrix) = &raw.distances else {
        let row = |i| (0..nr).map(|j| if i == j { LOCAL_DISTANCE } else { REMOTE_DISTANCE }).collect();
        return Ok((0..nr).map(row).collect());
    };
    let help = || format!("write {nr} rows of {nr} numbers, one for each node");
    if matrix.get_ref().len() != nr {
        return Err(DescriptionFault::from_value(
            matrix,
            format!("{} rows for {nr} nodes", matrix.get_ref().len()),
            help(),
        ));
    }
    let mut rows: Vec<Vec<u32>> = Vec::with_capacity(nr);
    for (i, line) in matrix.get_ref().iter().enumerate() {
        if line.get_ref().len() != nr {
            return Err(DescriptionFault::from_value(
                line,
                format!("{} distances for {nr} nodes", line.get_ref().len()),
                help(),
            ));
        }
        let mut row = Vec::with_capacity(nr);
        for (j, entry) in line.get_ref().iter().enumerate() {
            let local = u64::from(LOCAL_DISTANCE);
            let range = if i == j { local..=local } else { local + 1..=254 };
            let distance = number(entry, range, "from this node to that")? as u32;
            if j < i && rows[j][i] != distance {
                let message = format!("node {i} is {distance} from node {j}, but {j} is {} from {i}", rows[j][i]);
                return Err(DescriptionFault::from_value(entry, message, "give both directions the same distance"));
            }
            row.push(distance);
        }
        rows.push(row);
    }
    Ok(rows)
}
