// SPDX-License-Identifier: GPL-2.0-or-later
//! Lessons: a workload, a change of arm B, a question, and an answer that follows from runs of both arms.
//!
//! In the directory `lessons`, a TOML file has the texts of a lesson and a scenario its workload. No file has an answer: [`derive`]
//! runs both arms, for the page and for `fairlab lab --check-answers`.

mod derive;
mod saved;

pub use derive::{DerivedAnswer, derive};
pub use saved::{SCHEMA as ANSWERS_SCHEMA, SavedAnswers};

use fairlab_explain::Question;
use fairlab_measure::catalogue::MetricInfo;
use fairlab_measure::path::ResultPath;
use fairlab_run::input::InputFile;
use fairlab_run::settings::{Setting, Settings};
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_sched::units::Nanos;
use fairlab_workload::time::parse_moment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Descriptions of all lessons with their workloads, by the names of their files, as `cargo xtask codegen` collects them. They are
/// JSON, since a page reads settings from JSON in any case, and would be larger with a second reader.
const LESSONS: &str = include_str!("lessons.json");

/// Choices of a question about the direction in which a metric changes.
const DIRECTIONS: [&str; 3] = ["falls", "stays", "rises"];
/// Change of a metric, as a part of the larger value, up to which it stays.
const STAYS_WITHIN: f64 = 0.02;

/// Lesson, without its answer.
#[derive(Clone, Debug, Serialize)]
pub struct Lesson {
    /// Name: that of its files, without their number.
    pub name: String,
    /// Title.
    pub title: String,
    /// Problem that a published patch solves, if the lesson is the story of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// The rule to learn, one sentence.
    pub lesson: String,
    /// Feature or tunable of arm B, as `fairlab compare --arm` takes it.
    pub change: String,
    /// The question.
    pub question: String,
    /// Path of the metric in the result of a run.
    pub metric: String,
    /// Choices of which one is the answer.
    pub choices: Vec<String>,
    /// Both runs. Their settings differ in the change.
    pub specs: [RunSpec; 2],
    #[serde(skip)]
    path: ResultPath,
    #[serde(skip)]
    unit: &'static str,
    /// Bounds between the choices, if these are ranges of the metric in arm B.
    #[serde(skip)]
    bounds: Vec<f64>,
    #[serde(skip)]
    reason: Option<ReasonSpec>,
    #[serde(skip)]
    rule: String,
}

/// Files of a lesson.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LessonFile {
    title: String,
    published: Option<String>,
    lesson: String,
    change: String,
    question: String,
    metric: String,
    /// Bounds of ranges in the unit of the metric; without them the choices are directions.
    #[serde(default)]
    bounds: Vec<f64>,
    /// Closing sentence, which names the kernel function.
    rule: String,
    /// Settings of both arms.
    #[serde(default)]
    settings: Settings,
    reason: Option<ReasonSpec>,
    /// Text of the scenario.
    workload: String,
}

/// Explanation that shows the cause; without it, the decisions at the first difference do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReasonSpec {
    question: Question,
    /// Moment of the run; without it, that of the first difference.
    at: Option<String>,
}

fn files() -> BTreeMap<String, LessonFile> {
    serde_json::from_str(LESSONS).unwrap_or_else(|error| panic!("lessons: {error}"))
}

impl Lesson {
    /// Returns all lessons.
    ///
    /// # Panics
    /// If the file of a lesson is wrong, which a test excludes.
    pub fn all() -> Vec<Self> {
        files().into_iter().map(|(name, file)| Self::new(&name, file)).collect()
    }

    /// Returns the lesson of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|lesson| lesson.name == name)
    }

    fn new(file: &str, description: LessonFile) -> Self {
        let LessonFile { title, published, lesson, change, question, metric, bounds, rule, settings, reason, workload } =
            description;
        let path = ResultPath::parse(&metric).unwrap_or_else(|error| panic!("lessons/{file}.toml: {error}"));
        let unit = MetricInfo::from_path(&metric).map_or("", |info| info.unit);
        let input = InputFile::new(format!("lessons/{file}.scn")).with_text(workload);
        let arm_a = RunSpec { workload: WorkloadSpec::File(input), settings };
        let kind = if change.contains('=') { "tunables" } else { "features" };
        let setting = Setting::from_name(kind).expect("the catalogue of settings has both");
        let parsed = setting.change(&change).unwrap_or_else(|error| panic!("lessons/{file}.toml: {error}"));
        let specs = [arm_a.clone(), arm_a.with_changes([&parsed])];
        let name = file.split_once('-').map_or(file, |(_, name)| name).to_owned();
        let choices = choices(&bounds, unit);
        Self {
            name,
            title,
            published,
            lesson,
            change,
            question,
            metric,
            choices,
            specs,
            path,
            unit,
            bounds,
            reason,
            rule,
        }
    }

    /// Returns the index of the choice that values of the metric in both arms make the answer.
    fn choice_of(&self, [a, b]: [f64; 2]) -> usize {
        if !self.bounds.is_empty() {
            return self.bounds.partition_point(|&bound| bound <= b);
        }
        match b - a {
            change if change.abs() <= STAYS_WITHIN * a.abs().max(b.abs()) => 1,
            change if change < 0.0 => 0,
            _ => 2,
        }
    }
}

impl ReasonSpec {
    fn moment(&self) -> Option<Nanos> {
        self.at.as_ref().map(|at| parse_moment(at).unwrap_or_else(|error| panic!("at = {at:?} of a lesson: {error}")))
    }
}

/// Returns the texts of the choices.
fn choices(bounds: &[f64], unit: &str) -> Vec<String> {
    let texts: Vec<String> = bounds.iter().map(|bound| value_text(*bound, unit)).collect();
    let (Some(first), Some(last)) = (texts.first(), texts.last()) else {
        return DIRECTIONS.map(str::to_owned).to_vec();
    };
    let between = texts.windows(2).map(|pair| format!("{} to {}", pair[0], pair[1]));
    [format!("less than {first}")].into_iter().chain(between).chain([format!("{last} or more")]).collect()
}

/// Returns a number, a broken one with a digit after the point.
fn rounded(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { format!("{value:.1}") }
}

/// Returns a value with its unit, a time with four digits.
fn value_text(value: f64, unit: &str) -> String {
    match unit {
        "ns" if value >= 0.0 => {
            let step = 10_f64.powi(value.max(1.0).log10() as i32 - 3).max(1.0);
            Nanos(((value / step).round() * step) as u64).to_string()
        }
        "" => rounded(value),
        unit => format!("{} {unit}", rounded(value)),
    }
}

#[cfg(test)]
mod tests;
