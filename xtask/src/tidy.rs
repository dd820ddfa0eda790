// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules for every file: header, length, plain language, names that exist; and the direction in which crates and layers
//! depend.

use crate::{arrows, language, layers};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Header of every source file.
const HEAD: &str = "SPDX-License-Identifier: GPL-2.0-or-later";
/// Largest number of lines of a file; a longer one contains two ideas.
const MAX_LINES: usize = 800;

/// Checks all rules. `commands` are the commands of `cargo xtask`.
pub(crate) fn check(root: &Path, commands: &[String]) -> Result<()> {
    let mut wrong = Vec::new();
    let mut nr_files = 0;
    for path in source_files(root)? {
        nr_files += 1;
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let name = path.strip_prefix(root).expect("found under the root").display().to_string();
        if !text.lines().take(2).any(|line| line.contains(HEAD)) {
            wrong.push(format!("{name}: the head `{HEAD}` is missing"));
        }
        let nr_lines = text.lines().count();
        if nr_lines > MAX_LINES {
            wrong.push(format!("{name}: {nr_lines} lines; at most {MAX_LINES}"));
        }
    }
    wrong.extend(arrows::problems(root)?);
    wrong.extend(layers::problems(root)?);
    wrong.extend(language::problems(root, commands)?);
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("{nr_files} files are tidy");
    Ok(())
}

/// Returns all Rust, TOML and Python sources, ordered by path.
pub(crate) fn source_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders =
        vec![root.join("crates"), root.join("xtask"), root.join("machines"), root.join("studies"), root.join("python")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                let is_test_data = name == "data" && !path.parent().is_some_and(|parent| parent.ends_with("src"));
                if !is_test_data && !["target", "corpus", "artifacts"].contains(&name) {
                    folders.push(path);
                }
            } else if [".rs", ".toml", ".py", ".pyi"].iter().any(|end| name.ends_with(end)) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
