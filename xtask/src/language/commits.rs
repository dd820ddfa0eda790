// SPDX-License-Identifier: GPL-2.0-or-later
//! Subjects of commits: `area: imperative summary`, at most 72 characters, no full stop.

use std::path::Path;
use std::process::Command;

/// Longest subject, in characters.
const MAX_SUBJECT: usize = 72;

/// Checks the subjects after the commit `since`. Without its history (a shallow clone, an archive) there is nothing to check.
pub(super) fn problems(root: &Path, since: &str) -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["log", "--no-merges", "--format=%h %s", &format!("{since}..HEAD")]).current_dir(root);
    let Ok(output) = git.output() else { return Vec::new() };
    if !output.status.success() {
        return Vec::new();
    }
    let log = String::from_utf8_lossy(&output.stdout);
    let lines = log.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(hash, subject)| Some(format!("commit {hash}: {}", problem(subject)?))).collect()
}

/// Returns what is wrong with a subject.
fn problem(subject: &str) -> Option<String> {
    let nr_letters = subject.chars().count();
    if nr_letters > MAX_SUBJECT {
        return Some(format!("the subject has {nr_letters} characters, at most {MAX_SUBJECT}: {subject}"));
    }
    let is_area = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_/.+-, ".contains(letter);
    match subject.split_once(": ") {
        Some((area, summary)) if !area.is_empty() && area.chars().all(is_area) && !summary.trim().is_empty() => {
            subject.ends_with('.').then(|| format!("the subject ends with a full stop: {subject}"))
        }
        _ => Some(format!("the subject is not `area: imperative summary`: {subject}")),
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn a_subject_has_an_area_and_fits_a_line() {
        assert_eq!(problem("sched/fair: rename words to types"), None);
        assert_eq!(problem("cli, docs: print the verdict first"), None);
        assert!(problem("Runs print the verdict first").is_some());
        assert!(problem("cli: print the verdict first.").is_some());
        assert!(problem(&format!("cli: {}", "x".repeat(68))).is_some());
    }
}
