// SPDX-License-Identifier: GPL-2.0-or-later
//! Words that prose of the project does not use, with the word to use instead.

use super::extract::{Passage, PassageKind, without_code};
use serde::Deserialize;
use std::sync::LazyLock;
use unicase::UniCase;

/// The list of words, which STYLE.md shows.
const LIST: &str = include_str!("../../words.toml");

/// Avoided words and names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordList {
    term: Vec<Term>,
    names: AvoidedNames,
}

/// Term with the words that it replaces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Term {
    /// Words to use.
    #[serde(rename = "use")]
    used: String,
    /// Words and phrases in lower case that prose may not have. A trailing `*` matches any ending.
    #[serde(default)]
    avoid: Vec<String>,
    /// Words that also have an ordinary meaning.
    #[serde(default)]
    unchecked: Vec<String>,
}

/// Names that do not name their content.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AvoidedNames {
    avoid: Vec<String>,
}

static WORDS: LazyLock<WordList> =
    LazyLock::new(|| toml::from_str(LIST).unwrap_or_else(|error| panic!("xtask/words.toml: {error}")));

/// Returns the names of variables, parameters and fields that the project avoids.
pub(super) fn avoided_names() -> &'static [String] {
    &WORDS.names.avoid
}

/// Returns the table of terms, for STYLE.md.
pub(crate) fn table() -> String {
    let mut text = "| Use | Not |\n|---|---|\n".to_owned();
    for term in &WORDS.term {
        let avoided = term.avoid.iter().chain(&term.unchecked).map(|word| format!("`{}`", word.trim_end_matches('*')));
        text.push_str(&format!("| {} | {} |\n", term.used, avoided.collect::<Vec<_>>().join(", ")));
    }
    text
}

/// Words up to this length are taken for abbreviations, not for spelling errors.
const MAX_ABBREVIATION: usize = 4;

/// First words of a doc comment that cannot be read alone.
const LEADING: &[&str] = &["the same", "it", "they", "that", "there", "which", "where", "what", "who", "whose"];

/// A place to reword.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) line: usize,
    pub(crate) found: String,
    pub(crate) hint: String,
}

/// Returns avoided and misspelt words of a passage, and a doc comment's beginning that refers to its neighbours.
pub(crate) fn problems(passage: &Passage) -> Vec<Problem> {
    let prose = without_code(&passage.text);
    let words = words(&prose);
    let mut found = Vec::new();
    for (position, (offset, word)) in words.iter().enumerate() {
        let line = passage.line + prose[..*offset].matches('\n').count();
        if let Some(correct) = correction(word).filter(|_| prose[*offset + 1..].starts_with(&word[1..])) {
            found.push(Problem { line, found: word.clone(), hint: format!("spell: {correct}") });
        }
        for term in &WORDS.term {
            for phrase in term.avoid.iter().filter(|phrase| begins_with(&words[position..], phrase)) {
                found.push(Problem { line, found: phrase.clone(), hint: format!("write: {}", term.used) });
            }
        }
    }
    if passage.kind == PassageKind::Doc
        && let Some(first) = LEADING.iter().find(|first| begins_with(&words, first))
        && prose.trim_start().to_lowercase().starts_with(*first)
    {
        let hint = "begin a doc comment with what the item is, returns or does".to_owned();
        found.push(Problem { line: passage.line, found: format!("{first} ..."), hint });
    }
    found
}

/// Returns the right spelling of a word that the dictionary of typical errors knows.
fn correction(word: &str) -> Option<String> {
    let is_prose = word.len() > MAX_ABBREVIATION && word.bytes().all(|letter| letter.is_ascii_lowercase());
    let corrections = is_prose.then(|| typos_dict::WORD.find(&UniCase::ascii(word))).flatten()?;
    Some(corrections.join(" or "))
}

/// Returns the words of a text in lower case with their byte offsets. A hyphen or apostrophe within a word belongs to it.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut begin = None;
    for (offset, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_inside = letter.is_alphanumeric() || letter == '_' || letter == '-' || letter == '\'';
        match begin {
            None if is_inside => begin = Some(offset),
            Some(start) if !is_inside => {
                words.push((start, text[start..offset].to_lowercase()));
                begin = None;
            }
            _ => {}
        }
    }
    words
}

fn begins_with(words: &[(usize, String)], phrase: &str) -> bool {
    let wanted: Vec<&str> = phrase.split(' ').collect();
    wanted.len() <= words.len()
        && wanted.iter().zip(words).all(|(wanted, (_, word))| match wanted.strip_suffix('*') {
            Some(stem) => word.starts_with(stem),
            None => word == wanted,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: PassageKind, text: &str) -> Vec<(usize, String)> {
        let passage = Passage { kind, line: 5, nr_lines: 1, text: text.to_owned() };
        problems(&passage).into_iter().map(|problem| (problem.line, problem.found)).collect()
    }

    #[test]
    fn avoided_words_are_found_with_their_line() {
        let wanted = [(5, "told".to_owned()), (6, "storey*".to_owned()), (6, "way out".to_owned())];
        assert_eq!(found(PassageKind::Comment, "It is Told by\nstoreys, a way\u{20}out."), wanted);
    }

    #[test]
    fn code_spans_and_parts_of_words_are_exempt() {
        assert_eq!(found(PassageKind::Page, "`told` retold toldest endear"), []);
    }

    #[test]
    fn typical_spelling_errors_are_found_but_not_in_code() {
        assert_eq!(found(PassageKind::Text, "`recieve` the recieve side"), [(5, "recieve".to_owned())]);
    }

    #[test]
    fn a_doc_comment_begins_with_what_the_item_is() {
        assert_eq!(found(PassageKind::Doc, "The same for groups."), [(5, "the same ...".to_owned())]);
        assert_eq!(found(PassageKind::Doc, "There."), [(5, "there ...".to_owned())]);
        assert_eq!(found(PassageKind::Doc, "Itself a scan."), []);
        assert_eq!(found(PassageKind::Comment, "The same for groups."), []);
    }
}
