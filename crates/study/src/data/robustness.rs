// SPDX-License-Identifier: GPL-2.0-or-later
//! `[robustness]`: settings that are varied, to find out which verdicts depend on them.
//!
//! The table `robustness` has other seeds, half and twice the length, and permutations of simultaneous events. It is
//! filled only without `--quick`.

use super::data_study::DataStudy;
use super::execute::Variation;
use super::keys::RobustnessDefinition;
use crate::definition::{RowDefinition, TableDefinition};
use crate::error::StudyError;
use crate::report::{MeasuredFigure, ReportRow, ReportTable, RowVerdict};
use fairlab_experiment::pool;
use fairlab_run::settings::Settings;
use fairlab_workload::message::Message;

/// Distance between the first seeds of two sets.
const OTHER_SEEDS: u64 = 1000;

impl RobustnessDefinition {
    /// Returns the variations, without the one that changes nothing.
    fn variations(&self, base: &Variation) -> Vec<(String, Variation)> {
        let mut varied = Vec::new();
        for set in 1..=self.other_seeds {
            varied.push((format!("other seeds {set}"), Variation { seeds_from: set * OTHER_SEEDS, ..base.clone() }));
        }
        if self.spans {
            for (name, span) in [("half as long", (1, 2)), ("twice as long", (2, 1))] {
                varied.push((name.to_owned(), Variation { span: Some(span), ..base.clone() }));
            }
        }
        for number in 1..=self.perturb {
            let settings = Settings { perturb: Some(number), ..base.settings.clone() };
            varied.push((format!("perturbed {number}"), Variation { settings, ..base.clone() }));
        }
        varied
    }
}

/// Table name, row label and arm of a row, with its verdict.
type JudgedRow = ((String, String, String), RowVerdict);

/// Returns the verdicts of all rows with a published value.
fn judged_rows(tables: &[ReportTable]) -> Vec<JudgedRow> {
    let rows = tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    rows.filter(|(_, row)| row.verdict != RowVerdict::NotPublished)
        .map(|(table, row)| ((table.name.clone(), row.label.clone(), row.arm.clone()), row.verdict))
        .collect()
}

/// Fills the table.
///
/// # Errors
/// If a run fails.
pub(super) fn table(
    study: &DataStudy<'_>,
    definition: &TableDefinition,
    varied: &RobustnessDefinition,
    on_case: &(dyn Fn(&str, f64) + Sync),
) -> Result<ReportTable, StudyError> {
    let mut cases = if varied.quick { study.quick_cases()? } else { study.cases.clone() };
    for case in &mut cases {
        if let (Some(span), Some(length)) = (varied.span, case.span.as_mut()) {
            *length = span.0;
        }
    }
    let base = Variation { most_seeds: varied.seeds, ..study.variation() };
    let all = varied.variations(&base);
    let cases_of_table = std::iter::once((String::new(), base)).chain(all).collect();
    let chosen = |table: &TableDefinition| varied.tables.is_empty() || varied.tables.contains(&table.name);
    compare(definition, "all", cases_of_table, on_case, |variation| study.published(&cases, variation, &chosen))
}

/// Measures all cases, the first of which changes nothing. `measure` returns the tables whose verdicts count.
///
/// Each row of the result says how many rows are reproduced in one case, and which verdicts differ from those
/// of the first case.
fn compare<C: Send>(
    definition: &TableDefinition,
    arm: &str,
    cases: Vec<(String, C)>,
    on_case: &(dyn Fn(&str, f64) + Sync),
    measure: impl Fn(&C) -> Result<Vec<ReportTable>, StudyError> + Sync,
) -> Result<ReportTable, StudyError> {
    let part = 1.0 / cases.len() as f64;
    let run = |(label, case): (String, C)| {
        let verdicts = match measure(&case) {
            // With another cost a run may end before the event to measure occurs. That is a result of the
            // case.
            Err(StudyError::Measurement(error)) => Err(error),
            other => Ok(judged_rows(&other?)),
        };
        on_case(&label, part);
        Ok::<_, StudyError>((label, verdicts))
    };
    let mut found = pool::all(cases, run)?.into_iter();
    let (_, base) = found.next().expect("the first of them is there");
    let base = base.map_err(StudyError::Measurement)?;
    let row = |label: String, verdicts: &Result<Vec<JudgedRow>, Message>| {
        let row = RowDefinition::unpublished(label, arm);
        let verdicts = match verdicts {
            Ok(verdicts) => verdicts,
            Err(error) => {
                let measured = MeasuredFigure::text("nothing").with_remark(error.text.clone());
                return ReportRow::new(definition, &row, measured);
            }
        };
        let reproduced = verdicts.iter().filter(|(_, verdict)| *verdict == RowVerdict::Reproduced).count();
        let changed: Vec<String> = base
            .iter()
            .zip(verdicts)
            .filter(|(before, after)| before.1 != after.1)
            .map(|(_, ((table, label, arm), verdict))| format!("{table}, {label}, {arm}: {verdict}"))
            .collect();
        let remark = if changed.is_empty() { "all verdicts stand".to_owned() } else { changed.join("; ") };
        let measured = MeasuredFigure::number(reproduced as f64).with_remark(remark);
        ReportRow::new(definition, &row, measured)
    };
    let mut rows = vec![row(format!("as they are, of {} rows", base.len()), &Ok(base.clone()))];
    rows.extend(found.map(|(label, verdicts)| row(label, &verdicts)));
    Ok(ReportTable { name: definition.name.clone(), title: definition.title.clone(), rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_shows_nothing_has_a_row_that_says_so() {
        let definition: TableDefinition =
            toml::from_str("name = \"robustness\"\ntitle = \"Robustness\"\nmetric = \"rows\"\nunit = \"rows\"")
                .expect("a table");
        let measure = |case: &u32| match case {
            0 => Ok(Vec::new()),
            _ => Err(StudyError::measurement("run 128 groups has no value")),
        };
        let cases = vec![(String::new(), 0), ("twice as long".to_owned(), 1)];
        let table = compare(&definition, "all", cases, &|_, _| (), measure).expect("the study goes on");
        assert_eq!(table.rows.len(), 2);
        assert!(table.rows[1].reason.contains("128 groups"), "{:?}", table.rows[1]);
        let silent = vec![(String::new(), 1)];
        assert!(
            compare(&definition, "all", silent, &|_, _| (), measure).is_err(),
            "the study itself has to show something"
        );
    }
}
