// SPDX-License-Identifier: GPL-2.0-or-later
//! Meanings of a tree's features and tunables: the comments with which its source describes them.
//!
//! A feature has the comment before it in `kernel/sched/features.h`; features without a blank line between them
//! share one. A tunable has the comment before its variable, which the file names that the tree creates for it
//! lead to. Names without a comment are left out. The result is a file beside an object.

use crate::error::{KernelError, io_error_at};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Prefix of names below `/proc/sys/kernel` that fairlab leaves out.
const PREFIX: &str = "sched_";

/// Returns the path of the meanings that belong to an object.
pub(crate) fn file_of(object: &Path) -> PathBuf {
    object.with_extension("meanings")
}

/// Writes the meanings of a tree's features and tunables beside an object.
pub(crate) fn write(tree: &Path, object: &Path) -> Result<(), KernelError> {
    let folder = tree.join("kernel/sched");
    let features = fs::read_to_string(folder.join("features.h")).unwrap_or_default();
    let mut sources = Vec::new();
    for entry in fs::read_dir(&folder).map_err(io_error_at(&folder))? {
        let path = entry.map_err(io_error_at(&folder))?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            sources.push(path);
        }
    }
    sources.sort();
    let sources: Vec<String> = sources.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect();
    let mut meanings = of_features(&features);
    meanings.extend(of_tunables(&sources));
    let path = file_of(object);
    fs::write(&path, serde_json::to_string(&meanings).expect("texts are JSON")).map_err(io_error_at(&path))
}

/// Meanings of features and tunables by their names.
pub type SwitchMeanings = BTreeMap<String, String>;

/// Returns the meanings that belong to an object, by name.
///
/// # Errors
/// If the file cannot be read.
pub fn of_object(object: &Path) -> Result<SwitchMeanings, KernelError> {
    let path = file_of(object);
    let text = fs::read_to_string(&path).map_err(io_error_at(&path))?;
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// Comment of a C file and the lines that follow it, up to the next blank line or comment.
struct CommentedLines<'a> {
    comment: String,
    lines: Vec<&'a str>,
}

/// Splits a C file at its comments that begin a line.
fn commented(text: &str) -> Vec<CommentedLines<'_>> {
    let mut parts: Vec<CommentedLines<'_>> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(first) = line.trim_start().strip_prefix("/*") {
            let mut comment = vec![first];
            while !comment.last().is_some_and(|line| line.contains("*/")) {
                let Some(line) = lines.next() else { break };
                comment.push(line);
            }
            parts.push(CommentedLines { comment: plain_text(&comment), lines: Vec::new() });
        } else if line.trim().is_empty() {
            parts.push(CommentedLines { comment: String::new(), lines: Vec::new() });
        } else if let Some(part) = parts.last_mut() {
            part.lines.push(line);
        }
    }
    parts
}

/// Returns the text of a comment: one line per paragraph.
fn plain_text(comment: &[&str]) -> String {
    let mut paragraphs = vec![String::new()];
    for line in comment {
        let line = line.trim().trim_end_matches("*/").trim_start_matches('*').trim();
        let last = paragraphs.last_mut().expect("there is one");
        if line.is_empty() {
            if !last.is_empty() {
                paragraphs.push(String::new());
            }
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(line);
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n")
}

fn of_features(text: &str) -> BTreeMap<String, String> {
    let mut meanings = BTreeMap::new();
    for part in commented(text).into_iter().filter(|part| !part.comment.is_empty()) {
        let names = part.lines.iter().filter_map(|line| line.strip_prefix("SCHED_FEAT(")?.split_once(','));
        meanings.extend(names.map(|(name, _)| (name.trim().to_owned(), part.comment.clone())));
    }
    meanings
}

fn of_tunables(sources: &[String]) -> BTreeMap<String, String> {
    let variables: BTreeMap<String, String> = sources.iter().flat_map(|text| variables_of(text)).collect();
    let mut comments = BTreeMap::new();
    for part in sources.iter().flat_map(|text| commented(text)).filter(|part| !part.comment.is_empty()) {
        let is_definition = |line: &&&str| !line.starts_with([' ', '\t', '#', '}']) && line.contains('=');
        for line in part.lines.iter().filter(is_definition) {
            let left = line.split('=').next().unwrap_or_default().trim_end();
            let name = left.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
            comments.insert(name.unwrap_or_default().to_owned(), part.comment.clone());
        }
    }
    let meaning = |(name, variable): (String, String)| Some((name, comments.get(&variable)?.clone()));
    variables.into_iter().filter_map(meaning).collect()
}

/// Returns the tunables for which a source creates files, each with its variable.
fn variables_of(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for call in text.split("debugfs_create_u32(").skip(1) {
        let arguments = call.split(");").next().unwrap_or_default();
        let (name, variable) = (quoted(arguments), arguments.rsplit('&').next().unwrap_or_default());
        found.extend(name.map(|name| (name.to_owned(), variable.trim().to_owned())));
    }
    for entry in text.split(".procname").skip(1) {
        let entry = entry.split('}').next().unwrap_or_default();
        let name = quoted(entry).and_then(|name| name.strip_prefix(PREFIX));
        let data = entry.split_once(".data").and_then(|(_, rest)| rest.split_once('&')?.1.split(',').next());
        found.extend(name.zip(data).map(|(name, data)| (name.to_owned(), data.trim().to_owned())));
    }
    found
}

fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_the_comment_before_them() {
        let text = "/*\n * Keeps lag\n * over sleeps.\n *\n * More.\n */\nSCHED_FEAT(KEEP_LAG, true)\n\
                    /* One line. */\n#ifdef X\n# ifdef Y\nSCHED_FEAT(ONE, true)\n# endif\nSCHED_FEAT(TWO, false)\n\n\
                    SCHED_FEAT(NOTHING, false)\n";
        let meanings = of_features(text);
        assert_eq!(meanings["KEEP_LAG"], "Keeps lag over sleeps.\nMore.");
        assert_eq!((meanings["ONE"].as_str(), meanings["TWO"].as_str()), ("One line.", "One line."));
        assert!(!meanings.contains_key("NOTHING"));
    }

    #[test]
    fn tunables_have_the_comment_before_their_variable() {
        let sources = [
            "/* How long. */\nunsigned int sysctl_sched_length\t\t= 7;\nstatic int other = 1;\n\n/* A name.\n * (us) */\n\
             static unsigned int sysctl_sched_part = 5;\n{ .procname = \"sched_part_us\", .data = &sysctl_sched_part, }"
                .to_owned(),
            "debugfs_create_u32(\"length_ns\", 0644, dir, &sysctl_sched_length);\ndebugfs_create_u32(\"silent\", 0644, \
             dir, &silent);"
                .to_owned(),
        ];
        let meanings = of_tunables(&sources);
        let expected = [("length_ns", "How long."), ("part_us", "A name. (us)")];
        assert_eq!(meanings, expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
    }
}
