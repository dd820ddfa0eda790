// SPDX-License-Identifier: GPL-2.0-or-later
//! Draws random passages, to test whether a reader who knows only the glossary understands them.

use super::ProseFile;
use super::extract::{Passage, PassageKind};

/// Number of passages of each kind.
const NR_EACH: usize = 10;
/// Smallest number of words of a passage.
const MIN_WORDS: usize = 6;

/// Group of passages: its title, and the condition for a passage.
type Group = (&'static str, fn(&str, &Passage) -> bool);

const GROUPS: [Group; 4] = [
    ("book", |path, _| path.starts_with("docs/book/") || path == "README.md"),
    ("help and messages", |path, passage| {
        let is_program = path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("tests.rs");
        let is_help = path.ends_with("args.rs") && passage.kind == PassageKind::Doc;
        is_program && (passage.kind == PassageKind::Text || is_help)
    }),
    ("comments", |path, passage| {
        path.ends_with(".rs") && matches!(passage.kind, PassageKind::Doc | PassageKind::Comment)
    }),
    ("changelog", |path, _| path == "CHANGELOG.md"),
];

/// Prints passages with their places. Equal seeds and files give equal passages.
pub(super) fn print(files: &[ProseFile], seeds: &[String]) {
    let mut random = PassageRng(
        seeds
            .join(" ")
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)),
    );
    for (title, belongs) in GROUPS {
        let mut candidates: Vec<(&str, &Passage)> = Vec::new();
        for file in files {
            let is_long = |passage: &&Passage| passage.text.split_whitespace().count() >= MIN_WORDS;
            let fitting = file.passages.iter().filter(is_long).filter(|passage| belongs(&file.path, passage));
            candidates.extend(fitting.map(|passage| (file.path.as_str(), passage)));
        }
        println!("## {title}: {} of {} passages", NR_EACH.min(candidates.len()), candidates.len());
        for number in 1..=NR_EACH.min(candidates.len()) {
            let (path, passage) = candidates.swap_remove(random.below(candidates.len()));
            println!("\n{number}. {path}:{}\n{}", passage.line, passage.text);
        }
        println!();
    }
}

/// SplitMix64.
struct PassageRng(u64);

impl PassageRng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("less than the bound")
    }
}
