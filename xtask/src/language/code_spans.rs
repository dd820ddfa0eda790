// SPDX-License-Identifier: GPL-2.0-or-later
//! Names in backticks: each name, path and xtask command in a code span of a document or a module head exists.
//!
//! Rules:
//! 1. A word exists if some source contains it outside comments, or a path has a part of this name.
//! 2. A path exists as the end of a file's or directory's path; its `.rs` may be left out.
//! 3. `cargo xtask` is followed by a command.
//!
//! Names of the kernel and of other programs are listed with their origin in `xtask/language.toml`; a listed name is used.

use super::{ProseFile, SETTINGS, Settings, entries, extract::PassageKind};
use anyhow::Result;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Documents at the root whose code spans are checked.
const DOCUMENTS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md"];
/// Directory of the book's chapters about the code, whose code spans are checked too.
const CHAPTERS: &str = "docs/book/src/inside/";
/// Endings of sources, with the mark of their comments.
const SOURCES: [(&str, Option<&str>); 12] = [
    (".rs", Some("//")),
    (".c", Some("//")),
    (".h", Some("//")),
    (".js", Some("//")),
    (".py", Some("#")),
    (".pyi", Some("#")),
    (".toml", Some("#")),
    (".scn", Some("#")),
    (".yml", Some("#")),
    (".sh", Some("#")),
    (".json", None),
    (".txt", None),
];
/// Endings that make a span without a slash a path. C files are the kernel's.
const PATH_ENDINGS: [&str; 7] = [".rs", ".toml", ".md", ".scn", ".json", ".txt", ".js"];

/// Names that sources have, and all paths.
struct Known {
    words: BTreeSet<String>,
    /// Paths of files and directories, each after a slash; those of Rust files also without their ending.
    paths: Vec<String>,
}

/// Returns one sentence per name that does not exist, and per listed name without use.
pub(super) fn problems(
    root: &Path,
    files: &[ProseFile],
    settings: &Settings,
    commands: &[String],
) -> Result<Vec<String>> {
    let known = Known::read(root)?;
    let mut unused: BTreeSet<&str> = settings.names_elsewhere.iter().map(String::as_str).collect();
    let mut wrong = Vec::new();
    for file in files {
        for (line, span) in spans(file) {
            for name in known.missing(&span, commands) {
                if settings.names_elsewhere.contains(&name) {
                    unused.remove(name.as_str());
                } else {
                    wrong.push(format!("{}:{line}: `{span}`: {name} does not exist", file.path));
                }
            }
        }
    }
    wrong.extend(unused.iter().map(|name| format!("{}: `{name}` is listed and not used", SETTINGS)));
    Ok(wrong)
}

/// Returns the code spans of a document, or of the head of a Rust file, with their lines.
fn spans(file: &ProseFile) -> Vec<(usize, String)> {
    let is_document = DOCUMENTS.contains(&file.path.as_str()) || file.path.starts_with(CHAPTERS);
    if !is_document && !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let heads = file.passages.iter().filter(|passage| {
        let first = file.text.lines().nth(passage.line - 1).unwrap_or_default();
        is_document || (passage.kind == PassageKind::Doc && first.starts_with("//!"))
    });
    let mut found = Vec::new();
    for passage in heads {
        let text = without_fences(&passage.text);
        // A pair of backticks may have a line break between them.
        let mut line = passage.line;
        for (index, part) in text.split('`').enumerate() {
            if index % 2 == 1 {
                found.push((line, part.replace('\n', " ")));
            }
            line += part.matches('\n').count();
        }
    }
    found
}

/// Returns a text with empty lines in place of fenced code blocks.
fn without_fences(text: &str) -> String {
    let mut is_fenced = false;
    let keep = |line: &str| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if is_fenced || is_fence { String::new() } else { line.to_owned() }
    };
    text.split('\n').map(keep).collect::<Vec<String>>().join("\n")
}

impl Known {
    fn read(root: &Path) -> Result<Self> {
        let mut known = Self { words: BTreeSet::new(), paths: Vec::new() };
        for (name, path) in entries(root, |_, last| last != ".git")? {
            known.add_path(&name);
            if !path.is_dir()
                && name != SETTINGS
                && let Some((_, comment)) = SOURCES.iter().find(|(ending, _)| name.ends_with(ending))
                && let Ok(text) = fs::read_to_string(&path)
            {
                known.add_source(&text, *comment);
            }
        }
        Ok(known)
    }

