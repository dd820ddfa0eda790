// SPDX-License-Identifier: GPL-2.0-or-later
//! Draws random passages, to test whether a reader who knows only the glossary understands them.
//!
//! In Markdown, a row of a table comes with the table's header, an item of a list with the paragraph that introduces the list,
//! and an entry of the changelog with its heading.

use super::ProseFile;
use super::extract::{Passage, PassageKind};
use crate::random::DrawRng;

/// Number of passages of each kind.
const NR_EACH: usize = 10;
/// Smallest number of words of a passage.
const MIN_WORDS: usize = 6;

const CHANGELOG: &str = "CHANGELOG.md";

/// Group of passages: its title, and the condition for a passage.
type Group = (&'static str, fn(&ProseFile, &Passage) -> bool);

const GROUPS: [Group; 4] = [
    ("book", |file, _| file.path.starts_with("docs/book/") || file.path == "README.md"),
    ("help and messages", |file, passage| {
        let is_program = file.path.starts_with("crates/") && file.path.contains("/src/") && !is_test(file, passage);
        let is_help = file.path.ends_with("args.rs") && passage.kind == PassageKind::Doc;
        is_program && (passage.kind == PassageKind::Text || is_help)
    }),
    ("comments", |file, passage| {
        file.path.ends_with(".rs") && matches!(passage.kind, PassageKind::Doc | PassageKind::Comment)
    }),
    ("changelog", |file, _| file.path == CHANGELOG),
];

/// Prints passages with their places. Equal seeds and files give equal passages.
pub(super) fn print(files: &[ProseFile], seeds: &[String]) {
    let mut random = DrawRng::new(seeds);
    for (title, belongs) in GROUPS {
        let mut candidates: Vec<(&ProseFile, &Passage)> = Vec::new();
        for file in files {
            let is_long = |passage: &&Passage| passage.text.split_whitespace().count() >= MIN_WORDS;
            let fitting = file.passages.iter().filter(is_long).filter(|passage| belongs(file, passage));
            candidates.extend(fitting.filter(|passage| !is_table_header(file, passage)).map(|passage| (file, passage)));
        }
        println!("## {title}: {} of {} passages", NR_EACH.min(candidates.len()), candidates.len());
        for number in 1..=NR_EACH.min(candidates.len()) {
            let (file, passage) = candidates.swap_remove(random.below(candidates.len()));
            println!("\n{number}. {}:{}", file.path, passage.line);
            if let Some(introduction) = introduction(file, passage) {
                println!("{introduction}");
            }
            println!("{}", passage.text);
        }
        println!();
    }
}

/// Whether a passage is the first line of a Markdown table.
fn is_table_header(file: &ProseFile, passage: &Passage) -> bool {
    is_markdown(file)
        && passage.text.starts_with('|')
        && !lines_above(file, passage).next().is_some_and(|line| line.starts_with('|'))
}

/// Returns the header of the passage's table, the heading of a changelog entry, or the paragraph before a list if it ends with a colon.
fn introduction(file: &ProseFile, passage: &Passage) -> Option<String> {
    if !is_markdown(file) {
        return None;
    }
    if passage.text.starts_with('|') {
        return lines_above(file, passage).take_while(|line| line.starts_with('|')).last().map(str::to_owned);
    }
    if !is_list_item(&passage.text) {
        return None;
    }
    if file.path == CHANGELOG {
        return lines_above(file, passage).find(|line| line.starts_with("### ")).map(str::to_owned);
    }
    let is_of_list = |line: &&str| line.is_empty() || line.starts_with(' ') || is_list_item(line);
    let before = lines_above(file, passage).skip_while(is_of_list).take_while(|line| !line.is_empty());
    let mut paragraph: Vec<&str> = before.collect();
    paragraph.reverse();
    let paragraph = paragraph.join("\n");
    paragraph.ends_with(':').then_some(paragraph)
}

/// Whether a passage is in a file or module of tests.
fn is_test(file: &ProseFile, passage: &Passage) -> bool {
    let mut above = file.text.lines().take(passage.line);
    file.path.ends_with("tests.rs") || file.path.contains("/tests/") || above.any(|line| line == "#[cfg(test)]")
}

fn is_markdown(file: &ProseFile) -> bool {
    file.path.ends_with(".md")
}

fn is_list_item(line: &str) -> bool {
    line.starts_with("- ") || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// Returns the lines above a passage, nearest first.
fn lines_above<'a>(file: &'a ProseFile, passage: &Passage) -> impl Iterator<Item = &'a str> {
    let lines: Vec<&str> = file.text.lines().take(passage.line - 1).collect();
    lines.into_iter().rev()
}
