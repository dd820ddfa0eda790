// SPDX-License-Identifier: GPL-2.0-or-later
//! Words that prose of the project does not use, with the word to use instead.

use super::extract::{Passage, PassageKind, without_code};
use unicase::UniCase;

/// A word or phrase in lower case, and what to write instead. A trailing `*` matches any ending.
const AVOIDED: &[(&str, &str)] = &[
    ("told", "report, print, record, reject or return"),
    ("tells", "reports, prints, records, rejects or returns"),
    ("heed", "honour"),
    ("heeds", "honours"),
    ("heeded", "honoured"),
    ("anew", "again"),
    ("mend*", "fix"),
    ("dear", "expensive"),
    ("dearer", "more expensive"),
    ("somebody*", "a concrete noun: a user, a task, a caller"),
    ("nobody*", "a concrete noun: no task, no caller"),
    ("whoever", "a concrete noun"),
    ("whom", "a concrete noun"),
    ("storey*", "layer"),
    ("museum*", "regression corpus, `kernel regressions`"),
    ("bookkeeper*", "accounting"),
    ("of its own accord", "without a request"),
    ("the laboratory", "fairlab"),
    ("equal instants", "simultaneous events"),
    ("before-state*", "behaviour before the patch"),
    ("kernel of your own", "compiled-kernel engine"),
    ("stolen time", "steal time"),
    ("way out", "hint"),
    ("chore*", "xtask command"),
    ("long check", "extended tests"),
    ("told apart", "distinguished"),
    ("goes over to", "is deferred to"),
    ("vain kick*", "wasted kicks"),
    ("shape alone", "topology only"),
    ("placement by energy", "energy-aware scheduling"),
    ("clamps of groups", "group uclamp"),
    ("limits of frequencies", "frequency limits"),
    ("priced", "with a cost"),
    ("oracle", "reference"),
    ("seam", "interface"),
    ("seams", "interfaces"),
    ("dice", "random numbers"),
    ("tally", "cached load-balance statistics"),
    ("tallies", "cached load-balance statistics"),
];

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
        for (phrase, hint) in AVOIDED {
            if begins_with(&words[position..], phrase) {
                found.push(Problem { line, found: (*phrase).to_owned(), hint: format!("write: {hint}") });
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
