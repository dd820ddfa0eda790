// SPDX-License-Identifier: GPL-2.0-or-later
//! Bugs of `kernel/sched` that are fixed, and can be seen again: each has a script that puts it back into a tree ([`edit`]), a scenario in which it
//! shows, and a check that tells a kernel with it from one without ([`check`]). They are the files of `regressions/`; no text of a kernel is among them.
//!
//! Building takes most of the time, so bugs share engines: those that change different functions, and do not hide each other, are put back
//! together ([`batches`]). That each is seen by its own check, and by nobody else's engine, shows that they do not get in each other's way.

mod c;
pub mod check;
pub mod edit;

use check::Check;
use edit::{Edit, EditPlace, Script};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Files of the regression corpus: name and text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/regressions.rs"));

/// A bug.
#[derive(Clone, Debug)]
pub struct Bug {
    /// Its name here.
    pub name: &'static str,
    /// What its file says.
    pub label: BugLabel,
    /// The scenario in which it shows.
    pub scenario: &'static str,
}

/// What the file of a bug says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BugLabel {
    /// The title of the commit that fixed it.
    pub title: String,
    /// The commit's first twelve digits; empty where they are not known for sure.
    pub commit: String,
    /// The first release with the fix, or the first stable one; empty where it is not known for sure.
    pub fixed: String,
    /// The release into whose tree the edits put it back.
    pub kernel: String,
    /// What went wrong, in lines.
    pub what: String,
    /// How it is put back.
    #[serde(rename = "edit")]
    pub edits: Vec<Edit>,
    /// How it is seen.
    pub check: Check,
    /// Other bugs that hide it or show what it shows.
    #[serde(default)]
    pub not_with: Vec<String>,
}

impl Bug {
    /// What puts it back.
    pub fn script(&self) -> Script {
        Script { bug: self.name.to_owned(), edits: self.label.edits.clone() }
    }

    /// What went wrong, in two sentences.
    pub fn what(&self) -> String {
        self.label.what.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn places(&self) -> impl Iterator<Item = (&str, &EditPlace)> {
        self.label.edits.iter().map(|edit| (edit.file.as_str(), &edit.place))
    }

    fn gets_on_with(&self, other: &Self) -> bool {
        let names = |one: &Self, two: &Self| one.label.not_with.iter().any(|name| name == two.name);
        !names(self, other) && !names(other, self)
    }
}

/// All bugs, by name.
///
/// # Panics
/// If a file is malformed; a test reads them.
pub fn bugs() -> Vec<Bug> {
    let text = |name: &str| FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text);
    let bug = |(file, label): &(&'static str, &'static str)| {
        let name = file.strip_suffix(".toml")?;
        let label = toml::from_str(label).unwrap_or_else(|error| panic!("regressions/{file}: {error}"));
        let scenario = text(&format!("{name}.scn")).unwrap_or_else(|| panic!("regressions/{file} has no scenario"));
        Some(Bug { name, label, scenario })
    };
    FILES.iter().filter_map(bug).collect()
}

/// Of how many bugs a batch is made, as long as they fit.
const MOST_TOGETHER: usize = 9;

/// Bugs that can be put back together.
#[derive(Clone, Debug)]
pub struct BugBatch<'a> {
    /// The release into whose tree.
    pub kernel: &'a str,
    /// Which.
    pub bugs: Vec<&'a Bug>,
}

impl BugBatch<'_> {
    fn takes(&self, bug: &Bug) -> bool {
        let taken: BTreeSet<_> = self.bugs.iter().flat_map(|bug| bug.places()).collect();
        self.kernel == bug.label.kernel && bug.places().all(|place| !taken.contains(&place)) && self.detects(bug)
    }

    /// Whether none of them hides a bug, or shows what it shows.
    pub fn detects(&self, bug: &Bug) -> bool {
        self.bugs.iter().all(|other| other.gets_on_with(bug))
    }

    /// What puts them back.
    pub fn scripts(&self) -> Vec<Script> {
        self.bugs.iter().map(|bug| bug.script()).collect()
    }
}

/// Few batches of about the same size, or one for each bug.
pub fn batches(bugs: &[Bug], is_alone: bool) -> Vec<BugBatch<'_>> {
    let few = bugs.len().div_ceil(MOST_TOGETHER);
    let mut batches: Vec<BugBatch<'_>> = Vec::new();
    for bug in bugs {
        let opens = is_alone || batches.len() < few;
        match batches.iter_mut().filter(|batch| batch.takes(bug)).min_by_key(|batch| batch.bugs.len()) {
            Some(batch) if !opens => batch.bugs.push(bug),
            _ => batches.push(BugBatch { kernel: &bug.label.kernel, bugs: vec![bug] }),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bug_has_all_that_it_needs_and_its_label_is_in_order() {
        let bugs = bugs();
        let names: BTreeSet<&str> = bugs.iter().map(|bug| bug.name).collect();
        assert!(bugs.len() >= 25, "{}", bugs.len());
        assert_eq!(FILES.len(), 2 * bugs.len(), "files that belong to no bug");
        for bug in &bugs {
            let (Bug { name, label, .. }, what) = (bug, bug.what());
            let is_digits = label.commit.len() == 12 && label.commit.bytes().all(|digit| digit.is_ascii_hexdigit());
            assert!(label.commit.is_empty() || is_digits, "{name}: {}", label.commit);
            assert!(!label.title.is_empty() && !label.edits.is_empty(), "{name}");
            assert_eq!(what.matches(". ").count() + 1, 2, "{name}: two sentences: {what}");
            assert!(what.ends_with('.'), "{name}: {what}");
            assert!(label.not_with.iter().all(|other| names.contains(other.as_str())), "{name}: {:?}", label.not_with);
        }
    }

    #[test]
    fn bugs_of_a_batch_change_different_functions_and_get_on_with_each_other() {
        let bugs = bugs();
        let together = batches(&bugs, false);
        assert!(together.len() <= 8, "{}", together.len());
        assert_eq!(together.iter().map(|batch| batch.bugs.len()).sum::<usize>(), bugs.len());
        for batch in &together {
            let places: Vec<_> = batch.bugs.iter().map(|bug| bug.places().collect::<BTreeSet<_>>()).collect();
            let all: BTreeSet<_> = places.iter().flatten().collect();
            assert_eq!(all.len(), places.iter().map(BTreeSet::len).sum::<usize>());
            assert!(batch.bugs.iter().all(|bug| batch.bugs.iter().all(|other| bug.gets_on_with(other))));
        }
        assert_eq!(batches(&bugs, true).len(), bugs.len());
    }

    #[test]
    fn tokens_of_edits_are_facts_and_not_lines_of_a_kernel() {
        for bug in bugs() {
            for edit in &bug.label.edits {
                let tokens = c::tokens(edit.token_text()).len();
                assert!(tokens <= 24, "{}: {tokens} tokens: {}", bug.name, edit.token_text());
            }
        }
    }
}
