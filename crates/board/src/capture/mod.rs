// SPDX-License-Identifier: GPL-2.0-or-later
//! Capture of an existing machine as a machine file: from its sysfs, or from saved output of tools.
//!
//! Sources: the root directory of a running machine, a directory or a tar of `/sys` (as
//! `hwloc-gather-topology` makes it), hwloc's XML of version 2, and `lscpu -J`, with and without `-e`. Data
//! that a source does not contain is left out of the file, and a comment in the file reports that. Offline
//! CPUs are left out; the others are numbered from 0 without gaps.

mod hwloc;
mod lscpu;
mod sysfs;
mod tree;
mod write;

#[cfg(test)]
mod tests;

use crate as description;
use fairlab_workload::files;
use fairlab_workload::message::Message;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use tree::Tree;

/// Maximum size of an input file.
const MAX_BYTES: u64 = 256 << 20;

/// Returns an error with the source's name and a remedy.
fn source_error(source: &str, what: impl fmt::Display, help: &str) -> Message {
    Message::in_file(source, what.to_string()).with_help(help)
}

/// A CPU as a source describes it. Units have arbitrary numbers, which are equal for the CPUs of one unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CapturedCpu {
    /// Number of the CPU in the source.
    number: u32,
    core: u64,
    cluster: Option<u64>,
    llc: Option<u64>,
    package: u64,
    node: u64,
    capacity: Option<u64>,
}

/// CPUs that change their frequency together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CapturedFrequencyDomain {
    cpus: Vec<u32>,
    khz: Vec<u64>,
    power_uw: Vec<u64>,
    governor: String,
    transition_latency_ns: Option<u64>,
    /// Whether the driver has no frequency table, so that only the lowest and the highest frequency are
    /// known.
    has_no_table: bool,
}

/// An idle state of some CPUs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CapturedIdleState {
    place: usize,
    name: String,
    exit_latency_us: u64,
    target_residency_us: u64,
}

/// A machine as a source describes it.
#[derive(Clone, Debug, Default)]
struct CapturedMachine {
    source: &'static str,
    model: Option<String>,
    cpus: Vec<CapturedCpu>,
    distances: Vec<Vec<u64>>,
    domains: Vec<CapturedFrequencyDomain>,
    /// CPUs of each idle state.
    states: BTreeMap<CapturedIdleState, Vec<u32>>,
    polling_idle: bool,
    hz: Option<u64>,
    release: Option<String>,
    /// Tunables and features of the scheduler, as command-line options.
    options: Vec<String>,
    /// Remarks on data that the source does not contain or that was left out.
    remarks: Vec<String>,
}

/// Returns the machine file of a source: a directory, a tar, hwloc's XML or the JSON of `lscpu`. The file is
/// validated unless `raw` is set.
///
/// # Errors
/// If the input is no known source, is damaged, or does not describe a valid machine.
pub fn capture(path: &Path, name: &str, raw: bool) -> Result<String, Message> {
    let source = path.display().to_string();
    if path.is_dir() {
        return machine_file(&sysfs::read(&Tree::from_directory(path), &source)?, name, raw);
    }
    let help = "give the root directory of a machine (/), a tar of /sys, hwloc's XML, or the output of `lscpu -J`";
    let bytes = files::read_file(path, MAX_BYTES)
        .map_err(|error| source_error(&source, format!("cannot be read: {error}"), help))?;
    capture_file(&bytes, &source, name, raw)
}

/// Returns the machine file of the content of a source: a tar, hwloc's XML or the JSON of `lscpu`. `source` is its name in
/// messages. The machine file is validated unless `raw` is set.
///
/// # Errors
/// As those of [`capture`].
pub fn capture_file(bytes: &[u8], source: &str, name: &str, raw: bool) -> Result<String, Message> {
    let text = std::str::from_utf8(bytes).map(str::trim_start);
    let captured = match text {
        Ok(text) if text.starts_with('{') => lscpu::read(text, source)?,
        Ok(text) if text.starts_with('<') => hwloc::read(text, source)?,
        _ => sysfs::read(&Tree::from_archive(bytes, source)?, source)?,
    };
    machine_file(&captured, name, raw)
}

/// Whether a file is a tar, hwloc's XML or the JSON of `lscpu`. A trace, a workload and a page of HTML are none of these.
pub fn is_source(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes).map(str::trim_start) {
        Ok(text) if text.starts_with('{') => lscpu::is_lscpu(text),
        Ok(text) if text.starts_with('<') => hwloc::is_hwloc(text),
        _ => tree::is_archive(bytes),
    }
}

fn machine_file(captured: &CapturedMachine, name: &str, raw: bool) -> Result<String, Message> {
    let text = write::write(captured, name);
    if !raw {
        // The remedy of the error is for a person who wrote the file.
        let help = "fairlab cannot describe the captured machine; capture it with --raw and edit the file";
        description::parse(&format!("{name}.toml"), &text).map_err(|error| error.with_help(help))?;
    }
    Ok(text)
}

/// Parses a list of CPUs in Linux's format, such as `0-3,8`.
fn parse_cpu_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.trim().split([',', ' ']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { continue };
        // No machine has more CPUs; the limit keeps a damaged list from exhausting memory.
        if last < 1 << 16 && first <= last {
            cpus.extend(first..=last);
        }
    }
    cpus
}
