// SPDX-License-Identifier: GPL-2.0-or-later
//! Saved findings: one folder each, with the scenario, rt-app files, a script, and the data to repeat the
//! check.

use super::check::FuzzCheck;
use crate::values::error::CliError;
use fairlab_fuzz::ingredients::Ingredient;
use fairlab_fuzz::{FuzzFinding, rtapp, scenario};
use fairlab_workload::files;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the scenario file.
pub(super) const CASE: &str = "case.scn";
/// Name of the file with the data to repeat the check.
const FINDING: &str = "finding.json";
/// Largest file of a finding, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Finding with the data to repeat its check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SavedFinding {
    pub(super) property: String,
    pub(super) looked: FuzzCheck,
    pub(super) sentence: String,
    pub(super) worst: f64,
    pub(super) at_ns: u64,
    /// Explanation of the worst moment.
    pub(super) because: Vec<String>,
    pub(super) seed: u64,
    /// Command that found it.
    pub(super) command: String,
}

/// Returns the name of a finding: its property and its ingredients.
pub(super) fn finding_name(property: &str, ingredients: &[Ingredient]) -> String {
    let mut name = property.replace(": ", "-").replace(' ', "-").replace(',', "");
    for ingredient in ingredients {
        name.push('-');
        name.push_str(ingredient.name());
    }
    name
}

/// Writes a finding and returns its folder. Its scenario names the kernel if one is given. An existing folder of an earlier
/// search is not changed.
pub(super) fn write(
    dir: &Path,
    found: &FuzzFinding,
    kept: &SavedFinding,
    kernel: Option<&str>,
) -> Result<PathBuf, CliError> {
    let folder = dir.join(finding_name(&kept.property, &found.ingredients));
    let failed = |path: &Path, error: &std::io::Error| CliError::write(&path.display().to_string(), error);
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    match std::fs::create_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(folder),
        made => made.map_err(|error| failed(&folder, &error))?,
    }
    let about = [format!("{}: {}", kept.property, kept.sentence), format!("found by: {}", kept.command)];
    let mut files = rtapp::files(&found.case);
    let mut add = |name: &str, text: String| files.push(rtapp::RtAppFile { name: name.to_owned(), text });
    add(CASE, scenario::text(&found.case, &about, kernel));
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

/// Reads the findings of a directory: the name, the finding and the text of its scenario.
pub(super) fn read(dir: &Path) -> Result<Vec<(String, SavedFinding, String)>, CliError> {
    let help = "give a directory written by `fairlab fuzz -o DIR`";
    let wrong = |path: &Path, cause: &dyn std::fmt::Display| {
        CliError::Input(Message::in_file(path, cause.to_string()).with_help(help))
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
        let kept: SavedFinding = serde_json::from_str(&text_of(&path)?).map_err(|error| wrong(&path, &error))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, kept, text_of(&folder.join(CASE))?))
    };
    folders.into_iter().map(read).collect()
}
