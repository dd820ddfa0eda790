// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that test mutants: the tests of the packages, and the small audit.

use super::tree::{MutantTree, PACKAGES, messages};
use crate::audit::small_audit;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a test program; an endless loop counts as found.
const MAX_TIME: Duration = Duration::from_secs(400);

/// Programs that test a build, the quickest first.
pub(super) struct TestPrograms {
    commands: Vec<(String, Command)>,
}

impl TestPrograms {
    /// Builds the tests. Returns `None` if the packages do not compile.
    pub(super) fn build(tree: &MutantTree) -> Result<Option<Self>> {
        let output = tree.cargo("test").args(["--no-run", "--lib", "--bins", "--test", "it"]).output()?;
        if !output.status.success() {
            return Ok(None);
        }
        let (mut commands, mut program) = (Vec::new(), None);
        for message in messages(&output.stdout) {
            let Some(executable) = message["executable"].as_str().map(PathBuf::from) else { continue };
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
            let directory = manifest.parent().context("a package has a directory")?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let name = text(&message["target"]["kind"][0]) + " " + &text(&message["target"]["name"]);
            if message["profile"]["test"] == true {
                let mut command = Command::new(executable);
                command.arg("--quiet").current_dir(directory).env("CARGO_MANIFEST_DIR", directory);
                commands.push((name, command));
            } else if message["target"]["name"] == PACKAGES[1].0 {
                program = Some(executable);
            }
        }
        commands.sort_by_key(|(name, _)| (!name.contains("observe"), name.contains("test"), name.clone()));
        let audit = small_audit(&tree.root, &tree.build, &program.context("the program was not built")?)?;
        commands.insert(commands.len() - 1, ("audit".to_owned(), audit));
        Ok(Some(Self { commands }))
    }

    /// Returns the name of the first test program that fails with a mutant, or with the build as it is.
    pub(super) fn first_failure(&mut self, id: Option<usize>) -> Result<Option<String>> {
        for (name, command) in &mut self.commands {
            command.env("FAIRLAB_MUTANT", id.map_or_else(String::new, |id| id.to_string()));
            if !succeeds(command).with_context(|| name.clone())? {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }
}

/// Runs a test program, and returns whether it succeeds in time.
fn succeeds(command: &mut Command) -> Result<bool> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut child, start) = (command.spawn()?, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > MAX_TIME {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
