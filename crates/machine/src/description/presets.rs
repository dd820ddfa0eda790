// SPDX-License-Identifier: GPL-2.0-or-later
//! Machines that come with the program, and the way from a name or path to a machine.

use super::{DescriptionError, LoadError, MachineDescription, base, parse, read, suggest};
use crate::files;
use std::io;
use std::path::Path;

/// The largest machine file that is read: a file of this size is a mistake.
const MAX_BYTES: u64 = 16 << 20;

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
    "phone-8",
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

/// Their names.
pub fn preset_names() -> impl ExactSizeIterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The machine of that name, if it comes with the program.
pub fn preset(name: &str) -> Option<MachineDescription> {
    preset_text(name).map(|text| read_preset(name, text))
}

/// The file of a machine that comes with the program, with its comments.
pub fn preset_text(name: &str) -> Option<&'static str> {
    named(name).map(|(_, text)| text)
}

fn named(name: &str) -> Option<(&'static str, &'static str)> {
    PRESETS.iter().find(|(known, _)| *known == name).copied()
}

/// The machine of a name or in a file. What ends in `.toml` or contains a `/` is a path.
///
/// # Errors
/// No such preset, no such file, or a file that says something impossible.
pub fn load(name_or_path: &str) -> Result<MachineDescription, LoadError> {
    load_text(name_or_path).map(|machine| machine.description)
}

/// A machine with the text of a file that gives it again wherever that is put.
#[derive(Clone, Debug)]
pub struct MachineText {
    /// The machine.
    pub description: MachineDescription,
    /// The file as it was read; if it inherits from a base, written anew with all that it has from there.
    pub text: String,
}

/// The same with the text of its file, which is read once.
///
/// # Errors
/// As for [`load`].
pub fn load_text(name_or_path: &str) -> Result<MachineText, LoadError> {
    if !is_path(name_or_path) {
        let (name, text) = named(name_or_path).ok_or_else(|| unknown(name_or_path))?;
        return Ok(MachineText { description: read_preset(name, text), text: text.to_owned() });
    }
    let text =
        read_text(Path::new(name_or_path)).map_err(|cause| LoadError::Read { path: name_or_path.to_owned(), cause })?;
    let (description, inherits) = read::read(name_or_path, &text, &base::beside(name_or_path))?;
    let text = if inherits { description.to_toml() } else { text };
    Ok(MachineText { description, text })
}

/// Whether it is a path, not the name of a machine that comes with the program.
pub(super) fn is_path(name_or_path: &str) -> bool {
    name_or_path.ends_with(".toml") || name_or_path.contains(['/', std::path::MAIN_SEPARATOR])
}

/// The text of a machine file.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let bytes = files::read_file(path, MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::other(error.utf8_error()))
}

pub(super) fn unknown(name: &str) -> LoadError {
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
