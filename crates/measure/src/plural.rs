// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers with their nouns, for sentences in findings, explanations and notes.

use std::fmt::Display;

/// Formats a number with its noun, and with a verb if the noun has one: `1 pass was`, `2 passes were`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, singular: &str, plural: &str) -> String {
    let noun = if number == N::from(1) { singular } else { plural };
    format!("{number} {noun}")
}
