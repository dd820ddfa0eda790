// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of keys: names, and numbers with a range.

use super::error::DescriptionFault;
use super::raw::OptionalKey;
use std::ops::RangeInclusive;
use toml::Spanned;

/// Maximum of latencies and periods: ten seconds. Larger values are taken for a wrong unit.
pub(super) const MAX_SPAN_NS: u64 = 10_000_000_000;

/// Reads a name: one to 64 letters, digits, and `-_.+`, so that it can be part of a path and of a command
/// line.
pub(super) fn name(value: &Spanned<String>) -> Result<String, DescriptionFault> {
    let text = value.get_ref();
    let fits = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
    if text.is_empty() || text.len() > 64 || !fits || text.starts_with(['-', '.']) {
        let help = "write 1 to 64 letters, digits and `-_.+`, not starting with `-` or `.`";
        return Err(DescriptionFault::from_value(value, format!("{text:?} cannot be a name"), help));
    }
    Ok(text.clone())
}

/// Reads a number and checks its range.
pub(super) fn number(value: &Spanned<u64>, range: RangeInclusive<u64>, unit: &str) -> Result<u64, DescriptionFault> {
    let given = *value.get_ref();
    if range.contains(&given) {
        return Ok(given);
    }
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let message = format!("{given}{unit} is out of range");
    Err(DescriptionFault::from_value(value, message, format!("write {} to {}", range.start(), range.end())))
}

/// Reads a number and checks its range; returns the default without a number.
pub(super) fn optional_number(
    value: &OptionalKey<u64>,
    range: RangeInclusive<u64>,
    unit: &str,
    default: u64,
) -> Result<u64, DescriptionFault> {
    value.as_ref().map_or(Ok(default), |value| number(value, range, unit))
}

/// Returns the source of a number, which is mandatory.
pub(super) fn source(text: &Spanned<String>, of: &str) -> Result<String, DescriptionFault> {
    if text.get_ref().trim().is_empty() {
        let help = "name the source of the number: a measurement or a publication";
        return Err(DescriptionFault::from_value(text, format!("{of} without a source"), help));
    }
    Ok(text.get_ref().clone())
}
