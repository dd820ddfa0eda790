// SPDX-License-Identifier: GPL-2.0-or-later
//! Forms that mailing lists know: the `baseline(std%) compare%(std%)` of scheduler patches, mmtests' Amean and Hmean, and the `%stddev` and
//! `%change` of the kernel test robot.
//!
//! In the first two a positive change is one for the better, whichever way that is; so they leave out metrics of which neither way is. The
//! robot's are changes as they are, of all metrics. None has a place for a verdict: where so few repetitions can find nothing, a line says so.

use fairlab_experiment::comparison::{ArmFigure, ChangeVerdict, MetricChange, MetricRow};
use fairlab_experiment::metrics::MetricDirection;
use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::report::notes::Note;

fn judged(report: &ComparisonReport) -> impl Iterator<Item = &MetricRow> {
    report.comparison.rows.iter().filter(|row| row.metric.better != MetricDirection::Neither)
}

/// The first word of what was run, as cases are called.
fn case_name(report: &ComparisonReport) -> String {
    let first = report.workload().split_whitespace().next().unwrap_or_default();
    std::path::Path::new(first).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

pub(super) fn std(report: &ComparisonReport) -> String {
    let mut text = String::new();
    let case = case_name(report);
    for (which, arm) in report.arms.iter().enumerate().skip(1) {
        text.push_str(&format!("baseline: {}; compare: {arm}\n", report.arms[0]));
        text.push_str("case            \tload            \tbaseline(std%)\tcompare%( std%)\n");
        for row in judged(report) {
            let (first, other) = (&row.arms[0], &row.arms[which]);
            text.push_str(&format!(
                "{case:<16}\t{:<16}\t {:.2} ({:6.2})\t{:+7.2} ({:6.2})\n",
                row.metric.name,
                1.0,
                first.deviation_percent(),
                row.gain_percent(which),
                other.deviation_percent()
            ));
        }
        text.push('\n');
    }
    text + &too_few_note(report)
}

fn too_few_note(report: &ComparisonReport) -> String {
    report.too_few().map_or_else(String::new, |note| format!("# {}\n", Note::TooFew(note)))
}

fn harmonic(values: &[f64]) -> f64 {
    values.len() as f64 / values.iter().map(|value| 1.0 / value).sum::<f64>()
}

fn arithmetic(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn mmtests(report: &ComparisonReport) -> String {
    let wide = report.arms.iter().map(|arm| arm.chars().count()).max().unwrap_or(0).max(24) + 2;
    let head = |text: &mut String| {
        text.push_str(&" ".repeat(32));
        for arm in &report.arms {
            text.push_str(&format!("{arm:>wide$}"));
        }
        text.push('\n');
    };
    let line = |text: &mut String, what: &str, name: &str, cells: &[(f64, f64, bool)]| {
        text.push_str(&format!("{what:<9} {name:<22}"));
        for (value, gain, is_found) in cells {
            let percent = if *is_found { format!("*{gain:8.2}%*") } else { format!("({gain:8.2}%)") };
            let cell = format!("{value:12.4} {percent}");
            text.push_str(&format!("{cell:>wide$}"));
        }
        text.push('\n');
    };
    let mut text = String::new();
    head(&mut text);
    for row in judged(report) {
        let has_harmonic = row.metric.better == MetricDirection::More
            && row.arms.iter().all(|arm| arm.runs.iter().all(|run| *run > 0.0));
        let (what, mean): (&str, fn(&[f64]) -> f64) =
            if has_harmonic { ("Hmean", harmonic) } else { ("Amean", arithmetic) };
        let means: Vec<f64> = row.arms.iter().map(|arm| mean(&arm.runs)).collect();
        let is_found = |which: usize| which > 0 && is_found(&row.changes[which - 1]);
        let cells: Vec<_> = means
            .iter()
            .enumerate()
            .map(|(which, value)| (*value, row.gain_between(means[0], *value), is_found(which)))
            .collect();
        line(&mut text, what, &row.metric.name, &cells);
        // Less spread is better, whatever is measured.
        let spread = |what: fn(&ArmFigure) -> f64| {
            let first = what(&row.arms[0]);
            let gain = move |value: f64| if first == 0.0 { 0.0 } else { 100.0 * (1.0 - value / first) };
            row.arms.iter().map(|arm| (what(arm), gain(what(arm)), false)).collect::<Vec<_>>()
        };
        line(&mut text, "Stddev", &row.metric.name, &spread(|arm| arm.deviation));
        line(&mut text, "CoeffVar", &row.metric.name, &spread(ArmFigure::deviation_percent));
    }
    text + &too_few_note(report)
}

const fn is_found(change: &MetricChange) -> bool {
    matches!(change.verdict, ChangeVerdict::Better | ChangeVerdict::Worse)
}

pub(super) fn lkp(report: &ComparisonReport) -> String {
    let mut text = String::new();
    let subject = &report.subjects[0];
    let rule = "=".repeat(89);
    text.push_str(&format!(
        "{rule}\nworkload/machine/kernel:\n  {}/{}/{}\n\ncommit:\n",
        subject.workload, subject.machine, subject.kernel
    ));
    for arm in &report.arms {
        text.push_str(&format!("  {arm}\n"));
    }
    let clip = |arm: &str| arm.chars().take(24).collect::<String>();
    text.push_str(&format!("\n{:>16}", clip(&report.arms[0])));
    for arm in &report.arms[1..] {
        text.push_str(&format!(" {:>27}", clip(arm)));
    }
    text.push_str(&format!("\n{} {}\n", "-".repeat(16), vec!["-".repeat(27); report.arms.len() - 1].join(" ")));
    text.push_str(&format!("         %stddev{}\n", "     %change         %stddev".repeat(report.arms.len() - 1)));
    text.push_str(&format!("             \\  {}\n", "        |                \\  ".repeat(report.arms.len() - 1)));
    let case = case_name(report);
    for row in &report.comparison.rows {
        text.push_str(&lkp_value(&row.arms[0], 10));
        for (change, arm) in row.changes.iter().zip(&row.arms[1..]) {
            let percent = change
                .percent
                .map_or_else(|| format!("{:>+10.1} ", change.difference), |percent| format!("{percent:>+10.1}%"));
            text.push_str(&percent);
            text.push_str(&lkp_value(arm, 11));
        }
        text.push_str(&format!("        {case}.{}\n", row.metric.name.replace(": ", ".").replace([' ', ','], "_")));
    }
    text + &too_few_note(report)
}

/// A value as the robot writes it: with its deviation in percent if that is a percent or more.
fn lkp_value(arm: &ArmFigure, wide: usize) -> String {
    let value = arm.value;
    let number = match value.abs() {
        size if size >= 1000.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.5}"),
    };
    let percent = arm.deviation_percent();
    let spread = if percent >= 1.0 { format!(" ± {percent:2.0}%") } else { " ".repeat(6) };
    format!("{number:>wide$}{spread}")
}
