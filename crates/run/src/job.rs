// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to a worker process, as JSON on its standard input. A worker runs one compiled-kernel engine.

use crate::settings::Settings;
use crate::spec::RunSpec;
use fairlab_machine::engine::{Engine, FeatureState, TunableState};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Request to a worker process.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Job {
    /// Run it and write its files; the answer is a [`crate::result::RunResult`].
    Run { spec: RunSpec, outputs: RunOutputs },
    /// Run it with the engine's accounting checked at every tick.
    Check { spec: RunSpec },
    /// Boot it, and answer with the features and tunables of the kernel at its start: [`SwitchStates`].
    Switches { spec: RunSpec },
    /// Run it, and answer with the data of its page in a report and its digest.
    Page { spec: RunSpec, name: String },
    /// Run it, and write every event as a line of JSON to standard output.
    Trace { spec: RunSpec },
    /// Run it up to a time on the machine's clock, and answer with the state of CPUs and tasks.
    State { spec: RunSpec, until_ns: u64 },
    /// Answer with the functions that each call of the kernel enters at a time on the machine's clock.
    Calls { spec: RunSpec, at_ns: u64 },
    /// Write a line for each call up to a time: its time, and a hash of the entered functions that `beside` also has.
    CallHashes { spec: RunSpec, until_ns: u64, beside: String },
    /// Run a case of a study; the answer is its result as JSON.
    StudyCase(StudyCase),
}

/// Features and tunables of a kernel, in the order in which it declares them.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchStates {
    pub features: Vec<FeatureState>,
    pub tunables: Vec<TunableState>,
}

impl SwitchStates {
    /// Returns the features and tunables of an engine.
    pub fn of(engine: &impl Engine) -> Self {
        Self { features: engine.feature_states(), tunables: engine.tunable_states() }
    }
}

/// Case of a study under an arm with a seed.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyCase {
    pub study: String,
    pub is_quick: bool,
    pub settings: Settings,
    pub case: String,
    pub arm: String,
    pub seed: u64,
}

/// Files and results of a run; the file `-` is standard output.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunOutputs {
    pub summary: bool,
    /// Only the built-in scheduler has findings.
    pub findings: bool,
    pub trace: Option<String>,
    pub event_log: Option<String>,
    /// Whether standard output gets the operation counts of each call.
    pub ops: bool,
    pub exports: Vec<ExportOutput>,
    /// Groups of events in the exports; those that suit the format if empty.
    pub events: Vec<String>,
    /// Only task in the exports, for formats with one file per task.
    pub task: Option<String>,
}

/// Trace in the format of another tool; the file `-` is standard output.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportOutput {
    pub format: String,
    pub file: String,
}

impl RunOutputs {
    /// Returns the outputs of a run that is only summarised.
    pub fn of_summary() -> Self {
        Self { summary: true, ..Self::default() }
    }

    /// Returns the files with relative paths.
    pub fn files(&self) -> Vec<String> {
        let files = self.trace.iter().chain(&self.event_log).chain(self.exports.iter().map(|export| &export.file));
        files.filter(|file| *file != "-" && Path::new(file).is_relative()).cloned().collect()
    }

    /// Whether a trace is written to standard output, which then carries nothing else.
    pub fn is_on_stdout(&self) -> bool {
        let mut files = self.trace.iter().chain(&self.event_log).chain(self.exports.iter().map(|export| &export.file));
        self.ops || files.any(|file| file == "-")
    }
}
