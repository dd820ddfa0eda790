// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether verdicts hang on prices: each price of the machine halved and doubled, in some runs that together pay all of them but the tracer's.
//!
//! Runs are shorter than those of the other tables, since there are many.

use super::case::{Bench, Case, MACHINE};
use super::figures::Figures;
use crate::StudyError;
use crate::definition::{StudyDefinition, TableDefinition};
use crate::pool;
use crate::report::{Measured, Row, Table};
use crate::sensitivity;
use crate::tally::Tally;
use crate::window::{Seen, Span};
use fairlab_machine::hardware::Hardware;
use fairlab_sched::units::Nanos;

/// The table's name.
pub(super) const TABLE: &str = "prices";

/// The runs whose rows are judged: between them they use every kind of channel, and have many tasks or few for each CPU.
const RUNS: [(&str, u32); 6] =
    [("TCP_RR", 224), ("UDP_RR", 84), ("tbench", 112), ("process-pipe", 2), ("process-sockets", 8), ("schbench", 4)];
/// The tables whose rows of these runs are judged.
const JUDGED: [&str; 10] = [
    "se_eff",
    "dom_eff",
    "fast_rate",
    "success_rate",
    "netperf",
    "hackbench",
    "tbench",
    "schbench",
    "latency",
    "counters",
];
const SPAN: Span = Span { warm_up: Nanos::from_millis(120), window: Nanos::from_millis(20) };
/// What sleeps for 30 ms needs longer to be seen.
const SPAN_OF_SCHBENCH: Span = Span { warm_up: Nanos::from_millis(300), window: Nanos::from_millis(500) };

/// The part of the study that the table takes.
const PART: f64 = 0.13;

pub(super) fn table(study: &StudyDefinition, tally: &Tally<'_>) -> Result<Table, StudyError> {
    let told = |price: &str, part| tally.add(price, PART * part);
    sensitivity::table(study.table(TABLE), "before, after", MACHINE, told, |hardware| {
        let of_run = |run| judged(study, run, &hardware);
        Ok(pool::all(RUNS.to_vec(), of_run)?.into_iter().flatten().collect())
    })
}

/// The rows of all tables that a run under both arms can fill.
fn judged(study: &StudyDefinition, (name, load): (&str, u32), hardware: &Hardware) -> Result<Vec<Table>, StudyError> {
    let bench = Bench::from_name(name).expect("runs have names of benchmarks");
    let case = |arm: &str| Case { bench, load, arm: arm.to_owned(), traced: false };
    let span = if bench == Bench::Schbench { SPAN_OF_SCHBENCH } else { SPAN };
    let run = |case: &Case| case.run_on(hardware.clone(), study.arm(&case.arm), span, 0);
    let (before, after) = (case("before"), case("after"));
    let (of_before, of_after) = pool::both(|| run(&before), || run(&after))?;
    let seen = [of_before, of_after];
    let prefix = format!("{name} {load} ");
    Ok(JUDGED.map(|table| rows(study.table(table), &prefix, [&before, &after], &seen)).into())
}

/// The rows of a table whose labels begin so.
fn rows(definition: &TableDefinition, prefix: &str, cases: [&Case; 2], seen: &[Seen; 2]) -> Table {
    let rows = definition.rows.iter().filter(|row| row.label.starts_with(prefix)).map(|row| {
        let place = usize::from(row.arm == "after");
        let figures = Figures { case: cases[place], seen: &seen[place], base: Some(&seen[0]) };
        let measured = figures.measure(&definition.name, &row.label).unwrap_or_else(|| Measured::text("not measured"));
        Row::new(definition, row, measured)
    });
    Table { name: definition.name.clone(), title: definition.title.clone(), rows: rows.collect() }
}
