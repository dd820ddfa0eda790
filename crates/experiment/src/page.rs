// SPDX-License-Identifier: GPL-2.0-or-later
//! HTML page of a comparison, in one file without external resources: effects with their intervals, tables,
//! and the method.

use super::comparison::{ChangeVerdict, Comparison, MetricChange, MetricRow};
use crate::charts::{self, EffectPoint};
use crate::document::document;
use maud::{Markup, PreEscaped, html};

/// Texts of a page besides the numbers.
#[derive(Clone, Debug, Default)]
pub struct PageHead {
    /// Title of the comparison.
    pub title: String,
    /// Names of the arms; the first one is the baseline.
    pub arms: Vec<String>,
    /// Notes on the method.
    pub notes: Vec<String>,
    /// Command that repeats the comparison.
    pub command: String,
}

/// Formats a value of a metric with its unit.
pub type FormatValueFn<'a> = &'a dyn Fn(&MetricRow, f64) -> String;

/// Returns the HTML page of a comparison.
pub fn page(comparison: &Comparison, head: &PageHead, show: FormatValueFn<'_>) -> String {
    let body = html! {
        h1 { (head.title) }
        p.source { (comparison.repetitions) " repetitions of each arm, " (comparison.statistic.to_string()) " of runs" }
        @for (which, arm) in head.arms.iter().enumerate().skip(1) {
            h2 { (arm) " compared with " (head.arms[0]) }
            (effects(comparison, which))
            (table(comparison, head, which, show))
        }
        h2 { "Method" }
        ul { @for note in &head.notes { li { (note) } } }
        pre { (head.command) }
        p.source { "fairlab " (env!("CARGO_PKG_VERSION")) }
    };
    document(&head.title, &body)
}

/// Draws the changes of an arm in percent, with their intervals.
fn effects(comparison: &Comparison, arm: usize) -> Markup {
    let effect = |row: &MetricRow| -> Option<EffectPoint> {
        let change = &row.changes[arm - 1];
        Some((row.metric.name.clone(), change.percent?, change.percent_interval, None))
    };
    let rows: Vec<EffectPoint> = comparison.rows.iter().filter_map(effect).collect();
    if rows.is_empty() {
        return html! {};
    }
    let picture = charts::effects("effects", "Change from the first arm", "%", &rows);
    html! { figure { (PreEscaped(picture.svg)) } }
}

fn table(comparison: &Comparison, head: &PageHead, arm: usize, show: FormatValueFn<'_>) -> Markup {
    html! {
        table {
            thead { tr {
                th { "metric" } th.n { (head.arms[0]) } th.n { (head.arms[arm]) } th.n { "change" } th.n { "95 %" }
                th.n { "p" } th { "verdict" } th.n { "could show" }
            } }
            tbody { @for row in &comparison.rows { (table_row(row, arm, show)) } }
        }
    }
}

fn table_row(row: &MetricRow, arm: usize, show: FormatValueFn<'_>) -> Markup {
    let change = &row.changes[arm - 1];
    let figure = |which: usize| {
        let figure = &row.arms[which];
        html! { td.n { @if figure.is_lower_bound { "≥" } (show(row, figure.value)) @if figure.deviation > 0.0 { " ±" (show(row, figure.deviation)) } } }
    };
    html! {
        tr {
            td { (row.metric.name) }
            (figure(0)) (figure(arm))
            td.n { (percent(change)) }
            td.n { @if let Some([low, high]) = change.percent_interval { (format!("{low:+.2} to {high:+.2} %")) } }
            td.n { @if let Some(p) = change.p_corrected { (format!("{p:.4}")) } }
            td class=(class(change.verdict)) { (change.verdict.to_string()) }
            td.n { @if let Some(least) = change.could_show_percent { (format!("{least:.2} %")) } }
        }
    }
}

fn percent(change: &MetricChange) -> String {
    change.percent.map_or_else(String::new, |percent| format!("{percent:+.2} %"))
}

/// Returns the CSS class of a verdict; the colours are those of a study's verdicts.
const fn class(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Better => "reproduced",
        ChangeVerdict::Worse => "not-reproduced",
        ChangeVerdict::NotFound
        | ChangeVerdict::Negligible
        | ChangeVerdict::TooFew
        | ChangeVerdict::Identical
        | ChangeVerdict::Untested
        | ChangeVerdict::Unjudged => "",
    }
}
