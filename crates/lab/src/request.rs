// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests of a page.

use fairlab_explain::Question;
use fairlab_run::spec::RunSpec;
use serde::{Deserialize, Serialize};

/// Request of a page. Numbers of runs are the page's own; an answer has the number of its request.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// List machines, kernels, features and tunables.
    Catalogue {},
    /// Read workload and machine, and report what is wrong.
    Check { run: u32, spec: RunSpec },
    /// Prepare a run. A run of this number that has not ended is dropped.
    Open { run: u32, spec: RunSpec },
    /// Advance a run at least to a time, in ns from its start, or to its end.
    Step { run: u32, until_ns: u64 },
    /// Drop a run.
    Close { run: u32 },
    /// Run a spec to its end, as a repetition of `fairlab compare` with this seed.
    Measure { run: u32, spec: RunSpec, seed: u64 },
    /// Run a spec to its end, for its trace in the format of Perfetto.
    SaveTrace { run: u32, spec: RunSpec },
    /// Explain a moment of a run, in ns from its start.
    Explain { run: u32, spec: RunSpec, question: Question, at_ns: u64 },
    /// Search the first difference of two runs. `run` is the number of the pair.
    Difference { run: u32, specs: Box<[RunSpec; 2]> },
    /// List the lessons, without their answers.
    Lessons {},
    /// Run both arms of a lesson and derive its answer.
    Derive { run: u32, lesson: String },
    /// Panic, for tests of a page.
    Panic {},
}

impl Request {
    /// Returns the number of the run or pair, if the request has one.
    pub const fn run(&self) -> Option<u32> {
        match *self {
            Self::Catalogue {} | Self::Lessons {} | Self::Panic {} => None,
            Self::Check { run, .. }
            | Self::Open { run, .. }
            | Self::Step { run, .. }
            | Self::Close { run }
            | Self::Measure { run, .. }
            | Self::SaveTrace { run, .. }
            | Self::Explain { run, .. }
            | Self::Difference { run, .. }
            | Self::Derive { run, .. } => Some(run),
        }
    }
}
