// SPDX-License-Identifier: GPL-2.0-or-later
//! The verdict of a comparison in one sentence, and one line about the metrics that do not differ.

use super::super::report::ExperimentReport;
use super::signed;
use super::values::unsigned;
use crate::output::figures::counted;
use fairlab_study::experiment::comparison::{ChangeVerdict, MetricChange, MetricRow};

/// Whether a change belongs into the table: significant, or not tested but with an interval without zero.
pub(super) fn differs(change: &MetricChange) -> bool {
    match change.verdict {
        ChangeVerdict::Better | ChangeVerdict::Worse => true,
        ChangeVerdict::NotFound | ChangeVerdict::Negligible | ChangeVerdict::Identical => false,
        ChangeVerdict::Untested => change.difference != 0.0,
        ChangeVerdict::TooFew | ChangeVerdict::Unjudged => {
            change.difference != 0.0 && change.interval.is_none_or(|[low, high]| low > 0.0 || high < 0.0)
        }
    }
}

/// Returns the verdict on an arm, beside the first one.
pub(super) fn sentence(report: &ExperimentReport, which: usize) -> String {
    let (arm, first) = (&report.arms[which], &report.arms[0]);
    let comparison = &report.comparison;
    if let Some(note) = report.identical_note(which) {
        return note;
    }
    if let Some(note) = report.too_few_note() {
        return format!("no verdict on `{arm}`: {}", note.strip_prefix("too few: ").unwrap_or(&note));
    }
    let with = |verdict: ChangeVerdict| -> Vec<&MetricRow> {
        comparison.rows.iter().filter(|row| row.changes[which - 1].verdict == verdict).collect()
    };
    let (worse, better) = (with(ChangeVerdict::Worse), with(ChangeVerdict::Better));
    let named = |name: &str, rows: &[&MetricRow]| match rows {
        [] => None,
        [row] => Some(format!("{name} than `{first}` in {}", change_of(row, which))),
        rows => {
            let most = change_of(largest(rows, which), which);
            Some(format!("{name} than `{first}` in {} metrics, most in {most}", rows.len()))
        }
    };
    let parts: Vec<String> = [named("worse", &worse), named("better", &better)].into_iter().flatten().collect();
    if !parts.is_empty() {
        return format!("`{arm}` is {}", parts.join(", and "));
    }
    if !with(ChangeVerdict::Untested).is_empty() {
        return format!("no verdict on `{arm}`: the runs of an arm do not vary, so that nothing can be tested");
    }
    let metrics = counted(comparison.tests / comparison.identical.len(), "metric");
    if with(ChangeVerdict::NotFound).is_empty() {
        let percent = comparison.matters_percent;
        return format!("no difference that matters ({percent} %) between `{first}` and `{arm}` in {metrics}");
    }
    format!("no significant difference between `{first}` and `{arm}` in {metrics}")
}

pub(super) fn others(rows: &[&MetricRow], which: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let verdicts = || rows.iter().map(|row| row.changes[which - 1].verdict);
    if verdicts().all(|verdict| verdict == ChangeVerdict::Identical) {
        return format!("{}: identical; --all prints them", counted(rows.len(), "metric"));
    }
    if verdicts().any(|verdict| verdict == ChangeVerdict::TooFew) {
        if rows.iter().all(|row| row.changes[which - 1].interval.is_none()) {
            return format!("{} without a difference; --all prints them", counted(rows.len(), "metric"));
        }
        return format!("{} whose confidence intervals contain 0; --all prints them", counted(rows.len(), "metric"));
    }
    let nr_negligible = verdicts().filter(|verdict| *verdict == ChangeVerdict::Negligible).count();
    let matters = |nr: usize| format!("{} without a difference that matters", counted(nr, "metric"));
    if verdicts().all(|verdict| matches!(verdict, ChangeVerdict::Negligible | ChangeVerdict::Identical)) {
        return format!("{}; --all prints them", matters(rows.len()));
    }
    let effects = rows.iter().filter(|row| row.changes[which - 1].verdict != ChangeVerdict::Negligible);
    let effects = effects.filter_map(|row| row.changes[which - 1].could_show_percent);
    let (low, high) = effects.fold((f64::INFINITY, 0.0_f64), |(low, high), effect| (low.min(effect), high.max(effect)));
    let detectable = match (low, high) {
        (low, _) if low.is_infinite() => String::new(),
        (low, high) if unsigned(low) == unsigned(high) => format!(" (minimum detectable effect {} %)", unsigned(low)),
        (low, high) => format!(" (minimum detectable effect {} to {} %)", unsigned(low), unsigned(high)),
    };
    let others = counted(rows.len() - nr_negligible, "metric");
    let negligible = if nr_negligible > 0 { format!("{}, ", matters(nr_negligible)) } else { String::new() };
    format!("{negligible}{others} without a significant difference{detectable}; --all prints them")
}

fn largest<'a>(rows: &[&'a MetricRow], which: usize) -> &'a MetricRow {
    let size = |row: &MetricRow| row.changes[which - 1].percent.unwrap_or(0.0).abs();
    rows.iter().copied().reduce(|most, row| if size(row) > size(most) { row } else { most }).expect("there are rows")
}

fn change_of(row: &MetricRow, which: usize) -> String {
    let change = row.changes[which - 1].percent.map_or_else(String::new, |percent| format!(" ({} %)", signed(percent)));
    format!("{}{change}", row.metric.name)
}
