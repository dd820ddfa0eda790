// SPDX-License-Identifier: GPL-2.0-or-later
//! Findings that are kept: a folder each, with the scenario, files for rt-app with a script, and what is needed to look again.

use super::check::CheckedCase;
use crate::error::CliError;
use fairlab_machine::files;
use fairlab_study::fuzz::ingredients::Ingredient;
use fairlab_study::fuzz::{FuzzFinding, rtapp, scenario};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The scenario.
pub(super) const CASE: &str = "case.scn";
/// What is needed to look again.
const FINDING: &str = "finding.json";
/// The largest file of a finding.
const MAX_BYTES: u64 = 1 << 20;

/// What is needed to look again, and what was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptFinding {
    pub(super) property: String,
    pub(super) looked: CheckedCase,
    pub(super) sentence: String,
    pub(super) worst: f64,
    pub(super) at_ns: u64,
    /// What `explain` says of the worst moment.
    pub(super) because: Vec<String>,
    pub(super) seed: u64,
    /// The command that found it.
    pub(super) command: String,
}

/// What a finding is called: its property and what it is made of.
pub(super) fn name_of(property: &str, ingredients: &[Ingredient]) -> String {
    let mut name = property.replace(": ", "-").replace(' ', "-").replace(',', "");
    for ingredient in ingredients {
        name.push('-');
        name.push_str(ingredient.name());
    }
    name
}

/// Writes a finding; gives its folder. One that is there already, from an earlier search, stays as it is.
pub(super) fn write(dir: &Path, found: &FuzzFinding, kept: &KeptFinding) -> Result<PathBuf, CliError> {
    let folder = dir.join(name_of(&kept.property, &found.ingredients));
    let failed = |path: &Path, error: &std::io::Error| CliError::write(&path.display().to_string(), error);
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    match std::fs::create_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(folder),
        made => made.map_err(|error| failed(&folder, &error))?,
    }
    let about = [format!("{}: {}", kept.property, kept.sentence), format!("found by: {}", kept.command)];
    let mut files = rtapp::files(&found.case);
    let mut add = |name: &str, text: String| files.push(rtapp::RtAppFile { name: name.to_owned(), text });
    add(CASE, scenario::text(&found.case, &about));
    add("run.sh", rtapp::script(&found.case, &about));
    let json = serde_json::to_string_pretty(kept).expect("it is JSON");
    add(FINDING, format!("{json}\n"));
    for file in files {
        let path = folder.join(&file.name);
        std::fs::write(&path, file.text).map_err(|error| failed(&path, &error))?;
        #[cfg(unix)]
        if file.name == "run.sh" {
            use std::os::unix::fs::PermissionsExt;
            let _ = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755));
        }
    }
    Ok(folder)
}

/// The findings of a directory, by name: each with the text of its scenario.
pub(super) fn read(dir: &Path) -> Result<Vec<(String, KeptFinding, String)>, CliError> {
    let help = "give a directory that `fairlab fuzz -o DIR` has written";
    let wrong = |path: &Path, cause: &dyn std::fmt::Display| {
        CliError::Input(format!("{}: {cause}\nhelp: {help}", path.display()))
    };
    let entries = std::fs::read_dir(dir).map_err(|error| wrong(dir, &error))?;
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(|error| wrong(dir, &error)))
        .collect::<Result<_, _>>()?;
    folders.retain(|folder| folder.join(FINDING).is_file());
    folders.sort();
    if folders.is_empty() {
        return Err(wrong(dir, &"has no findings"));
    }
    let text_of = |path: &Path| {
        let bytes = files::read_file(path, MAX_BYTES).map_err(|error| wrong(path, &error))?;
        String::from_utf8(bytes).map_err(|error| wrong(path, &error))
    };
    let read = |folder: PathBuf| {
        let path = folder.join(FINDING);
        let kept: KeptFinding = serde_json::from_str(&text_of(&path)?).map_err(|error| wrong(&path, &error))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, kept, text_of(&folder.join(CASE))?))
    };
    folders.into_iter().map(read).collect()
}
