// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of metrics for people.

use crate::output::figures::time;

pub(crate) fn metric_text(unit: &str, value: f64) -> String {
    let ns = |per: f64| time((value * per).round().max(0.0) as u64);
    match unit {
        "ns" => ns(1.0),
        "us" => ns(1e3),
        "ms" => ns(1e6),
        "s" => ns(1e9),
        "uJ" => format!("{:.3}J", value / 1e6),
        _ => format!("{}{unit}", number(value)),
    }
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
pub(crate) fn signed(percent: f64) -> String {
    let digits = if percent.abs() < 9.95 { 1 } else { 0 };
    format!("{percent:+.digits$}")
}

/// Formats a percentage like [`signed`], without a plus sign.
pub(super) fn unsigned(percent: f64) -> String {
    signed(percent).trim_start_matches('+').to_owned()
}
