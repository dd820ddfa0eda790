// SPDX-License-Identifier: GPL-2.0-or-later
//! Repeats a run from its directory: reads only the manifest and the copies of inputs.

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

/// Reads the manifest of a run directory.
pub(crate) fn read_manifest(dir: &Path) -> Result<Manifest, CliError> {
    let path = dir.join(MANIFEST);
    let help = "give a directory written by `fairlab run FILE -o DIR`";
    let wrong = |what: &str, cause: &dyn std::fmt::Display| {
        CliError::Input(format!("{}: {what}: {cause}\nhelp: {help}", path.display()))
    };
    let text = files::read_file(&path, input::MAX_BYTES).map_err(|error| wrong("cannot be read", &error))?;
    serde_json::from_slice(&text).map_err(|error| wrong("is not a manifest of a run", &error))
}

/// Returns the files of a run directory that are read to repeat the run.
pub(crate) fn input_files(dir: &Path, manifest: &Manifest) -> Vec<PathBuf> {
    let copies = [Some(&manifest.workload), manifest.machine.as_ref()].into_iter().flatten();
    let mut files: Vec<PathBuf> = copies.map(|input| dir.join(&input.copy)).collect();
    files.extend([MANIFEST, SUMMARY].map(|name| dir.join(name)));
    files
}

/// Prepares the repetition of a run with the built-in scheduler.
pub(crate) fn repeat(dir: &Path, manifest: &Manifest) -> Result<Plan, CliError> {
    let RunInputs { workload, machine, variant, choices } = read(dir, manifest)?;
    Plan::of(workload, machine, &variant, choices)
}

/// Prepares the repetition of a run without a machine, for any engine; also returns its seed.
pub(crate) fn prepare(dir: &Path, manifest: &Manifest) -> Result<(Prepared, Option<u64>), CliError> {
    let RunInputs { workload, machine, variant, choices } = read(dir, manifest)?;
    Ok((Prepared::of(workload, machine, &variant, choices)?, choices.seed))
}

/// Inputs of a run.
struct RunInputs {
    workload: Arc<WorkloadText>,
    machine: Option<MachineText>,
    variant: VariantArgs,
    choices: Choices,
}

/// Reads the inputs from the manifest's command and the copies of files.
fn read(dir: &Path, manifest: &Manifest) -> Result<RunInputs, CliError> {
    let wrong = |cause: &str| {
        let help = "repeat the run with this fairlab: fairlab run FILE -o DIR";
        CliError::Input(format!("{}: {cause}\nhelp: {help}", dir.join(MANIFEST).display()))
    };
    let command = Args::try_parse_from(&manifest.repeat)
        .map_err(|error| wrong(error.to_string().lines().next().unwrap_or("its command cannot be repeated")))?
        .command;
    let Command::Run(run) = command else { return Err(wrong("its command is not `fairlab run`")) };
    let name = |copy: &ManifestInput| dir.join(&copy.copy).display().to_string();
    let workload =
        input::workload_from_bytes(&run.file, name(&manifest.workload), read_unchanged(dir, &manifest.workload)?)?;
    let machine = match &manifest.machine {
        Some(copy) => {
            let text =
                String::from_utf8(read_unchanged(dir, copy)?).map_err(|_| wrong("the machine's file is not UTF-8"))?;
            Some(input::machine_from_text(&name(copy), text)?)
        }
        None => None,
    };
    let RunArgs { variant, seed, vary, perturb, duration, keep_duplicate_keys, .. } = *run;
    let choices = Choices { duration, seed, vary, perturb, keep_duplicate_keys, ..Choices::default() };
    Ok(RunInputs { workload: Arc::new(workload), machine, variant, choices })
}

/// Returns a warning if the digest of a repeated run differs from the manifest's. `beginning` is the start of
/// a sentence about the repeated run, such as `this explains`.
pub(crate) fn digest_warning(
    machine: &Machine<impl Engine>,
    manifest: &Manifest,
    dir: &Path,
    beginning: &str,
) -> Option<String> {
    let digest = machine.digest().to_string();
    (digest != manifest.digest).then(|| {
        format!(
            "the repeated run has digest {digest}, the manifest {} (written by fairlab {}): {beginning} a run that differs from the one in {}",
            manifest.digest,
            manifest.fairlab,
            dir.display()
        )
    })
}

/// Reads the copy of an input and checks that its SHA-256 equals the manifest's.
fn read_unchanged(dir: &Path, copied: &ManifestInput) -> Result<Vec<u8>, CliError> {
    let path = dir.join(&copied.copy);
    let help = "restore the copy, or repeat the run with -o";
    let wrong = |what: String| CliError::Input(format!("{}: {what}\nhelp: {help}", path.display()));
    let content =
        files::read_file(&path, input::MAX_BYTES).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if sha256::hex_digest(&content) == copied.sha256 {
        return Ok(content);
    }
    Err(wrong("was changed after the run: its SHA-256 differs from the manifest's".to_owned()))
}
