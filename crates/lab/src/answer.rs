// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers to a page.

use crate::lessons::{DerivedAnswer, Lesson};
use fairlab_explain::Explanation;
use fairlab_measure::measured_run::MeasuredRun;
use fairlab_measure::summary::RunSummary;
use fairlab_report::{PageDetails, PageFinding, PageThread};
use fairlab_run::first_difference::Parting;
use fairlab_run::result::RunResult;
use fairlab_workload::message::Message;
use serde::Serialize;
use std::collections::BTreeMap;

/// Answer to a request: JSON, and data of the timeline as bytes.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// An [`AnswerJson`].
    pub json: String,
    /// New segments of the timeline, for a step; see [`fairlab_report::TimelinePart::segments`].
    pub segments: Vec<u8>,
    /// Lags of tasks, for the last step of a run.
    pub lags: Vec<u8>,
    /// Averages of CPUs over time, for the last step of a run; see [`fairlab_report::PageCollector::series`].
    pub series: Vec<u8>,
    /// Saved trace.
    pub trace: Vec<u8>,
}

/// JSON part of an answer.
#[derive(Debug, Serialize)]
pub struct AnswerJson {
    /// Number of the run or pair that the request named.
    pub run: Option<u32>,
    /// Answer to the request, or an error.
    #[serde(flatten)]
    pub content: Content,
}

/// Answer to one kind of request.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Workload and machine are valid. Assumptions and warnings are sentences.
    Checked {
        assumptions: Vec<String>,
        warnings: Vec<String>,
    },
    Opened(Opened),
    Part(Part),
    Closed {},
    Saved {},
    Measured(Box<MeasuredRun<RunSummary>>),
    Explained(Explanation),
    /// `None` if every CPU runs the same tasks of the workload at all times.
    Difference(Option<Parting>),
    Lessons(Vec<Lesson>),
    Derived(Box<DerivedAnswer>),
    /// The request could not be answered.
    Error(Message),
}

/// Run that is ready to be advanced.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct Opened {
    pub workload: String,
    pub machine: String,
    pub kernel: String,
    /// Longest simulated time of the run.
    pub length_ns: u64,
    pub nr_cpus: usize,
    /// State of each feature and value of each tunable at the start of the run.
    pub features: BTreeMap<String, bool>,
    pub tunables: BTreeMap<String, i64>,
    /// Options of `fairlab run` that repeat the settings.
    pub options: Vec<String>,
    pub assumptions: Vec<String>,
    pub warnings: Vec<String>,
}

/// Progress of a run since the previous step.
#[derive(Debug, Serialize)]
pub struct Part {
    /// Simulated time from the start of the run.
    pub at_ns: u64,
    /// Whether the segments of this part replace all earlier ones.
    pub is_restart: bool,
    /// Segments that together are no longer than this are merged; 0 if none is.
    pub resolution_ns: u64,
    /// Threads that did not exist at the previous step.
    pub threads: Vec<PageThread>,
    /// Result, with the last part of a run.
    pub ended: Option<Box<Ended>>,
}

/// Result of a run that has ended.
#[derive(Debug, Serialize)]
pub struct Ended {
    /// Result as workers report it.
    #[serde(flatten)]
    pub result: RunResult,
    /// Findings, the worst first.
    pub findings: Vec<PageFinding>,
    /// Data below the timeline.
    pub details: PageDetails,
}

impl Answer {
    /// Returns an answer without bytes.
    pub(crate) fn new(run: Option<u32>, content: Content) -> Self {
        let json = serde_json::to_string(&AnswerJson { run, content }).expect("an answer is valid JSON");
        Self { json, ..Self::default() }
    }
}
