// SPDX-License-Identifier: GPL-2.0-or-later
//! Suggestions for misspelt names.

/// Returns up to three candidates similar to `name`, nearest first; empty if all are dissimilar.
///
/// A candidate is similar if at most a third of the letters (but at least two) differ, and at most one letter
/// more than for the nearest. Case is ignored.
pub(super) fn near<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted: Vec<char> = name.chars().take(64).flat_map(char::to_lowercase).collect();
    let limit = (wanted.len() / 3).max(2);
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (edit_distance(&wanted, candidate), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .collect();
    found.sort();
    let nearest = found.first().map_or(0, |(distance, _)| *distance);
    found.into_iter().take_while(|(distance, _)| *distance <= nearest + 1).take(3).map(|(_, name)| name).collect()
}

/// Returns a hint with the similar names, or with all names.
pub(super) fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let near = near(name, candidates.clone());
    let quoted = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    if near.is_empty() {
        format!("known are {}", quoted(candidates.into_iter().collect()).join(", "))
    } else {
        format!("did you mean {}?", quoted(near).join(" or "))
    }
}

/// Levenshtein distance, ignoring case.
fn edit_distance(wanted: &[char], candidate: &str) -> usize {
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    for (i, letter) in candidate.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..wanted.len() {
            let changed = diagonal + usize::from(wanted[j] != letter);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[wanted.len()]
}
