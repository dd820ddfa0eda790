// SPDX-License-Identifier: GPL-2.0-or-later
//! Saved answers of a reader: the file that the page writes.

use super::Lesson;
use fairlab_workload::message::Message;
use fairlab_workload::source_text::error_at;
use fairlab_workload::suggest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the format.
pub const SCHEMA: &str = "answers/1";

/// Answers to lessons.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SavedAnswers {
    /// Name and version of the format.
    pub schema: String,
    /// Version of fairlab whose page wrote the file.
    pub fairlab: String,
    /// Choice by name of the lesson. Lessons without an answer are absent.
    pub answers: BTreeMap<String, String>,
}

impl SavedAnswers {
    /// Reads a file.
    ///
    /// # Errors
    /// If the text is not in this format, or names a lesson or choice that does not exist.
    pub fn parse(file: &str, text: &str, lessons: &[Lesson]) -> Result<Self, Message> {
        let saved: Self = serde_json::from_str(text).map_err(|error| {
            let before = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or_default().to_owned();
            error_at(file, text, before + error.column().saturating_sub(1), problem)
                .with_help("`Save answers` of the page writes the file")
        })?;
        // A word in quotes; of a choice, the first one behind its lesson.
        let place = |words: &[&str]| {
            words.iter().fold(0, |from, word| {
                text[from..].find(&serde_json::json!(word).to_string()).map_or(from, |at| from + at)
            })
        };
        if saved.schema != SCHEMA {
            let problem = format!("its format is `{}`, not `{SCHEMA}`", saved.schema);
            let help = "open the lessons in the page of this version, and save the answers again";
            return Err(error_at(file, text, place(&["schema", &saved.schema]), problem).with_help(help));
        }
        for (name, choice) in &saved.answers {
            let Some(lesson) = lessons.iter().find(|lesson| lesson.name == *name) else {
                let names: Vec<&str> = lessons.iter().map(|lesson| lesson.name.as_str()).collect();
                let error = error_at(file, text, place(&["answers", name]), format!("unknown lesson `{name}`"));
                return Err(error.with_help(suggest::help(name, "there is", &names)));
            };
            if !lesson.choices.contains(choice) {
                let choices: Vec<&str> = lesson.choices.iter().map(String::as_str).collect();
                let problem = format!("`{choice}` is no choice of the lesson {name}");
                let error = error_at(file, text, place(&["answers", name, choice]), problem);
                return Err(error.with_help(suggest::help(choice, "there is", &choices)));
            }
        }
        Ok(saved)
    }
}
