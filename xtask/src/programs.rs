// SPDX-License-Identifier: GPL-2.0-or-later
//! The project's program as chores use it: building it, and asking it for the results of a run.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A file of the project, by its path from the root.
    File(String),
    /// The text of a scenario, on standard input: then no path of this machine is part of the run.
    Text(String),
}

/// The `cargo` that has started this chore.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Where builds lie, as an absolute path.
pub(crate) fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    std::path::absolute(&target).unwrap_or(target)
}

/// Builds the program as `cargo build --release` does, and returns its path.
pub(crate) fn plain(root: &Path) -> Result<PathBuf> {
    let status = cargo()
        .args(["build", "--release", "--quiet", "--locked", "--package", "fairlab"])
        .current_dir(root)
        .status()
        .context("cargo build")?;
    if !status.success() {
        bail!("the release build fails");
    }
    Ok(target(root).join("release/fairlab"))
}

/// Starts a command in the root with an input as its last argument, and waits for its end.
pub(crate) fn finish(command: &mut Command, root: &Path, input: Option<&Input>) -> Result<Output> {
    let text = match input {
        Some(Input::File(path)) => {
            command.arg(path);
            None
        }
        Some(Input::Text(text)) => {
            command.arg("-");
            Some(text)
        }
        None => None,
    };
    let stdin = if text.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = command
        .current_dir(root)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{command:?}"))?;
    if let (Some(text), Some(mut stdin)) = (text, child.stdin.take()) {
        stdin.write_all(text.as_bytes()).with_context(|| format!("{command:?}: its standard input"))?;
    }
    let output = child.wait_with_output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}

/// The summary of a run, from `fairlab run --json`.
pub(crate) struct Summary(Value);

impl Summary {
    pub(crate) fn of(binary: &Path, root: &Path, input: &Input) -> Result<Self> {
        let output = finish(Command::new(binary).args(["run", "--json"]), root, Some(input))?;
        Ok(Self(serde_json::from_slice(&output.stdout).context("the summary is JSON")?))
    }

    fn value(&self, place: &str) -> Result<&Value> {
        self.0.pointer(place).with_context(|| format!("the summary has no {place}"))
    }

    /// A whole number of the summary, by its JSON pointer.
    pub(crate) fn whole(&self, place: &str) -> Result<u64> {
        self.value(place)?.as_u64().with_context(|| format!("{place} is no whole number"))
    }

    /// A number of the summary, by its JSON pointer.
    pub(crate) fn number(&self, place: &str) -> Result<f64> {
        self.value(place)?.as_f64().with_context(|| format!("{place} is no number"))
    }

    /// A text of the summary, by its JSON pointer.
    pub(crate) fn text(&self, place: &str) -> Result<&str> {
        self.value(place)?.as_str().with_context(|| format!("{place} is no text"))
    }
}
