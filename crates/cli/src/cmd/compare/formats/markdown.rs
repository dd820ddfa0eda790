// SPDX-License-Identifier: GPL-2.0-or-later
//! A comparison as Markdown.

use super::{ExperimentReport, figure};
use crate::error::for_shell;
use fairlab_study::experiment::comparison::{ArmFigure, MetricRow};

pub(super) fn text(report: &ExperimentReport) -> String {
    let mut text = format!("### {}\n", plain(&report.title()));
    for (which, arm) in report.arms.iter().enumerate().skip(1) {
        text.push_str(&format!(
            "\n| metric | {} | {} | change | 95 % | p | verdict | could show |\n|:--|--:|--:|--:|--:|--:|:--|--:|\n",
            plain(&report.arms[0]),
            plain(arm)
        ));
        for row in &report.comparison.rows {
            text.push_str(&line(row, which));
        }
    }
    text.push('\n');
    for note in report.notes() {
        text.push_str(&format!("- {}\n", plain(&note)));
    }
    text.push_str(&format!("\n```console\n$ {}\n```\n", for_shell(&report.command)));
    text
}

fn line(row: &MetricRow, which: usize) -> String {
    let change = &row.changes[which - 1];
    let value = |arm: &ArmFigure| {
        let value = figure(&row.metric.unit, arm.value);
        if arm.deviation > 0.0 { format!("{value} ± {}", figure(&row.metric.unit, arm.deviation)) } else { value }
    };
    let or_nothing = |text: Option<String>| text.unwrap_or_default();
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
        plain(&row.metric.name),
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
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
