// SPDX-License-Identifier: GPL-2.0-or-later
//! Copy of the workspace that contains mutants.

use super::{Mutant, switches};
use crate::programs::cargo;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages with mutants: their names, and the directories of their sources.
pub(super) const PACKAGES: [(&str, &str); 6] = [
    ("fairlab-measure", "crates/measure"),
    ("fairlab-traces", "crates/traces"),
    ("fairlab-explain", "crates/explain"),
    ("fairlab-findings", "crates/findings"),
    ("fairlab", "crates/cli"),
    ("fairlab-experiment", "crates/experiment"),
];

/// Copy of the workspace in a directory of its own, with its own build directory.
pub(super) struct MutantTree {
    source: PathBuf,
    pub(super) root: PathBuf,
    /// Build directory.
    pub(super) build: PathBuf,
}

impl MutantTree {
    pub(super) fn new(source: &Path, directory: &Path) -> Self {
        Self { source: source.to_owned(), root: directory.join("tree"), build: directory.join("build") }
    }

    /// Copies all files of the workspace that differ from those of the copy.
    fn restore(&self) -> Result<()> {
        let output = Command::new("git").args(["ls-files", "-z"]).current_dir(&self.source).output()?;
        ensure!(output.status.success(), "git ls-files fails in {}", self.source.display());
        for file in String::from_utf8(output.stdout)?.split_terminator('\0') {
            let (from, to) = (self.source.join(file), self.root.join(file));
            let Ok(content) = fs::read(&from) else { continue };
            if fs::read(&to).ok().as_ref() != Some(&content) {
                fs::create_dir_all(to.parent().expect("a file has a directory"))?;
                fs::copy(&from, &to).with_context(|| file.to_owned())?;
            }
        }
        Ok(())
    }

    /// Applies one mutant, without a switch.
    pub(super) fn apply(&self, mutant: &Mutant) -> Result<()> {
        self.restore()?;
        let path = self.root.join(&mutant.file);
        let text = fs::read_to_string(&path).with_context(|| mutant.file.clone())?;
        fs::write(&path, switches::replaced(&text, mutant))?;
        Ok(())
    }

    /// Puts mutants behind switches; the number of a mutant is its index. Returns the numbers of those that
    /// compile.
    pub(super) fn switch(&self, mutants: &[Mutant]) -> Result<BTreeSet<usize>> {
        let mut rejected = BTreeSet::new();
        loop {
            self.restore()?;
            for (_, directory) in PACKAGES {
                let path = self.root.join(directory).join("src/lib.rs");
                fs::write(&path, fs::read_to_string(&path)? + switches::SWITCH)?;
            }
            let mut switched = BTreeSet::new();
            for file in mutants.iter().map(|mutant| &mutant.file).collect::<BTreeSet<_>>() {
                let path = self.root.join(file);
                let text = fs::read_to_string(&path).with_context(|| file.clone())?;
                let is_here = |(id, mutant): &(usize, &Mutant)| mutant.file == *file && !rejected.contains(id);
                let here: Vec<_> = mutants.iter().enumerate().filter(is_here).collect();
                let (text, ids) = switches::with_switches(&text, &here).with_context(|| file.clone())?;
                fs::write(&path, text)?;
                switched.extend(ids);
            }
            let wrong = self.wrong_switches()?;
            if wrong.is_empty() {
                return Ok(switched);
            }
            rejected.extend(wrong);
        }
    }

    /// Returns a command of cargo for the packages of the copy.
    pub(super) fn cargo(&self, command: &str) -> Command {
        let mut cargo = cargo();
        cargo.args([command, "--message-format=json"]).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.build);
        cargo.env("RUSTFLAGS", "--cap-lints=warn -Awarnings");
        cargo.args(PACKAGES.iter().flat_map(|(package, _)| ["--package", package]));
        cargo
    }

    /// Returns the numbers of mutants that do not compile behind their switch. The error is reported in or after
    /// the mutated code.
    fn wrong_switches(&self) -> Result<BTreeSet<usize>> {
        let output = self.cargo("check").output().context("cargo check")?;
        let mut wrong = BTreeSet::new();
        for message in messages(&output.stdout).filter(|message| message["message"]["level"] == "error") {
            let spans = message["message"]["spans"].as_array().into_iter().flatten();
            for span in spans.filter(|span| span["is_primary"] == true) {
                let file = span["file_name"].as_str().unwrap_or_default();
                let text = fs::read_to_string(self.root.join(file)).with_context(|| file.to_owned())?;
                let end = span["byte_end"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(text.len());
                let (before, after) = text.split_at(end.min(text.len()));
                // A match without one of its arms is rejected at its head.
                let is_match = message["message"]["code"]["code"] == "E0004";
                let switch = "crate::mutant(";
                let rest = if is_match { after.split_once(switch) } else { before.rsplit_once(switch) };
                let number = rest.and_then(|(_, rest)| rest.split_once(')'));
                let id = number.and_then(|(number, _)| number.parse().ok());
                wrong.insert(id.with_context(|| format!("{file}: an error before all mutants: {message}"))?);
            }
        }
        ensure!(output.status.success() || !wrong.is_empty(), "cargo check fails without an error of a mutant");
        Ok(wrong)
    }
}

/// Returns the messages that cargo has printed.
pub(super) fn messages(output: &[u8]) -> impl Iterator<Item = Value> {
    output.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}
