// SPDX-License-Identifier: GPL-2.0-or-later
//! Regression corpus: fixed bugs of `kernel/sched` that can be observed again.
//!
//! Each bug has a script that reintroduces it into a tree ([`edit`]), a scenario in which it appears, and a
//! check that distinguishes a kernel with it from one without ([`check`]). They are the files of
//! `regressions/`; no text of a kernel is among them.
//!
//! Building takes most of the time, so bugs share engines: those of one release that change different
//! functions, and do not hide each other, are reintroduced together ([`batches`]). Each must be detected by its own check, and in
//! no other engine, which shows that the bugs of a batch do not affect each other.

pub mod check;
pub mod edit;

use check::Check;
use edit::{Edit, EditPlace, EditScript};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Files of the regression corpus: name and text.
const CORPUS_FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/regressions.rs"));

/// Bug of the regression corpus.
#[derive(Clone, Debug)]
pub struct Bug {
    /// Name of the bug in the corpus.
    pub name: &'static str,
    /// Contents of the bug's TOML file.
    pub label: BugLabel,
    /// Scenario in which the bug appears.
    pub scenario: &'static str,
}

/// Contents of the TOML file of a bug.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BugLabel {
    /// Title of the commit that fixed the bug.
    pub title: String,
    /// First twelve digits of the commit; empty if it is not known for certain.
    pub commit: String,
    /// First release with the fix, or the first stable one; empty if it is not known for certain.
    pub fixed: String,
    /// Release into whose tree the edits reintroduce the bug.
    pub kernel: String,
    /// Description of the bug, in lines.
    pub what: String,
    /// Edits that reintroduce the bug.
    #[serde(rename = "edit")]
    pub edits: Vec<Edit>,
    /// Check that detects the bug.
    pub check: Check,
    /// Names of bugs that hide this one, or change what its check measures.
    #[serde(default)]
    pub not_with: Vec<String>,
}

impl Bug {
    /// Returns the script that reintroduces the bug.
    pub fn script(&self) -> EditScript {
        EditScript { bug: self.name.to_owned(), edits: self.label.edits.clone() }
    }

    /// Returns the description of the bug, in two sentences.
    pub fn what(&self) -> String {
        self.label.what.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn places(&self) -> impl Iterator<Item = (&str, &EditPlace)> {
        self.label.edits.iter().map(|edit| (edit.file.as_str(), &edit.place))
    }

    fn is_compatible_with(&self, other: &Self) -> bool {
        let names = |one: &Self, two: &Self| one.label.not_with.iter().any(|name| name == two.name);
        !names(self, other) && !names(other, self)
    }
}

/// Returns all bugs, by name.
///
/// # Panics
/// If a file is malformed; a test reads them.
pub fn bugs() -> Vec<Bug> {
    let text = |name: &str| CORPUS_FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text);
    let bug = |(file, label): &(&'static str, &'static str)| {
        let name = file.strip_suffix(".toml")?;
        let label = toml::from_str(label).unwrap_or_else(|error| panic!("regressions/{file}: {error}"));
        let scenario = text(&format!("{name}.scn")).unwrap_or_else(|| panic!("regressions/{file} has no scenario"));
        Some(Bug { name, label, scenario })
    };
    CORPUS_FILES.iter().filter_map(bug).collect()
}

/// Largest number of bugs in a batch.
const MAX_BATCH_BUGS: usize = 9;

/// Bugs that can be reintroduced together.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct BugBatch<'a> {
    /// Release into whose tree the bugs are reintroduced.
    pub kernel: &'a str,
    pub bugs: Vec<&'a Bug>,
}

impl BugBatch<'_> {
    fn can_add(&self, bug: &Bug) -> bool {
        let taken: BTreeSet<_> = self.bugs.iter().flat_map(|bug| bug.places()).collect();
        self.kernel == bug.label.kernel
            && bug.places().all(|place| !taken.contains(&place))
            && self.hides_nothing_of(bug)
    }

    /// Whether no bug of the batch hides a bug, or changes what its check measures.
    pub fn hides_nothing_of(&self, bug: &Bug) -> bool {
        self.bugs.iter().all(|other| other.is_compatible_with(bug))
    }

    /// Returns the scripts that reintroduce the bugs.
    pub fn scripts(&self) -> Vec<EditScript> {
        self.bugs.iter().map(|bug| bug.script()).collect()
    }
}

/// Returns the releases into whose trees bugs are reintroduced, oldest first.
pub fn releases(bugs: &[Bug]) -> Vec<&str> {
    let mut releases: Vec<&str> = bugs.iter().map(|bug| bug.label.kernel.as_str()).collect();
    releases.sort_by_key(|release| release_number(release));
    releases.dedup();
    releases
}

/// Returns the release whose edits are tried with a tree of a version, such as 6.12.117: the newest one that is
/// not newer, or else the oldest one.
pub fn release_of_tree<'a>(bugs: &'a [Bug], version: &str) -> Option<&'a str> {
    let (releases, of_tree) = (releases(bugs), release_number(version));
    let not_newer = releases.iter().rfind(|release| release_number(release) <= of_tree);
    not_newer.or_else(|| releases.first()).copied()
}

/// Returns major and minor number of a version. What is not a number counts as 0.
fn release_number(version: &str) -> [u32; 2] {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    [(); 2].map(|()| numbers.next().unwrap_or(0))
}

/// Returns, for each release, a small number of batches of about equal size, or one for each bug.
pub fn batches(bugs: &[Bug], is_alone: bool) -> Vec<BugBatch<'_>> {
    releases(bugs).into_iter().flat_map(|release| batches_of_release(bugs, release, is_alone)).collect()
}

fn batches_of_release<'a>(bugs: &'a [Bug], release: &str, is_alone: bool) -> Vec<BugBatch<'a>> {
    let bugs: Vec<&Bug> = bugs.iter().filter(|bug| bug.label.kernel == release).collect();
    let few = bugs.len().div_ceil(MAX_BATCH_BUGS);
    let mut batches: Vec<BugBatch<'_>> = Vec::new();
    for bug in bugs {
        let opens = is_alone || batches.len() < few;
        match batches.iter_mut().filter(|batch| batch.can_add(bug)).min_by_key(|batch| batch.bugs.len()) {
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
        assert_eq!(CORPUS_FILES.len(), 2 * bugs.len(), "files that belong to no bug");
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
            assert!(batch.bugs.iter().all(|bug| batch.bugs.iter().all(|other| bug.is_compatible_with(other))));
        }
        assert_eq!(batches(&bugs, true).len(), bugs.len());
    }

    #[test]
    fn bugs_of_a_batch_are_of_one_release_and_a_tree_gets_those_of_the_newest_that_is_not_newer() {
        let bugs = bugs();
        assert_eq!(releases(&bugs), ["6.1", "6.12"]);
        for batch in batches(&bugs, false) {
            assert!(batch.bugs.iter().all(|bug| bug.label.kernel == batch.kernel), "{batch:?}");
        }
        let releases = ["5.10.1", "6.1.140", "6.6", "6.12.117", "7.0-rc1"];
        assert_eq!(
            releases.map(|version| release_of_tree(&bugs, version)),
            ["6.1", "6.1", "6.1", "6.12", "6.12"].map(Some)
        );
    }

    #[test]
    fn tokens_of_edits_are_facts_and_not_lines_of_a_kernel() {
        for bug in bugs() {
            for edit in &bug.label.edits {
                let tokens = crate::c::tokens(edit.token_text()).len();
                assert!(tokens <= 24, "{}: {tokens} tokens: {}", bug.name, edit.token_text());
            }
        }
    }
}
