// SPDX-License-Identifier: GPL-2.0-or-later
//! Presets, the machines that come with the program, and the lookup of a machine by name or path.

use super::machine::MachineDescription;
use super::{base, read};
use fairlab_workload::files;
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use std::io;
use std::path::Path;

/// Maximum size of a machine file in bytes.
const MAX_BYTES: u64 = 16 << 20;

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each preset, in display order.
        const PRESETS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../machines/", $name, ".toml")))),*];
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
    "epyc-1s-256",
    "laptop-8",
    "uniprocessor",
];

/// Returns all presets.
pub fn presets() -> impl ExactSizeIterator<Item = MachineDescription> {
    PRESETS.iter().map(|(name, text)| read_preset(name, text))
}

/// Returns the names of all presets.
pub fn preset_names() -> impl ExactSizeIterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// Returns the preset of this name.
pub fn preset(name: &str) -> Option<MachineDescription> {
    preset_text(name).map(|text| read_preset(name, text))
}

/// Returns the file of a preset, with its comments.
pub fn preset_text(name: &str) -> Option<&'static str> {
    find_preset(name).map(|(_, text)| text)
}

fn find_preset(name: &str) -> Option<(&'static str, &'static str)> {
    PRESETS.iter().find(|(known, _)| *known == name).copied()
}

/// Parses the text of a machine file; `file` is its name in messages. A base must be a preset.
///
/// # Errors
/// The first error, with its line and a hint.
pub fn parse(file: &str, text: &str) -> Result<MachineDescription, Message> {
    read::read(file, text, &base::resolve_preset).map(|(machine, _)| machine)
}

/// Loads a machine by preset name or path. A text that ends in `.toml` or contains a `/` is a path.
///
/// # Errors
/// An unknown preset, an unreadable file, or an invalid file.
pub fn load(name_or_path: &str) -> Result<MachineDescription, Message> {
    load_text(name_or_path).map(|machine| machine.description)
}

/// A machine with the text of a file that describes it and does not depend on other files.
#[derive(Clone, Debug)]
pub struct MachineText {
    /// Validated description of the machine.
    pub description: MachineDescription,
    /// The file as it was read. If it inherits from a base, a new file that contains the inherited parts.
    pub text: String,
}

/// Loads a machine by preset name or path, with the text of its file, which is read once.
///
/// # Errors
/// As for [`load`].
pub fn load_text(name_or_path: &str) -> Result<MachineText, Message> {
    if !is_path(name_or_path) {
        let (name, text) = find_preset(name_or_path).ok_or_else(|| unknown_error(name_or_path))?;
        return Ok(MachineText { description: read_preset(name, text), text: text.to_owned() });
    }
    let text = read_text(Path::new(name_or_path)).map_err(|cause| unreadable_error(name_or_path, &cause))?;
    let (description, inherits) = read::read(name_or_path, &text, &base::resolver_beside(name_or_path))?;
    let text = if inherits { description.to_toml() } else { text };
    Ok(MachineText { description, text })
}

/// Whether the text is a path and not the name of a preset.
pub(super) fn is_path(name_or_path: &str) -> bool {
    name_or_path.ends_with(".toml") || name_or_path.contains(['/', std::path::MAIN_SEPARATOR])
}

/// Reads the text of a machine file.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let bytes = files::read_file(path, MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::other(error.utf8_error()))
}

/// Returns the error about a file that cannot be read.
pub(super) fn unreadable_error(path: &str, cause: &io::Error) -> Message {
    let message = Message::in_file(path, format!("cannot be read: {cause}"));
    message.with_help("give the path of a machine file, or a preset's name")
}

/// Returns the error about a name that is neither a preset nor a path. Its remedy has similar names, or all names.
pub(super) fn unknown_error(name: &str) -> Message {
    let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
    let is_file = Path::new(name).is_file();
    let path = if is_file { format!(" For the file of that name write `./{name}`.") } else { String::new() };
    let names = suggest::help(name, "machines", &names);
    let help = format!("{names}.{path} A path ends in `.toml` or contains a `/`.");
    Message::new(format!("there is no machine `{name}`")).with_help(help)
}

fn read_preset(name: &str, text: &str) -> MachineDescription {
    let read = parse(&format!("machines/{name}.toml"), text);
    read.unwrap_or_else(|error| panic!("a preset is valid, which a test checks: {error}"))
}