    fn add_path(&mut self, name: &str) {
        self.words.extend(words(name).map(str::to_owned));
        self.paths.push(format!("/{name}"));
        self.paths.extend(name.strip_suffix(".rs").map(|name| format!("/{name}")));
    }

    fn add_source(&mut self, text: &str, comment: Option<&str>) {
        for line in text.lines() {
            let code = comment.and_then(|mark| line.split(mark).next()).unwrap_or(line);
            for word in words(code) {
                if !self.words.contains(word) {
                    self.words.insert(word.to_owned());
                }
            }
        }
    }

    /// Returns the names in a span that do not exist.
    fn missing(&self, span: &str, commands: &[String]) -> Vec<String> {
        if let Some(rest) = span.split("cargo xtask ").nth(1) {
            let command = rest.split(' ').next().unwrap_or_default();
            let is_command = command.starts_with('-') || commands.iter().any(|name| name == command);
            return if is_command { Vec::new() } else { vec![command.to_owned()] };
        }
        if is_path(span) {
            return if self.has_path(span) { Vec::new() } else { vec![span.to_owned()] };
        }
        // `is_` and `from_x` are parts of names.
        let is_name = |word: &&str| !word.ends_with('_') && !word.ends_with("_x") && !word.starts_with('_');
        words(span).filter(is_name).filter(|word| !self.words.contains(*word)).map(str::to_owned).collect()
    }

    /// Whether a path ends like this. A part in upper case stands for any name.
    fn has_path(&self, span: &str) -> bool {
        let parts: Vec<&str> = span.trim_end_matches('/').split('/').collect();
        let is_placeholder = |part: &&str| part.contains('*') || part.split('.').next().is_some_and(is_upper_case);
        let nr_fixed = parts.iter().position(is_placeholder).unwrap_or(parts.len());
        let end = format!("/{}", parts[..nr_fixed].join("/"));
        nr_fixed == 0 || self.paths.iter().any(|path| path.ends_with(&end))
    }
}

fn is_upper_case(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_uppercase())
}

/// Whether a span is a path of the project. Paths of the kernel's sources, of its file systems and of build outputs are not.
fn is_path(span: &str) -> bool {
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "_-./*".contains(letter);
    let is_foreign = span.ends_with(".c")
        || span.ends_with(".h")
        || ["/", ".", "target/"].iter().any(|start| span.starts_with(start));
    span.chars().all(is_of_path)
        && !is_foreign
        && (span.contains('/') || PATH_ENDINGS.iter().any(|end| span.ends_with(end)))
}

/// Returns the identifiers in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.split(move |letter| !is_of_word(letter))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let mut known = Known { words: BTreeSet::new(), paths: Vec::new() };
        known.add_path("crates/sched/src/paths");
        known.add_path("crates/sched/src/paths/tick.rs");
        known.add_source("fn pick_eevdf() {} // never first_eligible", Some("//"));
        known
    }

    #[test]
    fn a_name_in_a_comment_does_not_exist() {
        let known = known();
        assert!(known.missing("pick_eevdf()", &[]).is_empty());
        assert_eq!(known.missing("sched::first_eligible", &[]), ["first_eligible"]);
        assert!(known.missing("from_x", &[]).is_empty(), "a part of a name");
    }

    #[test]
    fn a_path_is_the_end_of_one() {
        let known = known();
        assert!(known.missing("paths/tick.rs", &[]).is_empty() && known.missing("src/paths/tick", &[]).is_empty());
        assert!(known.missing("crates/sched/src/paths/NAME.rs", &[]).is_empty());
        assert_eq!(known.missing("paths/tock.rs", &[]), ["paths/tock.rs"]);
        assert!(
            known.missing("kernel/sched/fair.c", &[]).contains(&"kernel".to_owned()),
            "a path of the kernel has words"
        );
    }

    #[test]
    fn only_commands_follow_cargo_xtask() {
        let commands = ["tidy".to_owned()];
        assert!(known().missing("cargo xtask tidy", &commands).is_empty());
        assert_eq!(known().missing("cargo xtask clean", &commands), ["clean"]);
    }
}
