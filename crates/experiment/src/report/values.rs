// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of metrics for people.

use crate::comparison::{ArmFigure, ChangeVerdict, MetricChange, MetricRow};
use fairlab_measure::figures::time;

/// Formats the value of a metric with its unit, times and energies with three digits.
pub fn metric_text(unit: &str, value: f64) -> String {
    let ns = |per: f64| {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", time((value * per).abs().round() as u64))
    };
    match unit {
        "ns" => ns(1.0),
        "us" => ns(1e3),
        "ms" => ns(1e6),
        "s" => ns(1e9),
        "uJ" => energy(value),
        _ => format!("{}{unit}", number(value)),
    }
}

/// Formats an energy in uJ with three digits.
fn energy(uj: f64) -> String {
    let (value, unit) = match uj.abs() {
        _ if uj == 0.0 => return "0".to_owned(),
        ..999.5 => (uj, "uJ"),
        ..999.5e3 => (uj / 1e3, "mJ"),
        _ => (uj / 1e6, "J"),
    };
    let digits = match value.abs() {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{unit}")
}

fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size >= 9.9995e6 => format!("{:.2}M", value / 1e6),
        _ if size >= 99_995.0 => format!("{:.1}k", value / 1e3),
        _ if size >= 99.995 || (value.fract() == 0.0) => format!("{value:.0}"),
        _ if size >= 9.9995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A percentage with its sign, with three digits at most.
pub fn signed(percent: f64) -> String {
    let digits = if percent.abs() < 9.95 { 1 } else { 0 };
    format!("{percent:+.digits$}")
}

/// Formats a percentage like [`signed`], without a plus sign.
pub fn unsigned(percent: f64) -> String {
    signed(percent).trim_start_matches('+').to_owned()
}

/// Formats the value of an arm; a lower bound is marked.
pub fn figure_text(unit: &str, arm: &ArmFigure) -> String {
    let mark = if arm.is_lower_bound { "≥" } else { "" };
    format!("{mark}{}", metric_text(unit, arm.value))
}

/// Formats the value of an arm with the standard deviation of its runs in percent, if they differ.
pub fn spread_text(row: &MetricRow, arm: &ArmFigure) -> String {
    let value = figure_text(&row.metric.unit, arm);
    // Beside a value that is nearly 0, a percentage says nothing.
    if arm.deviation == 0.0 || arm.value == 0.0 || arm.deviation_percent() >= 1000.0 {
        return value;
    }
    format!("{value} ±{}", unsigned(arm.deviation_percent()))
}

/// Formats a change with its interval, in percent; in the metric's unit where the first arm has nothing.
pub fn change_text(row: &MetricRow, change: &MetricChange) -> String {
    if change.verdict == ChangeVerdict::Identical {
        return String::new();
    }
    let Some(percent) = change.percent else {
        let sign = if change.difference < 0.0 { "-" } else { "+" };
        return format!("{sign}{}", metric_text(&row.metric.unit, change.difference.abs()));
    };
    let at_least = if change.rests_on_open_waits { "≥" } else { "" };
    let interval = change.percent_interval.map(|[low, high]| format!(" ({}..{})", signed(low), signed(high)));
    format!("{at_least}{}{}", signed(percent), interval.unwrap_or_default())
}

/// Returns the word of a verdict in a table; empty for a metric of which neither direction is better.
pub const fn verdict_word(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Better => "better",
        ChangeVerdict::Worse => "worse",
        ChangeVerdict::NotFound => "n.s.",
        ChangeVerdict::Negligible => "negligible",
        ChangeVerdict::TooFew => "too few",
        ChangeVerdict::Identical => "same",
        ChangeVerdict::Untested => "once",
        ChangeVerdict::Unjudged => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_values_have_their_sign() {
        assert_eq!([-8.0e6, 8.0e6, 0.0].map(|ns| metric_text("ns", ns)), ["-8.00ms", "8.00ms", "0"]);
        assert_eq!((metric_text("uJ", -2e6), metric_text("", -3.0)), ("-2.00J".to_owned(), "-3".to_owned()));
    }

    #[test]
    fn energies_have_three_digits() {
        let texts = [0.0, 999.0, 999.6, 24_160.0, 999_600.0, 26_854_000.0, 1.5e9].map(|uj| metric_text("uJ", uj));
        assert_eq!(texts, ["0", "999uJ", "1.00mJ", "24.2mJ", "1.00J", "26.9J", "1500J"]);
    }
}
