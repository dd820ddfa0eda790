// SPDX-License-Identifier: GPL-2.0-or-later
//! Result of a run that is one of several repetitions, between two programs.

use crate::missing_addition::MissingAddition;
use crate::summary::RunSubject;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Result of a repetition. `S` is the summary: [`crate::summary::RunSummary`] where it is written, and JSON where it is read.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredRun<S> {
    pub subject: RunSubject,
    /// Additions that the workload uses and its kernel does not have. The run does without them.
    pub missing: Vec<MissingAddition>,
    /// Whether kernel code has zero cost on the machine.
    pub has_zero_costs: bool,
    pub summary: S,
    /// Metrics of the benchmark.
    pub bench: Option<Value>,
}

impl MeasuredRun<Value> {
    /// Returns the result as experiments read it: that of `fairlab run --json`, with the metrics of the benchmark as `bench`.
    pub fn into_result(self) -> Value {
        let mut result = self.summary;
        result["bench"] = self.bench.unwrap_or(Value::Null);
        result
    }
}
