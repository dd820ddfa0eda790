// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading workload and machine files.

use crate::error::CliError;
use fairlab_machine::description::{self, MachineDescription, preset_text};
use fairlab_workload::error::text_of;
use std::io::Read;

/// The largest workload file that is read: a file of this size is a mistake.
const MAX_BYTES: u64 = 256 << 20;

/// The text of a workload file, and its name for messages.
#[derive(Debug)]
pub(crate) struct WorkloadText {
    /// As it was given; `-` is standard input.
    pub(crate) given: String,
    /// For messages.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Reads a workload file, or standard input for `-`.
pub(crate) fn workload(given: &str) -> Result<WorkloadText, CliError> {
    let name = if given == "-" { "<stdin>".to_owned() } else { given.to_owned() };
    let mut bytes = Vec::new();
    let read = if given == "-" {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(given).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| {
        let help = "give the path of a scenario or an rt-app file, or - for standard input";
        CliError::Input(format!("{name}: cannot be read: {error}\nhelp: {help}"))
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CliError::Input(format!(
            "{name}: longer than {} MiB\nhelp: is this a workload file?",
            MAX_BYTES >> 20
        )));
    }
    let text = text_of(&name, &bytes).map_err(CliError::input)?.to_owned();
    Ok(WorkloadText { given: given.to_owned(), name, text })
}

/// A machine with the text of its file.
#[derive(Debug)]
pub(crate) struct MachineText {
    /// As it was given.
    pub(crate) given: String,
    pub(crate) description: MachineDescription,
    pub(crate) text: String,
}

/// Reads a machine by name or path.
pub(crate) fn machine(given: &str) -> Result<MachineText, CliError> {
    let description = description::load(given).map_err(CliError::input)?;
    // What is not a preset has just been read as a file. Should it be gone by now, the description can be written anew.
    let text = match preset_text(given) {
        Some(text) => text.to_owned(),
        None => std::fs::read_to_string(given).unwrap_or_else(|_| description.to_toml()),
    };
    Ok(MachineText { given: given.to_owned(), description, text })
}
