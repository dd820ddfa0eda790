// SPDX-License-Identifier: GPL-2.0-or-later
//! A run again, from its directory: nothing but the manifest and the copies of inputs is read.

use crate::args::{Args, Command, RunArgs, VariantArgs};
use crate::error::CliError;
use crate::input::{self, MachineText, WorkloadText};
use crate::plan::{Choices, Plan, Prepared};
use clap::Parser;
use fairlab_machine::engine::Engine;
use fairlab_machine::files;
use fairlab_machine::sim::Machine;
use fairlab_observe::manifest::{MANIFEST, Manifest, ManifestInput, SUMMARY};
use fairlab_observe::sha256;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The manifest of a run.
pub(crate) fn read_manifest(dir: &Path) -> Result<Manifest, CliError> {
    let path = dir.join(MANIFEST);
    let help = "give a directory that `fairlab run FILE -o DIR` has written";
    let wrong = |what: &str, cause: &dyn std::fmt::Display| {
        CliError::Input(format!("{}: {what}: {cause}\nhelp: {help}", path.display()))
    };
    let text = files::read_file(&path, input::MAX_BYTES).map_err(|error| wrong("cannot be read", &error))?;
    serde_json::from_slice(&text).map_err(|error| wrong("is no manifest of a run", &error))
}

/// What is read of a run's directory.
pub(crate) fn files_of(dir: &Path, manifest: &Manifest) -> Vec<PathBuf> {
    let copies = [Some(&manifest.workload), manifest.machine.as_ref()].into_iter().flatten();
    let mut files: Vec<PathBuf> = copies.map(|input| dir.join(&input.copy)).collect();
    files.extend([MANIFEST, SUMMARY].map(|name| dir.join(name)));
    files
}

/// The run again, with the built-in scheduler.
pub(crate) fn repeat(dir: &Path, manifest: &Manifest) -> Result<Plan, CliError> {
    let RepeatedRun { workload, machine, variant, choices } = read(dir, manifest)?;
    Plan::of(workload, machine, &variant, choices)
}

/// The run again, before there is a machine for it; and its seed.
pub(crate) fn prepare(dir: &Path, manifest: &Manifest) -> Result<(Prepared, Option<u64>), CliError> {
    let RepeatedRun { workload, machine, variant, choices } = read(dir, manifest)?;
    Ok((Prepared::of(workload, machine, &variant, choices)?, choices.seed))
}

/// What a run was made of.
struct RepeatedRun {
    workload: Arc<WorkloadText>,
    machine: Option<MachineText>,
    variant: VariantArgs,
    choices: Choices,
}

/// From the command that the manifest keeps for that and the copies of its inputs.
fn read(dir: &Path, manifest: &Manifest) -> Result<RepeatedRun, CliError> {
    let wrong = |cause: &str| {
        let help = "repeat the run with this fairlab: fairlab run FILE -o DIR";
        CliError::Input(format!("{}: {cause}\nhelp: {help}", dir.join(MANIFEST).display()))
    };
    let command = Args::try_parse_from(&manifest.repeat)
        .map_err(|error| wrong(error.to_string().lines().next().unwrap_or("its command cannot be repeated")))?
        .command;
    let Command::Run(run) = command else { return Err(wrong("its command is not `fairlab run`")) };
    let name = |copy: &ManifestInput| dir.join(&copy.copy).display().to_string();
    let workload = input::workload_of(&run.file, name(&manifest.workload), unchanged(dir, &manifest.workload)?)?;
    let machine = match &manifest.machine {
        Some(copy) => {
            let text =
                String::from_utf8(unchanged(dir, copy)?).map_err(|_| wrong("the machine's file is not UTF-8"))?;
            Some(input::machine_of(&name(copy), text)?)
        }
        None => None,
    };
    let RunArgs { variant, seed, vary, perturb, duration, keep_duplicate_keys, .. } = *run;
    let choices = Choices { duration, seed, vary, perturb, keep_duplicate_keys, ..Choices::default() };
    Ok(RepeatedRun { workload: Arc::new(workload), machine, variant, choices })
}

/// Whether a machine that has run again has done what the manifest says; if not, what to warn of. `told` is what comes of the
/// repeated run, such as `this explains`.
pub(crate) fn difference(
    machine: &Machine<impl Engine>,
    manifest: &Manifest,
    dir: &Path,
    told: &str,
) -> Option<String> {
    let digest = machine.digest().to_string();
    (digest != manifest.digest).then(|| {
        format!(
            "the repeated run has digest {digest}, the manifest {} (written by fairlab {}): {told} another run than the one in {}",
            manifest.digest,
            manifest.fairlab,
            dir.display()
        )
    })
}

/// The copy of an input, if it is still what it was.
fn unchanged(dir: &Path, copied: &ManifestInput) -> Result<Vec<u8>, CliError> {
    let path = dir.join(&copied.copy);
    let help = "put the copy back as it was, or run again with -o";
    let wrong = |what: String| CliError::Input(format!("{}: {what}\nhelp: {help}", path.display()));
    let content =
        files::read_file(&path, input::MAX_BYTES).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if sha256::hex_digest(&content) == copied.sha256 {
        return Ok(content);
    }
    Err(wrong("is not what was run: its SHA-256 differs from the manifest's".to_owned()))
}
