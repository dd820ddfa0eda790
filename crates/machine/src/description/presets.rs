// SPDX-License-Identifier: GPL-2.0-or-later
//! Machines that come with the program, and the way from a name or path to a machine.

use super::suggest;
use super::{DescriptionError, LoadError, MachineDescription, parse};
use std::path::Path;

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each machine, in the order in which lists show them.
        const PRESETS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../machines/", $name, ".toml")))),*];
    };
}

presets![
    "hikey",
    "hikey960",
    "sc7180",
    "xeon-1s-112",
    "xeon-2s-224",
    "xeon-4s-192",
    "xeon-2s-104",
    "thunderx2-224",
    "epyc-16llc",
    "laptop-8",
    "uniprocessor",
];

/// The machines that come with the program.
pub fn presets() -> impl ExactSizeIterator<Item = MachineDescription> {
    PRESETS.iter().map(|(name, text)| read_preset(name, text))
}

/// The machine of that name, if it comes with the program.
pub fn preset(name: &str) -> Option<MachineDescription> {
    preset_text(name).map(|text| read_preset(name, text))
}

/// The file of a machine that comes with the program, with its comments.
pub fn preset_text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The machine of a name or in a file. What ends in `.toml` or contains a `/` is a path.
///
/// # Errors
/// No such preset, no such file, or a file that says something impossible.
pub fn load(name_or_path: &str) -> Result<MachineDescription, LoadError> {
    if !name_or_path.ends_with(".toml") && !name_or_path.contains(['/', std::path::MAIN_SEPARATOR]) {
        return preset(name_or_path).ok_or_else(|| unknown(name_or_path));
    }
    let text = std::fs::read(name_or_path)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|error| std::io::Error::other(error.utf8_error())))
        .map_err(|cause| LoadError::Read { path: name_or_path.to_owned(), cause })?;
    parse(name_or_path, &text).map_err(LoadError::Invalid)
}

fn unknown(name: &str) -> LoadError {
    let names = PRESETS.iter().map(|(name, _)| *name);
    let is_file = Path::new(name).is_file();
    let path = if is_file { format!("; for the file of that name write `./{name}`") } else { String::new() };
    let help = format!("{}{path}; a path must end in `.toml` or contain a `/`", suggest::did_you_mean(name, names));
    LoadError::Unknown { name: name.to_owned(), help }
}

fn read_preset(name: &str, text: &str) -> MachineDescription {
    let read: Result<_, DescriptionError> = parse(&format!("machines/{name}.toml"), text);
    read.unwrap_or_else(|error| panic!("a preset is valid, which a test checks: {error}"))
}
