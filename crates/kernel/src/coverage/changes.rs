// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines in which a patched tree differs from its base.

use crate::error::KernelError;
use crate::{overlay, tree};
use similar::{DiffOp, TextDiff};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// File that a patch changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Path in the tree.
    pub(super) name: String,
    /// Text as patched; empty for a file that the patch removes.
    pub(super) text: String,
    /// Lines that the patch adds or changes, from 1.
    pub(super) added: Vec<u32>,
    /// Lines that the patch removes without a replacement: the line before which they were, and their text.
    pub(super) removed: Vec<(u32, String)>,
}

/// Returns the C files and headers in which an overlay differs from a tree, in all parts of an engine. One header has
/// a different name in the overlay.
pub(super) fn changed_files(base: &Path, patched: &Path) -> Result<Vec<ChangedFile>, KernelError> {
    let is_source = |name: &String| name.ends_with(".c") || name.ends_with(".h");
    let mut names: BTreeSet<String> = tree::files(base)?.into_iter().filter(is_source).collect();
    names.extend(tree::files(patched)?.into_iter().filter(|name| is_source(name) && *name != overlay::WRAPPED.1));
    let mut changed = Vec::new();
    for name in names {
        let (old, now) = (base.join(&name), overlay::overlay_path(patched, &name));
        if fs::read_link(&now).is_ok_and(|link| link == old) {
            continue;
        }
        // A file that one side does not have differs as a whole. Not every file is text.
        let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let (old, now) = (text(&old).unwrap_or_default(), text(&now).unwrap_or_default());
        if old != now {
            changed.push(compare(name, &old, now));
        }
    }
    Ok(changed)
}

fn compare(name: String, old: &str, now: String) -> ChangedFile {
    let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    let lines: Vec<&str> = now.lines().collect();
    for op in TextDiff::from_lines(old, now.as_str()).ops() {
        let (_, old_range, new_range) = op.as_tag_tuple();
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        added.extend(new_range.clone().map(number));
        // Lines that others replace are covered by these.
        if new_range.clone().all(|index| lines.get(index).is_none_or(|line| line.trim().is_empty())) {
            let texts = old.lines().skip(old_range.start).take(old_range.len());
            removed.extend(texts.map(|text| (number(new_range.start), text.to_owned())));
        }
    }
    ChangedFile { name, text: now, added, removed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_changed_or_removed() {
        let file = compare("x.c".to_owned(), "a\nb\nc\nd\ne\n", "a\nB\nc\ne\nf\n".to_owned());
        assert_eq!((file.added, file.removed), (vec![2, 5], vec![(4, "d".to_owned())]));
        let file = compare("x.c".to_owned(), "a\n", String::new());
        assert_eq!((file.added, file.removed), (vec![], vec![(1, "a".to_owned())]));
    }
}
