// SPDX-License-Identifier: GPL-2.0-or-later
//! The verdict of a comparison in one sentence, and one line about the metrics that do not differ.

use super::super::report::ExperimentReport;
use super::signed;
use super::values::unsigned;
use crate::output::figures::counted;
use fairlab_study::experiment::comparison::{ChangeVerdict, MetricChange, MetricRow};
use fairlab_study::experiment::work::{WorkChange, is_at_equal_work};

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

/// Returns the verdict on an arm, beside the first one. It begins with different amounts of work.
pub(super) fn sentence(report: &ExperimentReport, which: usize) -> String {
    match work_note(report, which) {
        Some(note) => format!("{note}; {}", judgement(report, which)),
        None => judgement(report, which),
    }
}

/// Most task families whose amounts of work are named.
const MAX_NAMED: usize = 3;

/// Describes the amounts of work that differ from those of the first arm.
fn work_note(report: &ExperimentReport, which: usize) -> Option<String> {
    let changes = &report.comparison.work_changes[which - 1];
    let size = |change: &WorkChange| change.percent.map_or(f64::INFINITY, f64::abs);
    let mut largest: Vec<&WorkChange> = changes.iter().collect();
    largest.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let named = largest.iter().take(MAX_NAMED).map(|change| {
        let percent =
            change.percent.map_or_else(|| "none before".to_owned(), |percent| format!("{} %", signed(percent)));
        format!("{} of {} {percent}", change.amount, change.family)
    });
    let named: Vec<String> = named.collect();
    let more =
        if changes.len() > MAX_NAMED { format!(" and {} more", changes.len() - MAX_NAMED) } else { String::new() };
    let sums = if report.comparison.rows.iter().any(|row| is_at_equal_work(&row.metric)) {
        ", so sums are compared at equal work"
    } else {
        ""
    };
    (!named.is_empty())
        .then(|| format!("`{}` did a different amount of work ({}{more}){sums}", report.arms[which], named.join(", ")))
}

fn judgement(report: &ExperimentReport, which: usize) -> String {
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
        if comparison.repetitions == 1 {
            return format!("one run of `{first}` and one of `{arm}`: no difference is tested");
        }
        return format!("no verdict on `{arm}`: the runs of an arm do not vary, so that nothing can be tested");
    }
    let nr_tested = comparison.rows.iter().filter(|row| row.changes[which - 1].p.is_some()).count();
    let metrics = counted(nr_tested, "tested metric");
    if with(ChangeVerdict::NotFound).is_empty() {
        let percent = comparison.matters_percent;
        return format!("no difference that matters ({percent} %) between `{first}` and `{arm}` in {metrics}");
    }
    format!("no significant difference between `{first}` and `{arm}` in {metrics}")
}

/// Returns a line about the metrics that are not in the table, by the reason.
pub(super) fn others(rows: &[&MetricRow], which: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let change = |row: &&&MetricRow| row.changes[which - 1].clone();
    let with = |verdict: ChangeVerdict| rows.iter().filter(|row| change(row).verdict == verdict).count();
    let mut parts = Vec::new();
    let identical = with(ChangeVerdict::Identical);
    if identical > 0 {
        parts.push(format!("{}: identical", counted(identical, "metric")));
    }
    let negligible = with(ChangeVerdict::Negligible);
    if negligible > 0 {
        parts.push(format!("{} without a difference that matters", counted(negligible, "metric")));
    }
    let effects = rows.iter().filter(|row| change(row).verdict == ChangeVerdict::NotFound);
    let effects = effects.filter_map(|row| row.changes[which - 1].could_show_percent);
    let (low, high) = effects.fold((f64::INFINITY, 0.0_f64), |(low, high), effect| (low.min(effect), high.max(effect)));
    let detectable = match (low, high) {
        (low, _) if low.is_infinite() => String::new(),
        (low, high) if unsigned(low) == unsigned(high) => format!(" (minimum detectable effect {} %)", unsigned(low)),
        (low, high) => format!(" (minimum detectable effect {} to {} %)", unsigned(low), unsigned(high)),
    };
    let not_found = with(ChangeVerdict::NotFound);
    if not_found > 0 {
        parts.push(format!("{} without a significant difference{detectable}", counted(not_found, "tested metric")));
    }
    let too_few = rows.iter().filter(|row| change(row).verdict == ChangeVerdict::TooFew);
    let (with_interval, without): (Vec<&&MetricRow>, Vec<&&MetricRow>) =
        too_few.partition(|row| row.changes[which - 1].interval.is_some());
    if !with_interval.is_empty() {
        parts.push(format!("{} whose confidence intervals contain 0", counted(with_interval.len(), "metric")));
    }
    let same = without.len() + with(ChangeVerdict::Untested);
    if same > 0 {
        parts.push(format!("{} without a difference", counted(same, "metric")));
    }
    let untested = rows.iter().filter(|row| change(row).verdict == ChangeVerdict::Unjudged);
    let untested: Vec<&str> = untested.map(|row| row.metric.name.as_str()).collect();
    if !untested.is_empty() {
        let more = untested.len().saturating_sub(MAX_NAMED_UNTESTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = untested.iter().take(MAX_NAMED_UNTESTED).copied().collect::<Vec<_>>().join(", ");
        parts.push(format!("{} not tested ({named}{more})", counted(untested.len(), "metric")));
    }
    format!("{}; --all prints them", parts.join(", "))
}

/// Most metrics that are named because they are not tested.
const MAX_NAMED_UNTESTED: usize = 6;

fn largest<'a>(rows: &[&'a MetricRow], which: usize) -> &'a MetricRow {
    let size = |row: &MetricRow| row.changes[which - 1].percent.unwrap_or(0.0).abs();
    rows.iter().copied().reduce(|most, row| if size(row) > size(most) { row } else { most }).expect("there are rows")
}

fn change_of(row: &MetricRow, which: usize) -> String {
    let change = &row.changes[which - 1];
    let open = if change.rests_on_open_waits { ", waits that have not ended" } else { "" };
    let percent = match change.percent {
        Some(percent) => format!(" ({} %{open})", signed(percent)),
        None if open.is_empty() => String::new(),
        None => " (waits that have not ended)".to_owned(),
    };
    format!("{}{percent}", row.metric.name)
}
