// SPDX-License-Identifier: GPL-2.0-or-later
//! Answer of a lesson, derived from runs of both arms.

use super::{Lesson, value_text};
use fairlab_run::drive::drive;
use fairlab_run::error::RequestError;
use fairlab_run::explain::explain_moment;
use fairlab_run::first_difference::{Parting, first_difference};
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::{ReadyRun, prepare};
use fairlab_run::result::RunResult;
use fairlab_run::spec::RunSpec;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use serde::Serialize;
use serde_json::Value;

/// Answer of a lesson, with the values and sentences from which it follows. Lists have an entry for each arm.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DerivedAnswer {
    /// Name of the lesson.
    pub lesson: String,
    /// The choice that the runs make the answer.
    pub answer: String,
    /// Path of the metric in the result of a run.
    pub metric: String,
    /// Unit of the metric: `ns`, `uJ` or an empty text for a count.
    pub unit: String,
    /// Values of the metric.
    pub values: [f64; 2],
    /// Values with their unit.
    pub texts: [String; 2],
    /// Digests of the runs.
    pub digests: [String; 2],
    /// First difference in ns from the start of the run; absent if every CPU runs the same tasks at all times.
    pub first_difference_ns: Option<u64>,
    /// First difference as a sentence.
    pub difference: Option<String>,
    /// Explained moment in ns from the start of the run.
    pub explained_ns: u64,
    /// Sentences of the explanation.
    pub reasons: [Vec<String>; 2],
    /// Rule of the kernel, from the lesson.
    pub rule: String,
}

/// Runs both arms of a lesson and derives its answer.
///
/// # Errors
/// If a run fails, or has no value of the metric.
pub fn derive(lesson: &Lesson) -> Result<DerivedAnswer, RequestError> {
    let [a, b] = &lesson.specs;
    let results = [result(a)?, result(b)?];
    let [a, b] = &results;
    let values = [value(lesson, a)?, value(lesson, b)?];
    let difference = first_difference(lesson.specs.each_ref(), &mut |_, _| true)?;
    let first_difference_ns = difference.as_ref().map(|difference| difference.at_ns);
    let sentence = difference.as_ref().map(|difference| {
        let [a, b] = &difference.runs;
        let (at, task) = (Nanos(difference.at_ns), &difference.task);
        format!("First difference at {at}, task {task}: arm A {}, arm B {}.", a.clause(), b.clause())
    });
    let at = lesson.reason.as_ref().and_then(|reason| reason.moment()).or_else(|| first_difference_ns.map(Nanos));
    let at = at.ok_or_else(|| failed(lesson, "the arms run the same tasks at all times, so `at` has to be set"))?;
    let reasons = match (&lesson.reason, difference) {
        (Some(reason), _) => {
            let explain = |spec: &RunSpec| {
                let mut machine = prepare(spec)?.with_whole_workload()?.boot()?.machine;
                let explanation = explain_moment(&mut machine, &reason.question, at)?;
                Ok(explanation.sentences().map(str::to_owned).collect())
            };
            let [a, b] = &lesson.specs;
            [explain(a)?, explain(b)?]
        }
        (None, difference) => difference.map(Parting::from).map(|parting| parting.decisions).unwrap_or_default(),
    };
    Ok(DerivedAnswer {
        lesson: lesson.name.clone(),
        answer: lesson.choices[lesson.choice_of(values)].clone(),
        metric: lesson.metric.clone(),
        unit: lesson.unit.to_owned(),
        values,
        texts: values.map(|value| value_text(value, lesson.unit)),
        digests: results.each_ref().map(|result| result["digest"].as_str().unwrap_or_default().to_owned()),
        first_difference_ns,
        difference: sentence,
        explained_ns: at.0,
        reasons,
        rule: lesson.rule.clone(),
    })
}

/// Runs a spec and returns its result as `fairlab run --json` prints it.
fn result(spec: &RunSpec) -> Result<Value, RequestError> {
    let ReadyRun { mut machine, about, bench } = prepare(spec)?.with_whole_workload()?.boot()?;
    let length = machine.duration();
    let mut observers = RunObservers { bench, ..RunObservers::for_summary(&machine) };
    let driven = drive(&mut machine, &mut observers, about.warmup, &mut |_| true);
    driven.map_err(|error| RequestError::Run(error.into()))?;
    let result = RunResult::new(&machine, observers, &about, length);
    Ok(serde_json::to_value(result.summary).expect("a summary is valid JSON"))
}

fn value(lesson: &Lesson, result: &Value) -> Result<f64, RequestError> {
    let numbers = lesson.path.numbers(result).map_err(|error| failed(lesson, error.text))?;
    match numbers[..] {
        [] => Err(failed(lesson, "a run has no value of its metric")),
        _ => Ok(numbers.iter().sum()),
    }
}

fn failed(lesson: &Lesson, problem: impl Into<String>) -> RequestError {
    RequestError::Run(Message::new(problem).about(format!("lesson {}", lesson.name)))
}
