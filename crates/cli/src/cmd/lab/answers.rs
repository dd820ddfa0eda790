// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab lab --check-answers`: answers of the lessons, derived from runs, and grades of saved answers.

use crate::output::table::Table;
use crate::output::{Output, wrap};
use crate::values::error::CliError;
use fairlab_lab::lessons::{DerivedAnswer, Lesson, SavedAnswers, derive};
use fairlab_run::error::RequestError;
use fairlab_workload::message::Message;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Name and version of the JSON output.
pub(crate) const SCHEMA: &str = "lessons/1";

/// Answers of all lessons, and grades of files.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct LessonsOutput<'a> {
    /// Name and version of this format.
    schema: &'static str,
    /// Answers, in the order of the lessons.
    lessons: &'a [DerivedAnswer],
    /// Grades, in the order in which the files were named.
    files: &'a [GradedFile],
}

/// Graded answers of one file.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct GradedFile {
    /// File, as given.
    file: String,
    /// Number of right answers.
    points: usize,
    /// Grade by name of the lesson.
    grades: BTreeMap<String, Grade>,
}

/// Grade of an answer.
#[derive(Clone, Copy, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Grade {
    Right,
    Wrong,
    /// The file has no answer to the lesson.
    Missing,
}

/// Derives the answers of all lessons and grades files.
pub(super) fn check(output: &mut Output, files: &[PathBuf]) -> Result<(), CliError> {
    let lessons = Lesson::all();
    let saved = files.iter().map(|file| read(file, &lessons)).collect::<Result<Vec<_>, _>>()?;
    let derived = lessons.iter().map(derive).collect::<Result<Vec<_>, RequestError>>()?;
    let graded: Vec<GradedFile> = files.iter().zip(saved).map(|(file, saved)| grade(file, &saved, &derived)).collect();
    if output.is_json() {
        return output.json(&LessonsOutput { schema: SCHEMA, lessons: &derived, files: &graded });
    }
    let styles = output.styles();
    let mut table = Table::default().right(["nr"]).left(["lesson", "arm B"]).right(["A", "B"]).left(["answer"]);
    for (number, (lesson, answer)) in lessons.iter().zip(&derived).enumerate() {
        let [a, b] = &answer.texts;
        let (number, texts) = ((number + 1).to_string(), [&lesson.name, &lesson.change, a, b, &answer.answer]);
        table.text_row([&number].into_iter().chain(texts).map(String::as_str));
    }
    output.text(&table.render(styles))?;
    if graded.is_empty() {
        return Ok(());
    }
    let mut table = Table::default().left(["file"]).left([format!("lessons 1 to {}", derived.len())]).right(["points"]);
    for GradedFile { file, points, grades } in &graded {
        let marks: Vec<char> = derived.iter().map(|answer| grades[&answer.lesson].mark()).collect();
        let groups: Vec<String> = marks.chunks(5).map(|group| group.iter().collect()).collect();
        table.text_row([file.as_str(), &groups.join(" "), &points.to_string()]);
    }
    let legend = wrap(&format!("+ right, - wrong, . no answer; {} lessons", derived.len()), 0);
    output.text(&format!("\n{}\n{legend}", table.render(styles)))
}

fn read(file: &Path, lessons: &[Lesson]) -> Result<SavedAnswers, CliError> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|error| {
        let message = Message::in_file(&name, format!("cannot be read: {error}"));
        CliError::Input(message.with_help("--check-answers takes files that `Save answers` of the page writes"))
    })?;
    SavedAnswers::parse(&name, &text, lessons).map_err(CliError::Input)
}

fn grade(file: &Path, saved: &SavedAnswers, derived: &[DerivedAnswer]) -> GradedFile {
    let grade = |answer: &DerivedAnswer| match saved.answers.get(&answer.lesson) {
        Some(choice) if *choice == answer.answer => Grade::Right,
        Some(_) => Grade::Wrong,
        None => Grade::Missing,
    };
    let grades: BTreeMap<String, Grade> = derived.iter().map(|answer| (answer.lesson.clone(), grade(answer))).collect();
    let points = grades.values().filter(|grade| matches!(grade, Grade::Right)).count();
    GradedFile { file: file.display().to_string(), points, grades }
}

impl Grade {
    const fn mark(self) -> char {
        match self {
            Self::Right => '+',
            Self::Wrong => '-',
            Self::Missing => '.',
        }
    }
}
