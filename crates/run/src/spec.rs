// SPDX-License-Identifier: GPL-2.0-or-later
//! Spec of a run: a workload or a benchmark, and settings.

use crate::input::InputFile;
use crate::settings::{Change, Settings};
use fairlab_workload::bench::Benchmark;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form of a [`RunSpec`].
pub const SCHEMA: &str = "spec/1";

/// A run: everything on which its result depends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Behaviour of the tasks.
    pub workload: WorkloadSpec,
    /// Settings that differ from the defaults of kernel, machine and workload.
    #[serde(default)]
    pub settings: Settings,
}

/// Workload of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadSpec {
    /// Scenario, rt-app file or recorded workload.
    File(InputFile),
    /// Model of a benchmark.
    Bench(BenchSpec),
}

/// Benchmark of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchSpec {
    /// Benchmark and options as they were given, for results and messages.
    pub line: String,
    /// The benchmark.
    #[schemars(with = "serde_json::Value")]
    pub benchmark: Benchmark,
}

impl RunSpec {
    /// Returns a run with default settings.
    pub fn new(workload: WorkloadSpec) -> Self {
        Self { workload, settings: Settings::default() }
    }

    /// Returns the run with a seed.
    #[must_use]
    pub fn with_seed(mut self, seed: Option<u64>) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Returns the run with changes on top of its settings.
    #[must_use]
    pub fn with_changes<'a>(self, changes: impl IntoIterator<Item = &'a Change>) -> Self {
        Self { settings: self.settings.with_changes(changes), ..self }
    }
}

impl WorkloadSpec {
    /// Name for results and messages: that of the file, or the benchmark's line.
    pub fn name(&self) -> &str {
        match self {
            Self::File(file) => file.name(),
            Self::Bench(bench) => &bench.line,
        }
    }
}
