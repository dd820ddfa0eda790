// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the project's program and runs it for other commands.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Input of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunInput {
    /// File of the project, by its path from the root.
    File(String),
    /// Text of a scenario, passed on standard input so that the run contains no path of this machine.
    Text(String),
}

/// Returns the `cargo` that has started this command.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the absolute path of the build directory.
pub(crate) fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    std::path::absolute(&target).unwrap_or(target)
}

/// Builds the program as `cargo build --release` does, and returns its path.
pub(crate) fn build_program(root: &Path) -> Result<PathBuf> {
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

/// Runs a command in the root, with the input as its last argument, and waits for its end.
pub(crate) fn run_to_end(command: &mut Command, root: &Path, input: Option<&RunInput>) -> Result<Output> {
    let text = match input {
        Some(RunInput::File(path)) => {
            command.arg(path);
            None
        }
        Some(RunInput::Text(text)) => {
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

/// Summary of a run, from `fairlab run --json`.
pub(crate) struct SummaryJson(Value);

impl SummaryJson {
    pub(crate) fn from_run(binary: &Path, root: &Path, options: &[&str], input: &RunInput) -> Result<Self> {
        let output = run_to_end(Command::new(binary).args(["run", "--json"]).args(options), root, Some(input))?;
        Ok(Self(serde_json::from_slice(&output.stdout).context("the summary is JSON")?))
    }

    fn value(&self, place: &str) -> Result<&Value> {
        self.0.pointer(place).with_context(|| format!("{place} is missing in the summary"))
    }

    /// Returns a whole number of the summary, by its JSON pointer.
    pub(crate) fn whole(&self, place: &str) -> Result<u64> {
        self.value(place)?.as_u64().with_context(|| format!("{place} is not a whole number"))
    }

    /// Returns a number of the summary, by its JSON pointer.
    pub(crate) fn number(&self, place: &str) -> Result<f64> {
        self.value(place)?.as_f64().with_context(|| format!("{place} is not a number"))
    }

    /// Returns a text of the summary, by its JSON pointer.
    pub(crate) fn text(&self, place: &str) -> Result<&str> {
        self.value(place)?.as_str().with_context(|| format!("{place} is not a text"))
    }
}
