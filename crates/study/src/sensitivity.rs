// SPDX-License-Identifier: GPL-2.0-or-later
//! Sensitivity of verdicts to single changes, such as one fact of the processor at an end of its range.

use crate::StudyError;
use crate::definition::{RowDefinition, TableDefinition};
use crate::pool;
use crate::report::{MeasuredFigure, ReportRow, ReportTable, RowVerdict};
use fairlab_machine::costs::CostModel;
use fairlab_machine::description::{MachineDescription, RangeEnd, preset};
use fairlab_machine::hardware::Hardware;

/// Table name, row label and arm of a row, with its verdict.
type JudgedRow = ((String, String, String), RowVerdict);

/// Returns the verdicts of all rows with a published value.
fn judged_rows(tables: &[ReportTable]) -> Vec<JudgedRow> {
    let rows = tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    rows.filter(|(_, row)| row.verdict != RowVerdict::NotPublished)
        .map(|(table, row)| ((table.name.clone(), row.label.clone(), row.arm.clone()), row.verdict))
        .collect()
}

/// Returns the facts of a machine's processor that have a range, with both ends.
pub(crate) fn uncertain_facts(machine: &MachineDescription) -> impl Iterator<Item = (String, RangeEnd)> {
    let facts = machine.processor().into_iter().flat_map(fairlab_machine::description::Processor::facts);
    let uncertain = facts.filter(|(_, fact)| fact.is_uncertain());
    uncertain.flat_map(|(key, _)| RangeEnd::ALL.map(|end| (key.clone(), end)))
}

/// Measures with each fact of a preset machine's processor at both ends of its range.
///
/// `measure` returns the tables whose verdicts count. `on_case` is called for each completed case with its name
/// and its fraction of all cases.
pub(crate) fn table(
    definition: &TableDefinition,
    arm: &str,
    machine: &str,
    on_case: impl Fn(&str, f64) + Sync,
    measure: impl Fn(Hardware) -> Result<Vec<ReportTable>, StudyError> + Sync,
) -> Result<ReportTable, StudyError> {
    let description = preset(machine).unwrap_or_else(|| panic!("studies use presets, and {machine} is none"));
    let varied = uncertain_facts(&description).map(|(key, end)| (format!("{key} {}", end.name()), Some((key, end))));
    let cases: Vec<_> = std::iter::once((String::new(), None)).chain(varied).collect();
    compare(definition, arm, cases, &on_case, |varied| {
        let mut hardware = Hardware::from_description(&description);
        if let Some(costs) = varied.as_ref().and_then(|(key, end)| description.costs_with_fact_at(key, *end)) {
            hardware.costs = CostModel::from_counted(costs);
        }
        measure(hardware)
    })
}

/// Measures all cases, the first of which changes nothing. `measure` returns the tables whose verdicts count.
///
/// Each row of the result says how many rows are reproduced in one case, and which verdicts differ from those
/// of the first case.
pub(crate) fn compare<C: Send>(
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
            Err(StudyError::Measurement(what)) => Err(what),
            other => Ok(judged_rows(&other?)),
        };
        on_case(&label, part);
        Ok::<_, StudyError>((label, verdicts))
    };
    let mut found = pool::all(cases, run)?.into_iter();
    let (_, base) = found.next().expect("the first of them is there");
    let base = base.map_err(StudyError::Measurement)?;
    let row = |label: String, verdicts: &Result<Vec<JudgedRow>, String>| {
        let row = RowDefinition::unpublished(label, arm);
        let verdicts = match verdicts {
            Ok(verdicts) => verdicts,
            Err(what) => {
                return ReportRow::new(definition, &row, MeasuredFigure::text("nothing").with_remark(what.clone()));
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
            toml::from_str("name = \"facts\"\ntitle = \"Facts\"\nmetric = \"rows\"\nunit = \"rows\"").expect("a table");
        let measure = |case: &u32| match case {
            0 => Ok(Vec::new()),
            _ => Err(StudyError::Measurement("run 128 groups has no value".to_owned())),
        };
        let cases = vec![(String::new(), 0), ("line_ns.llc greatest".to_owned(), 1)];
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
