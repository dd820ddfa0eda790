// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers about comments, by area.

use super::extract::{Passage, PassageKind};
use super::{ProseFile, area};
use crate::table;
use std::collections::BTreeMap;

/// A doc comment with at most this many words is short.
const MAX_SHORT: usize = 3;

#[derive(Default)]
struct Counts {
    nr_code: usize,
    nr_comment_lines: usize,
    nr_blocks: usize,
    nr_docs: usize,
    nr_short_docs: usize,
}

/// Prints code lines, comment blocks, comment lines per 100 lines of code, and short doc comments of Rust files.
pub(super) fn print(files: &[ProseFile]) {
    let mut by_area: BTreeMap<&str, Counts> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        for counts in [area(&file.path), "total"] {
            by_area.entry(counts).or_default().add(file);
        }
    }
    let head =
        ["crate", "code lines", "comment blocks", "comment lines", "per 100", "doc comments", "of 3 words or fewer"];
    let mut rows = Vec::new();
    for (area, counts) in &by_area {
        let per_100 = counts.nr_comment_lines as f64 * 100.0 / counts.nr_code.max(1) as f64;
        let short = counts.nr_short_docs as f64 * 100.0 / counts.nr_docs.max(1) as f64;
        rows.push(vec![
            (*area).to_owned(),
            counts.nr_code.to_string(),
            counts.nr_blocks.to_string(),
            counts.nr_comment_lines.to_string(),
            format!("{per_100:.1}"),
            counts.nr_docs.to_string(),
            format!("{} ({short:.1} %)", counts.nr_short_docs),
        ]);
    }
    print!("{}", table::render(1, &head, &rows));
}

impl Counts {
    fn add(&mut self, file: &ProseFile) {
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        self.nr_code += file.text.lines().filter(is_code).count();
        let is_head = |passage: &Passage| passage.text.starts_with("SPDX");
        for passage in file.passages.iter().filter(|passage| passage.kind != PassageKind::Text && !is_head(passage)) {
            self.nr_blocks += 1;
            self.nr_comment_lines += passage.nr_lines;
            if passage.kind == PassageKind::Doc {
                self.nr_docs += 1;
                self.nr_short_docs += usize::from(passage.text.split_whitespace().count() <= MAX_SHORT);
            }
        }
    }
}
