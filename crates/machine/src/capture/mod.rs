// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine that exists as a machine file: from its sysfs, or from what tools have saved of it elsewhere.
//!
//! Sources: the root directory of a running machine, a directory or a tar of `/sys` (as `hwloc-gather-topology` makes it), hwloc's XML
//! of version 2, and `lscpu -J`, with and without `-e`. What a source does not tell is left out of the file, which says so in
//! its comments. Offline CPUs are left out; the others are numbered from 0 without gaps.

mod hwloc;
mod lscpu;
mod sysfs;
mod tree;
mod write;

#[cfg(test)]
mod tests;

use crate::description::{self, DescriptionError};
use crate::files;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use tree::Tree;

/// The largest file that is read.
const MAX_BYTES: u64 = 256 << 20;

/// Why a machine cannot be captured.
#[derive(Debug)]
pub enum CaptureError {
    /// What was given is no source, or damaged: what, and the way out.
    Source(String),
    /// What it says makes no machine.
    Machine(Box<DescriptionError>),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(message) => f.write_str(message),
            Self::Machine(error) => write!(
                f,
                "{error}\nhelp: the captured machine is not one that fairlab can describe; capture it with --raw, and edit it"
            ),
        }
    }
}

impl std::error::Error for CaptureError {}

/// What is wrong, with the source's name.
fn wrong(source: &str, what: impl fmt::Display, help: &str) -> CaptureError {
    CaptureError::Source(format!("{source}: {what}\nhelp: {help}"))
}

/// A CPU as a source tells of it: units are known by any number, which is the same for the CPUs of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cpu {
    /// Its number there.
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
struct Domain {
    cpus: Vec<u32>,
    khz: Vec<u64>,
    power_uw: Vec<u64>,
    governor: String,
    transition_latency_ns: Option<u64>,
    /// Frequencies are only the lowest and the highest: the driver has no table.
    has_no_table: bool,
}

/// An idle state of some CPUs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    place: usize,
    name: String,
    exit_latency_us: u64,
    target_residency_us: u64,
}

/// A machine as a source tells of it.
#[derive(Clone, Debug, Default)]
struct Captured {
    /// What kind of source.
    source: &'static str,
    model: Option<String>,
    cpus: Vec<Cpu>,
    distances: Vec<Vec<u64>>,
    domains: Vec<Domain>,
    /// Each idle state with its CPUs.
    states: BTreeMap<State, Vec<u32>>,
    polling_idle: bool,
    hz: Option<u64>,
    release: Option<String>,
    /// Tunables and features of the scheduler, as options of the command.
    options: Vec<String>,
    /// What the source does not tell, or what was left out.
    remarks: Vec<String>,
}

/// The machine file of what a path holds: a directory, a tar, hwloc's XML or the JSON of `lscpu`. Checked, unless it is to be edited.
///
/// # Errors
/// If it is none of them, is damaged, or makes no machine.
pub fn capture(path: &Path, name: &str, raw: bool) -> Result<String, CaptureError> {
    let source = path.display().to_string();
    let captured = if path.is_dir() {
        sysfs::read(&Tree::of_directory(path), &source)?
    } else {
        let help = "give the root directory of a machine (/), a tar of /sys, hwloc's XML, or what `lscpu -J` writes";
        let bytes = files::read_file(path, MAX_BYTES)
            .map_err(|error| wrong(&source, format!("cannot be read: {error}"), help))?;
        let text = std::str::from_utf8(&bytes).map(str::trim_start);
        match text {
            Ok(text) if text.starts_with('{') => lscpu::read(text, &source)?,
            Ok(text) if text.starts_with('<') => hwloc::read(text, &source)?,
            _ => sysfs::read(&Tree::of_archive(&bytes, &source)?, &source)?,
        }
    };
    let text = write::write(&captured, name);
    if !raw {
        description::parse(&format!("{name}.toml"), &text).map_err(|error| CaptureError::Machine(Box::new(error)))?;
    }
    Ok(text)
}

/// CPUs of a list as Linux writes it, `0-3,8`.
fn cpu_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.trim().split([',', ' ']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { continue };
        // No machine has more; a damaged list must not use up memory.
        if last < 1 << 16 && first <= last {
            cpus.extend(first..=last);
        }
    }
    cpus
}
