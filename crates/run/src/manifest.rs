// SPDX-License-Identifier: GPL-2.0-or-later
//! Manifest of a run: its spec and its result. [`crate::run_directory`] writes the directory that holds it
//! with copies of the inputs.

use crate::error::RequestError;
use crate::input::{InputFile, MAX_BYTES};
use crate::spec::{self, RunSpec, WorkloadSpec};
use crate::values::{CostSource, Starts};
use fairlab_measure::summary::Settling;
use fairlab_workload::message::Message;
use fairlab_workload::{files, sha256};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// File name of the manifest in a run directory.
pub const MANIFEST: &str = "manifest.json";
/// File name of the summary in a run directory.
pub const SUMMARY: &str = "summary.json";

/// Name and version of the JSON form of a [`Manifest`].
pub const SCHEMA: &str = "manifest/2";
/// Version before a manifest had a spec.
const FORMER_SCHEMA: &str = "manifest/1";

/// Inputs, settings and result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Name and version of this format: `manifest/2`.
    pub schema: String,
    /// Version of fairlab that executed the run.
    pub fairlab: String,
    /// Command as it was given.
    pub command: Vec<String>,
    /// The run; inputs name their copies in the run directory.
    pub spec: RunSpec,
    /// Result of the run.
    pub result: ManifestResult,
}

/// Result of a run, by which a repetition is checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestResult {
    /// Kind of the workload: `scenario`, `rt-app`, `recorded`, or the name of a benchmark.
    pub kind: String,
    /// Name of the machine; `scenario` for one that a scenario describes.
    pub machine: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Compiled-kernel engine, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<ManifestEngine>,
    /// Values of all scheduler features; empty for a compiled-kernel engine, which has those of its tree.
    pub features: BTreeMap<String, bool>,
    /// Values of all tunables; empty for a compiled-kernel engine.
    pub tunables: BTreeMap<String, i64>,
    /// Length of the run, in nanoseconds.
    pub duration_ns: u64,
    /// Requested length in nanoseconds of a run that was stopped earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short_of_ns: Option<u64>,
    /// End of a warm-up that lasted until the run had settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settling: Option<Settling>,
    /// Digest over all events of the scheduler: equal inputs give equal digests.
    pub digest: String,
    /// Number of simulation events of the machine.
    pub events: u64,
    /// Other files that the run wrote to its directory.
    #[serde(default)]
    pub files: Vec<String>,
}

/// Compiled-kernel engine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ManifestEngine {
    /// Name under which the engine was built.
    pub name: String,
    /// Version of the kernel tree.
    pub version: String,
    /// Source of the kernel tree.
    pub source: String,
    /// File names of the patches on top of the tree.
    pub patches: Vec<String>,
    /// Digest of everything that the engine was built from.
    pub key: String,
}

/// A spec in a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpecFile {
    /// Name and version of this format: `spec/1`.
    pub schema: String,
    /// Behaviour of the tasks.
    pub workload: WorkloadSpec,
    /// Settings that differ from the defaults.
    #[serde(default)]
    pub settings: crate::settings::Settings,
}

impl Manifest {
    /// Reads the manifest of a run directory; inputs of its spec get the texts of their copies.
    ///
    /// # Errors
    /// If the directory holds no run, or one of an earlier version of the format, or a copy was changed.
    pub fn read(dir: &Path) -> Result<Self, RequestError> {
        if dir.is_file() {
            let help = "give a directory written by `fairlab run FILE -o DIR`; `fairlab import` and `fairlab findings` read traces";
            return Err(RequestError::Input(
                Message::in_file(dir, "is a file, not a directory of a run").with_help(help),
            ));
        }
        let path = dir.join(MANIFEST);
        let help = "give a directory written by `fairlab run FILE -o DIR`";
        let wrong = |what: &str, cause: &dyn std::fmt::Display| {
            RequestError::Input(Message::in_file(&path, format!("{what}: {cause}")).with_help(help))
        };
        let text = files::read_file(&path, MAX_BYTES).map_err(|error| wrong("cannot be read", &error))?;
        let not_one = |error: serde_json::Error| wrong("is not a manifest of a run", &error);
        let json: Value = serde_json::from_slice(&text).map_err(not_one)?;
        refuse_former(&path, &json)?;
        let mut manifest: Self = serde_json::from_value(json).map_err(not_one)?;
        load_copies(&mut manifest.spec, dir)?;
        Ok(manifest)
    }
}

