// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers with their nouns, for sentences in findings, explanations and notes.

use fairlab_board::format_cpu_list;
use std::fmt::Display;

/// Formats a number with its noun, and with a verb if the noun has one: `1 pass was`, `2 passes were`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, singular: &str, plural: &str) -> String {
    let noun = if number == N::from(1) { singular } else { plural };
    format!("{number} {noun}")
}

/// Formats a number with a noun whose plural is regular: `1 run`, `2 runs`, `2 passes`.
pub fn counted_regular<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if noun.ends_with("ss") || noun.ends_with("ch") { "es" } else { "s" };
    counted(number, noun, &format!("{noun}{ending}"))
}

/// Formats CPU numbers, which must be ascending, with their noun: `CPU 7`, `CPUs 0-3`.
pub fn cpus_named(cpus: &[u32]) -> String {
    format!("CPU{} {}", if cpus.len() == 1 { "" } else { "s" }, format_cpu_list(cpus))
}
