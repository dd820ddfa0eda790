// SPDX-License-Identifier: GPL-2.0-or-later
//! Sensitivity of verdicts to costs: some runs with each fact of the processor at both ends of its range.
//!
//! These runs are shorter than those of the other tables, because there are many.

use super::case::{MACHINE, SisUtilBench, SisUtilCase};
use super::figures::RowFigures;
use crate::StudyError;
use crate::definition::{RowDefinition, StudyDefinition, TableDefinition};
use crate::pool;
use crate::progress_sum::ProgressSum;
use crate::report::{MeasuredFigure, ReportRow, ReportTable};
use crate::sensitivity;
use crate::window::WindowSpan;
use fairlab_machine::hardware::Hardware;
use fairlab_sched::units::Nanos;

/// Name of the table in the study's data.
pub(super) const TABLE: &str = "facts";

/// Runs whose rows are judged: one of netperf, and two of another kind that need little
/// time. Costs that only pipes, UNIX sockets or UDP have are not covered by these runs.
const RUNS: [(&str, u32); 3] = [("TCP_RR", 224), ("schbench", 5), ("schbench", 8)];
/// Tables whose rows of these runs are judged.
const JUDGED: [&str; 6] = ["se_eff", "dom_eff", "fast_rate", "success_rate", "latency", "counts"];
/// Arm whose rows are judged. After the change, 224 pairs need half a second to reach their state, which is
/// too long for so many runs.
const ARM: &str = "before";
const SPAN: WindowSpan = WindowSpan { warm_up: Nanos::from_millis(120), window: Nanos::from_millis(20) };
/// schbench sleeps for 30 ms at a time, so it needs a longer window.
const SPAN_OF_SCHBENCH: WindowSpan = WindowSpan { warm_up: Nanos::from_millis(300), window: Nanos::from_millis(500) };

/// Fraction of the study's progress that the table takes.
const PROGRESS_SHARE: f64 = 0.13;

pub(super) fn table(study: &StudyDefinition, tally: &ProgressSum<'_>) -> Result<ReportTable, StudyError> {
    let on_case = |fact: &str, part| tally.add(fact, PROGRESS_SHARE * part);
    sensitivity::table(study.table(TABLE), ARM, MACHINE, on_case, |hardware| {
        let of_run = |run| judged(study, run, &hardware);
        Ok(pool::all(RUNS.to_vec(), of_run)?.into_iter().flatten().collect())
    })
}

/// Returns the judged rows of all tables that a run can fill.
fn judged(
    study: &StudyDefinition,
    (name, load): (&str, u32),
    hardware: &Hardware,
) -> Result<Vec<ReportTable>, StudyError> {
    let bench = SisUtilBench::from_name(name).expect("runs have names of benchmarks");
    let case = SisUtilCase { bench, load, arm: ARM.to_owned(), traced: false };
    let span = if bench == SisUtilBench::Schbench { SPAN_OF_SCHBENCH } else { SPAN };
    let seen = case.run_on(hardware.clone(), study.arm(ARM), span, 0)?;
    let figures = RowFigures { case: &case, seen: &seen, base: None };
    let prefix = format!("{name} {load} ");
    Ok(JUDGED.map(|table| rows(study.table(table), &prefix, &figures)).into())
}

/// Returns the rows of a table whose labels begin with `prefix`.
fn rows(definition: &TableDefinition, prefix: &str, figures: &RowFigures<'_>) -> ReportTable {
    let is_meant = |row: &&RowDefinition| row.arm == ARM && row.label.starts_with(prefix);
    let rows = definition.rows.iter().filter(is_meant).map(|row| {
        let measured =
            figures.measure(&definition.name, &row.label).unwrap_or_else(|| MeasuredFigure::text("not measured"));
        ReportRow::new(definition, row, measured)
    });
    ReportTable { name: definition.name.clone(), title: definition.title.clone(), rows: rows.collect() }
}
