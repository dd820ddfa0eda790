// SPDX-License-Identifier: GPL-2.0-or-later
//! fairlab's own table: for each arm but the first, its metrics beside those of the first.

use super::ExperimentReport;
use crate::output::table::{Cell, Table};
use crate::output::{Styles, sanitize, wrap};
use fairlab_experiment::comparison::{ArmFigure, ChangeVerdict, MetricRow};
use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::report::notes::Note;
use fairlab_experiment::report::values::{change_text, figure_text, spread_text, unsigned, verdict_word};
use fairlab_experiment::report::verdict::OtherMetrics;
use fairlab_run::first_difference::FirstDifference;
use fairlab_sched::units::Nanos;

pub(super) fn text(experiment: &ExperimentReport, styles: Styles) -> String {
    let report = &experiment.compared;
    let mut text = report.stop_note().map_or_else(String::new, |stopped| wrap(&stopped.to_string(), 2));
    text.push_str(&wrap(&styles.bold(&report.title()), 2));
    for (which, arm) in report.arms.iter().enumerate() {
        text.push_str(&wrap(&format!("  {}: {arm}", letter(which)), 5));
        for missing in report.missing.get(which).into_iter().flatten() {
            text.push_str(&wrap(&format!("     {}", missing.warning()), 7));
        }
    }
    for which in 1..report.arms.len() {
        text.push('\n');
        text.push_str(&wrap(&styles.bold(&report.verdict(which).to_string()), 2));
        let (shown, others) = report.rows_of(which);
        if !shown.is_empty() {
            text.push('\n');
            text.push_str(&table(&shown, which, report, styles));
        }
        if !others.is_empty() {
            text.push_str(&wrap(&format!("{}; --all prints them", OtherMetrics::new(&others, which)), 2));
        }
        text.push_str(&first_difference(experiment, which));
    }
    let partial = report.partial_note().filter(|_| report.has_all_rows);
    if partial.is_some() {
        text.push_str("\nnot in all runs\n\n");
        text.push_str(&partial_table(report, styles));
    }
    text.push('\n');
    // The lines above contain the content of these notes.
    let is_printed = |note: &Note| match note {
        Note::Partial { .. } => report.has_all_rows,
        Note::Stopped { .. } | Note::IdenticalArms { .. } | Note::TooFew(_) | Note::MissingAddition { .. } => true,
        _ => false,
    };
    for note in report.notes().iter().filter(|note| !is_printed(note)) {
        text.push_str(&wrap(&note.to_string(), 2));
    }
    text
}

/// Returns the first difference of an arm from the first one, with the reasons in both; empty if there is none.
fn first_difference(report: &ExperimentReport, which: usize) -> String {
    let Some(difference) = report.first_differences.get(which).and_then(Option::as_ref) else { return String::new() };
    let FirstDifference { at_ns, task, runs } = difference;
    let clauses = [0, which].into_iter().zip(runs).map(|(arm, run)| format!("{} {}", letter(arm), run.clause()));
    let clauses = clauses.collect::<Vec<_>>().join(", ");
    let mut text = wrap(&sanitize(&format!("first difference at {}: task {task}: {clauses}", Nanos(*at_ns))), 2);
    for (arm, claims) in [0, which].into_iter().zip(difference.decisions()) {
        for sentence in claims.into_iter().flat_map(|claim| &claim.text) {
            text.push_str(&wrap(&sanitize(&format!("  {}: {sentence}", letter(arm))), 5));
        }
    }
    text
}

fn letter(which: usize) -> String {
    u8::try_from(which)
        .ok()
        .filter(|which| *which < 26)
        .map_or_else(|| format!("#{which}"), |which| char::from(b'A' + which).to_string())
}

/// Eighty columns: families have a line of their own, percentages stand without their sign, and a verdict is one word.
/// Single runs have neither spreads nor verdicts, and what differs has been detected.
fn table(rows: &[&MetricRow], which: usize, report: &ComparisonReport, styles: Styles) -> String {
    let is_repeated = report.comparison.repetitions > 1;
    let has_effects = is_repeated && report.has_all_rows;
    let spread = if is_repeated { " ±%" } else { "" };
    let (first, other) = (format!("{}{spread}", letter(0)), format!("{}{spread}", letter(which)));
    let table = Table::default().left(["metric"]).right([first, other]);
    let mut table = if is_repeated { table.right(["change % (95 %)"]).left([""]) } else { table.right(["change %"]) };
    if has_effects {
        table = table.right(["MDE %"]);
    }
    let mut family = "";
    for row in rows {
        let (of, name) =
            row.metric.name.split_once(": ").map_or(("", row.metric.name.as_str()), |(of, name)| (of, name));
        if of != family && !of.is_empty() {
            let mut cells = vec![Cell::default(); table.nr_columns()];
            cells[0] = of.into();
            table.row(cells);
        }
        family = of;
        let change = &row.changes[which - 1];
        let mut cells: Vec<Cell> = vec![
            format!("{}{name}", if of.is_empty() { "" } else { "  " }).into(),
            spread_text(row, &row.arms[0]).into(),
            spread_text(row, &row.arms[which]).into(),
            change_text(row, change).into(),
        ];
        if is_repeated {
            cells.push(verdict_cell(change.verdict));
        }
        if has_effects {
            cells.push(change.could_show_percent.map_or_else(String::new, unsigned).into());
        }
        table.row(cells);
    }
    table.render(styles)
}

/// Returns the table of metrics that some runs lack, with the values of the arms that have them.
fn partial_table(report: &ComparisonReport, styles: Styles) -> String {
    let letters: Vec<String> = (0..report.arms.len()).map(letter).collect();
    let mut table = Table::default().left(["metric"]).right(&letters);
    for row in &report.comparison.partial {
        let mut cells: Vec<Cell> = vec![row.metric.name.as_str().into()];
        let figure = |arm: &Option<ArmFigure>| match arm {
            Some(arm) => figure_text(&row.metric.unit, arm).into(),
            None => Cell::from("-").quiet(),
        };
        cells.extend(row.arms.iter().map(figure));
        table.row(cells);
    }
    table.render(styles)
}

fn verdict_cell(verdict: ChangeVerdict) -> Cell {
    let cell = Cell::from(verdict_word(verdict));
    match verdict {
        ChangeVerdict::Better => cell.good(),
        ChangeVerdict::Worse => cell.bad(),
        ChangeVerdict::Negligible | ChangeVerdict::Untested => cell.quiet(),
        ChangeVerdict::TooFew => cell.notable(),
        ChangeVerdict::NotFound | ChangeVerdict::Identical | ChangeVerdict::Unjudged => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn arms_have_letters_and_then_numbers() {
        assert_eq!([0, 1, 25, 26, 300].map(letter), ["A", "B", "Z", "#26", "#300"]);
    }
}
