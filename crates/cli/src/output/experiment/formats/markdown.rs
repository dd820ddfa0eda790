// SPDX-License-Identifier: GPL-2.0-or-later
//! A comparison as Markdown.

use crate::values::error::quote_for_shell;
use fairlab_experiment::comparison::{ArmFigure, MetricRow};
use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::report::values::{figure_text, metric_text};

pub(super) fn text(report: &ComparisonReport) -> String {
    let mut text = format!("### {}\n", escape_cell(&report.title()));
    for (which, arm) in report.arms.iter().enumerate().skip(1) {
        text.push_str(&format!(
            "\n| metric | {} | {} | change | 95 % | p | verdict | could show |\n|:--|--:|--:|--:|--:|--:|:--|--:|\n",
            escape_cell(&report.arms[0]),
            escape_cell(arm)
        ));
        for row in &report.comparison.rows {
            text.push_str(&table_row(row, which));
        }
    }
    text.push('\n');
    for note in report.notes() {
        text.push_str(&format!("- {}\n", escape_cell(&note.to_string())));
    }
    text.push_str(&format!("\n```console\n$ {}\n```\n", quote_for_shell(&report.command)));
    text
}

fn table_row(row: &MetricRow, which: usize) -> String {
    let change = &row.changes[which - 1];
    let value = |arm: &ArmFigure| {
        let value = figure_text(&row.metric.unit, arm);
        if arm.deviation > 0.0 { format!("{value} ± {}", metric_text(&row.metric.unit, arm.deviation)) } else { value }
    };
    let or_nothing = |text: Option<String>| text.unwrap_or_default();
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
        escape_cell(&row.metric.name),
        value(&row.arms[0]),
        value(&row.arms[which]),
        or_nothing(change.percent.map(|percent| format!("{percent:+.2} %"))),
        or_nothing(change.percent_interval.map(|[low, high]| format!("{low:+.2} to {high:+.2} %"))),
        or_nothing(change.p_corrected.map(|p| format!("{p:.4}"))),
        change.verdict,
        or_nothing(change.could_show_percent.map(|least| format!("{least:.2} %")))
    )
}

/// A text that ends no cell.
fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
