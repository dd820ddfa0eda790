// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers requests: the runs in progress, and the functions behind each request.

use crate::answer::{Answer, Content};
use crate::catalogue;
use crate::lessons::{Lesson, derive};
use crate::live::LiveRun;
use crate::repetition::run_repetition;
use crate::request::Request;
use crate::saved_trace::perfetto_trace;
use fairlab_explain::Question;
use fairlab_run::error::RequestError;
use fairlab_run::explain::explain_moment;
use fairlab_run::first_difference::{Parting, first_difference};
use fairlab_run::prepare::prepare;
use fairlab_run::spec::RunSpec;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use std::collections::BTreeMap;

/// Service of a page: runs in progress by the page's number.
#[derive(Default)]
pub struct LabService {
    runs: BTreeMap<u32, Box<LiveRun>>,
}

impl LabService {
    /// Answers a request in JSON. An error is an answer too.
    ///
    /// # Panics
    ///
    /// On [`Request::Panic`], which a page sends only in tests.
    pub fn ask(&mut self, request: &str) -> Answer {
        let request: Request = match serde_json::from_str(request) {
            Ok(request) => request,
            Err(error) => return Answer::new(None, Content::Error(Message::new(error.to_string()).about("request"))),
        };
        let run = request.run();
        self.answer(request).unwrap_or_else(|error| Answer::new(run, Content::Error(error.into())))
    }

    fn answer(&mut self, request: Request) -> Result<Answer, RequestError> {
        let number = request.run();
        let content = match request {
            Request::Catalogue {} => {
                let json = format!(r#"{{"run":null,"catalogue":{}}}"#, catalogue::GENERATED);
                return Ok(Answer { json, ..Answer::default() });
            }
            Request::Check { spec, .. } => check(&spec)?,
            Request::Open { run, spec } => {
                self.runs.remove(&run);
                let live = Box::new(LiveRun::open(&spec)?);
                let opened = live.opened();
                self.runs.insert(run, live);
                Content::Opened(opened)
            }
            Request::Step { run, until_ns } => return self.step(run, Nanos(until_ns)),
            Request::Close { run } => {
                self.runs.remove(&run);
                Content::Closed {}
            }
            Request::Measure { spec, seed, .. } => Content::Measured(Box::new(run_repetition(&spec, seed)?)),
            Request::SaveTrace { spec, .. } => {
                let trace = perfetto_trace(&spec)?;
                return Ok(Answer { trace, ..Answer::new(number, Content::Saved {}) });
            }
            Request::Explain { spec, question, at_ns, .. } => explain(&spec, &question, Nanos(at_ns))?,
            Request::Difference { specs, .. } => {
                let difference = first_difference(specs.each_ref(), &mut |_, _| true)?;
                Content::Difference(difference.map(Parting::from))
            }
            Request::Lessons {} => Content::Lessons(Lesson::all()),
            Request::Derive { lesson, .. } => {
                let unknown = || RequestError::Input(Message::new(format!("unknown lesson `{lesson}`")));
                Content::Derived(Box::new(derive(&Lesson::from_name(&lesson).ok_or_else(unknown)?)?))
            }
            Request::Panic {} => panic!("a test has requested a panic"),
        };
        Ok(Answer::new(number, content))
    }

    fn step(&mut self, run: u32, until: Nanos) -> Result<Answer, RequestError> {
        let live = self.runs.remove(&run).ok_or_else(|| {
            RequestError::Input(Message::new(format!("run {run} is not in progress")).with_help("open it first"))
        })?;
        let (live, progress) = live.step(until)?;
        if let Some(live) = live {
            self.runs.insert(run, live);
        }
        let answer = Answer::new(Some(run), Content::Part(progress.part));
        Ok(Answer { segments: progress.segments, lags: progress.lags, series: progress.series, ..answer })
    }
}

fn check(spec: &RunSpec) -> Result<Content, RequestError> {
    let run = prepare(spec)?.with_whole_workload()?.boot()?;
    let workload = run.machine.workload();
    let (assumptions, warnings) = (workload.assumptions.clone(), workload.warnings.clone());
    Ok(Content::Checked { assumptions, warnings })
}

fn explain(spec: &RunSpec, question: &Question, at: Nanos) -> Result<Content, RequestError> {
    let mut machine = prepare(spec)?.with_whole_workload()?.boot()?.machine;
    Ok(Content::Explained(explain_moment(&mut machine, question, at)?))
}
