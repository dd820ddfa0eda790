// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading of workload and machine files.

use crate::embed::memory_files;
use crate::error::CliError;
use fairlab_machine::description::{self, MachineDescription};
use fairlab_machine::files;
use fairlab_workload::error::utf8_text;
use std::path::Path;

/// Largest file that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 256 << 20;

/// Text of a workload file, and its name for messages.
#[derive(Debug)]
pub(crate) struct WorkloadText {
    /// Path as given; `-` is standard input.
    pub(crate) given: String,
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Reads a workload file, or standard input for `-`.
pub(crate) fn workload(given: &str) -> Result<WorkloadText, CliError> {
    if let Some(text) = memory_files::read_text(given) {
        return workload_from_bytes(given, given.to_owned(), text.as_bytes().to_vec());
    }
    let name = if given == "-" { "<stdin>".to_owned() } else { given.to_owned() };
    let read = if given == "-" {
        files::read_all(std::io::stdin().lock(), MAX_BYTES)
    } else {
        files::read_file(Path::new(given), MAX_BYTES)
    };
    let bytes = read.map_err(|error| {
        let help = "give the path of a scenario or an rt-app file, or - for standard input";
        CliError::Input(format!("{name}: cannot be read: {error}\nhelp: {help}"))
    })?;
    workload_from_bytes(given, name, bytes)
}

/// Converts the content of a file into a workload text; `name` is for messages.
pub(crate) fn workload_from_bytes(given: &str, name: String, bytes: Vec<u8>) -> Result<WorkloadText, CliError> {
    // Takes the bytes, so that a large file is in memory once.
    let text = String::from_utf8(bytes)
        .map_err(|error| CliError::input(utf8_text(&name, error.as_bytes()).expect_err("it is not UTF-8")))?;
    Ok(WorkloadText { given: given.to_owned(), name, text })
}

/// Machine with the text of its file.
#[derive(Debug)]
pub(crate) struct MachineText {
    /// Name or path as given.
    pub(crate) given: String,
    pub(crate) description: MachineDescription,
    /// Text of a file that describes this machine.
    pub(crate) text: String,
}

/// Reads a machine by name or path.
pub(crate) fn machine(given: &str) -> Result<MachineText, CliError> {
    if let Some(text) = memory_files::read_text(given) {
        return machine_from_text(given, text.to_string());
    }
    let description::MachineText { description, text } = description::load_text(given).map_err(CliError::input)?;
    Ok(MachineText { given: given.to_owned(), description, text })
}

/// Parses the text of a machine file; `name` is for messages.
pub(crate) fn machine_from_text(name: &str, text: String) -> Result<MachineText, CliError> {
    let description = description::parse(name, &text).map_err(CliError::input)?;
    Ok(MachineText { given: name.to_owned(), description, text })
}