/// Rejects a manifest without a spec, with the command that repeats its run.
fn refuse_former(path: &Path, json: &Value) -> Result<(), RequestError> {
    if json["schema"] != FORMER_SCHEMA {
        return Ok(());
    }
    let words = json["repeat"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let command = words.collect::<Vec<_>>().join(" ");
    let directory = path.parent().unwrap_or_else(|| Path::new(".")).display();
    Err(RequestError::Input(
        Message::in_file(path, format!("was written by an earlier fairlab, in the format {FORMER_SCHEMA}"))
            .with_help(format!("repeat the run: cd {directory} && {command} -o NEW")),
    ))
}

/// Reads the workload of a run. If it is a spec or a manifest, returns the run in it with the settings on top.
///
/// # Errors
/// If the file cannot be read, or holds a wrong spec.
pub fn resolve(spec: RunSpec) -> Result<RunSpec, RequestError> {
    let WorkloadSpec::File(file) = &spec.workload else { return Ok(spec) };
    let file = file.read_workload()?;
    let name = file.name().to_owned();
    let resolved = match spec_of_json(file.path(), file.text().unwrap_or_default()) {
        Some(inner) => inner?.with_changes(&spec.settings.changes()),
        None => RunSpec { workload: WorkloadSpec::File(file), ..spec },
    };
    if resolved.settings.starts == Starts::Jittered && resolved.settings.seed.is_none() {
        let help = "set a seed too, such as --seed 1";
        return Err(RequestError::Input(
            Message::new(format!("{name}: start times that vary need a seed")).with_help(help),
        ));
    }
    Ok(resolved)
}

/// Returns the spec in a JSON text: a spec file or a manifest; `None` if the text is something else.
///
/// # Errors
/// If it is wrong; `path` is the file, whose folder has the copies and the files that the spec names.
fn spec_of_json(path: &Path, text: &str) -> Option<Result<RunSpec, RequestError>> {
    // Most files are workloads, which may be large.
    if !text.contains("\"schema\"") {
        return None;
    }
    let json: Value = serde_json::from_str(text).ok()?;
    let schema = json.get("schema")?.as_str()?;
    let known = [spec::SCHEMA, SCHEMA, FORMER_SCHEMA];
    if !known.contains(&schema) {
        return None;
    }
    Some(read_spec(path, json))
}

fn read_spec(path: &Path, json: Value) -> Result<RunSpec, RequestError> {
    let wrong = |error: Message| {
        let help = "`fairlab schema spec` describes the format";
        RequestError::Input(error.or_help(help).with_file(&path.display().to_string()))
    };
    refuse_former(path, &json)?;
    let mut spec = if json["schema"] == SCHEMA {
        from_json::<Manifest>(json).map_err(wrong)?.spec
    } else {
        let SpecFile { schema: _, workload, settings } = from_json(json).map_err(wrong)?;
        RunSpec { workload, settings }
    };
    load_copies(&mut spec, path.parent().unwrap_or_else(|| Path::new(".")))?;
    Ok(spec)
}

/// Reads a value from JSON.
///
/// # Errors
/// The path of the wrong member, and why it is wrong.
pub fn from_json<T: DeserializeOwned>(json: Value) -> Result<T, Message> {
    serde_path_to_error::deserialize(json).map_err(|error| Message::from_display(&error.to_string()))
}

/// Gives all inputs of a spec the texts of their copies; one without a copy is in the directory, or as given.
fn load_copies(spec: &mut RunSpec, dir: &Path) -> Result<(), RequestError> {
    for input in inputs_mut(spec) {
        load_copy(input, dir)?;
    }
    Ok(())
}

/// Returns all inputs of a spec.
pub fn inputs_mut(spec: &mut RunSpec) -> impl Iterator<Item = &mut InputFile> {
    let workload = match &mut spec.workload {
        WorkloadSpec::File(file) => Some(file),
        WorkloadSpec::Bench(_) => None,
    };
    let costs = match &mut spec.settings.prices.source {
        Some(CostSource::Of(machine)) => Some(machine),
        _ => None,
    };
    workload.into_iter().chain(spec.settings.machine.as_mut()).chain(costs)
}

fn load_copy(input: &mut InputFile, dir: &Path) -> Result<(), RequestError> {
    let Some(copy) = input.copy.take() else {
        let beside = dir.join(&input.given);
        if input.text().is_none() && beside.is_file() {
            input.given = beside.display().to_string();
        }
        return Ok(());
    };
    let path = dir.join(&copy.path);
    let help = "restore the copy, or repeat the run with -o";
    let wrong = |what: String| RequestError::Input(Message::in_file(&path, what).with_help(help));
    let content = files::read_file(&path, MAX_BYTES).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if sha256::hex_digest(&content) != copy.sha256 {
        return Err(wrong("was changed after the run: its SHA-256 differs from the manifest's".to_owned()));
    }
    let text = String::from_utf8(content).map_err(|_| wrong("is not UTF-8".to_owned()))?;
    *input = InputFile::new(input.given.clone()).with_text(text);
    Ok(())
}
