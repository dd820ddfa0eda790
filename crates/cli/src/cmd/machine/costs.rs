// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab machine costs`: what each operation of a machine costs, and the counts that the costs follow from.

use crate::output::Output;
use crate::output::table::{Align, Table};
use crate::values::error::CliError;
use fairlab_machine::description::{CountedCost, Processor, counted_costs};
use fairlab_run::input::InputFile;
use serde::Serialize;

#[derive(Serialize)]
struct CostsReport<'a> {
    machine: &'a str,
    sheet: &'a str,
    facts: Vec<FactRow<'a>>,
    costs: Vec<CostRow>,
}

#[derive(Serialize)]
struct FactRow<'a> {
    fact: &'a str,
    value: u64,
    min: u64,
    max: u64,
    source: &'a str,
}

#[derive(Serialize)]
struct CostRow {
    operation: String,
    instructions: Option<f64>,
    cache_lines: Option<f64>,
    ns: f64,
    rows: String,
}

impl CostRow {
    fn new(cost: CountedCost) -> Self {
        let count = |tenths: Option<i64>| tenths.map(|tenths| tenths as f64 / 10.0);
        Self {
            operation: cost.name,
            instructions: count(cost.instructions),
            cache_lines: count(cost.lines),
            ns: cost.ps as f64 / 1000.0,
            rows: cost.rows,
        }
    }
}

pub(super) fn costs(output: &mut Output, machine: &str) -> Result<(), CliError> {
    let description = InputFile::new(machine).read_machine()?.description;
    let Some(processor) = description.processor() else {
        let help = format!("`fairlab machine show {machine}` lists its costs");
        return Err(CliError::Input(format!("{machine} has no facts of a processor\nhelp: {help}")));
    };
    let rows: Vec<CostRow> = counted_costs(processor).into_iter().map(CostRow::new).collect();
    if output.is_json() {
        let facts = facts(processor);
        return output.json(&CostsReport { machine: description.name(), sheet: processor.sheet(), facts, costs: rows });
    }
    let mut table = Table::new(&[
        ("operation", Align::Left),
        ("instructions", Align::Right),
        ("lines", Align::Right),
        ("ns", Align::Right),
    ]);
    for row in &rows {
        let count = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        table.row(vec![
            row.operation.clone().into(),
            count(row.instructions).into(),
            count(row.cache_lines).into(),
            format!("{:.1}", row.ns).into(),
        ]);
    }
    output.text(&format!(
        "{}, count sheet {}\n\n{}",
        description.name(),
        processor.sheet(),
        table.render(output.styles())
    ))
}

fn facts(processor: &Processor) -> Vec<FactRow<'_>> {
    let row = |fact: &'static str, value, (min, max), source| FactRow { fact, value, min, max, source };
    processor.facts().map(|fact| row(fact.key, fact.value, fact.range, fact.source.as_str())).into()
}
