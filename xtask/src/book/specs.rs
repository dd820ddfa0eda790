// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of commands, as fairlab itself reads their arguments: the example `specs` of the crate `fairlab` prints them.

use crate::programs;
use anyhow::{Context, Result, ensure};
use fairlab_run::spec::RunSpec;
use serde::Deserialize;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Directories that commands of the book name.
const DIRECTORIES: [&str; 3] = ["scenarios", "machines", "lessons"];

/// Runs of a command.
#[derive(Debug, Deserialize)]
pub(super) struct CommandSpecs {
    /// Run of each arm; with repetitions, the first one.
    pub(super) specs: Vec<RunSpec>,
    /// Whether each arm runs several times.
    pub(super) is_repeated: bool,
}

/// Reader of the commands of one page, in a directory with the files of the page.
pub(super) struct SpecReader<'a> {
    program: &'a Path,
    directory: TempDir,
}

/// Builds the program that prints the runs of a command, and returns its path.
pub(super) fn build_program(root: &Path) -> Result<PathBuf> {
    let status = programs::cargo()
        .args(["build", "--quiet", "--locked", "--package", "fairlab", "--example", "specs"])
        .current_dir(root)
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "the example `specs` of the crate `fairlab` cannot be built");
    Ok(programs::target(root).join("debug/examples/specs"))
}

impl<'a> SpecReader<'a> {
    pub(super) fn new(root: &Path, program: &'a Path) -> Result<Self> {
        let directory = tempfile::tempdir().context("a temporary directory cannot be made")?;
        for name in DIRECTORIES {
            symlink(root.join(name), directory.path().join(name)).context(name)?;
        }
        Ok(Self { program, directory })
    }

    /// Writes a file of the page.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<()> {
        fs::write(self.directory.path().join(name), text).with_context(|| name.to_owned())
    }

    /// Returns the runs of a command, or the error that fairlab reports.
    pub(super) fn read(&self, command: &str) -> Result<Result<CommandSpecs, String>> {
        let Some(words) = shlex::split(command) else { return Ok(Err("its quotes do not match".to_owned())) };
        let mut program = Command::new(self.program);
        program.args(&words[1..]).current_dir(self.directory.path()).stdin(std::process::Stdio::null());
        let output = program.output().with_context(|| self.program.display().to_string())?;
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).map(Ok).context("specs are JSON");
        }
        let error = String::from_utf8_lossy(&output.stderr);
        Ok(Err(error.lines().next().unwrap_or_default().to_owned()))
    }
}
