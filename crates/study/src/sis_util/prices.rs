// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether the verdicts on netperf with 224 threads hang on prices: those that each transaction pays, halved and doubled.
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

/// The prices that are paid in a transaction, or for finding a CPU.
const PAID: [&str; 13] = [
    "ContextSwitch",
    "Wakeup",
    "Enqueue",
    "PeltUpdate",
    "PickNext",
    "ScanCpu",
    "LineTransfer",
    "IdleEnter",
    "IdleExit",
    "Syscall",
    "TcpTransfer",
    "LoopbackSoftirq",
    "ChannelLine",
];

/// The tables whose rows of 224 threads are judged.
const JUDGED: [&str; 6] = ["se_eff", "dom_eff", "fast_rate", "success_rate", "netperf", "counters"];
const LOAD: u32 = 224;
const SPAN: Span = Span { warm_up: Nanos::from_millis(120), window: Nanos::from_millis(20) };

/// The part of the study that the table takes.
const PART: f64 = 0.13;

pub(super) fn table(study: &StudyDefinition, tally: &Tally<'_>) -> Result<Table, StudyError> {
    let told = |price: &str, part| tally.add(price, PART * part);
    sensitivity::table(study.table(TABLE), "before, after", MACHINE, Some(&PAID), told, |hardware| {
        let of = |arm: &str| Case { bench: Bench::TcpRr, load: LOAD, arm: arm.to_owned(), traced: false };
        let (before, after) = (of("before"), of("after"));
        let run = |case: &Case, hardware: Hardware| case.run_on(hardware, study.arm(&case.arm), SPAN, 0);
        let (of_before, of_after) = pool::both(|| run(&before, hardware.clone()), || run(&after, hardware.clone()))?;
        let seen = [of_before, of_after];
        Ok(JUDGED.map(|name| judged(study.table(name), [&before, &after], &seen)).into())
    })
}

/// The rows of a table that the two runs can fill.
fn judged(definition: &TableDefinition, cases: [&Case; 2], seen: &[Seen; 2]) -> Table {
    let prefix = format!("TCP_RR {LOAD} threads");
    let rows = definition.rows.iter().filter(|row| row.label.starts_with(&prefix)).map(|row| {
        let place = usize::from(row.arm == "after");
        let figures = Figures { case: cases[place], seen: &seen[place], base: Some(&seen[0]) };
        let measured = figures.measure(&definition.name, &row.label).unwrap_or_else(|| Measured::text("not measured"));
        Row::new(definition, row, measured)
    });
    Table { name: definition.name.clone(), title: definition.title.clone(), rows: rows.collect() }
}
