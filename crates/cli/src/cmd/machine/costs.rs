// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab machine costs`: what each operation of a machine costs, and the counts that the costs follow from.

use crate::output::Output;
use crate::output::table::Table;
use crate::values::error::CliError;
use fairlab_board::{CountedCost, Distance, Fact, FactKey, Processor, counted_costs};
use fairlab_run::input::InputFile;
use serde::Serialize;

#[derive(Serialize)]
struct CostsReport<'a> {
    machine: &'a str,
    sheet: &'a str,
    facts: Vec<FactRow>,
    costs: Vec<CostRow>,
}

#[derive(Serialize)]
struct FactRow {
    fact: &'static str,
    value: u64,
    min: u64,
    max: u64,
    source: String,
}

#[derive(Serialize)]
struct CostRow {
    operation: String,
    /// Distance between the CPUs; absent if the cost does not depend on it.
    distance: Option<&'static str>,
    instructions: Option<f64>,
    cache_lines: Option<f64>,
    ns: f64,
    rows: String,
}

impl CostRow {
    /// Returns the row of a cost, at this distance if it consists of cache lines.
    fn new(cost: &CountedCost, distance: Distance) -> Self {
        let count = |tenths: Option<i64>| tenths.map(|tenths| tenths as f64 / 10.0);
        Self {
            operation: cost.name.clone(),
            distance: cost.lines.map(|_| distance.name()),
            instructions: count(cost.instructions),
            cache_lines: count(cost.lines),
            ns: cost.ps[distance] as f64 / 1000.0,
            rows: cost.rows.clone(),
        }
    }
}

/// Returns the rows of all costs. One that consists of cache lines has a row for each distance with a latency.
fn rows(processor: &Processor) -> Vec<CostRow> {
    let of_cost = |cost: CountedCost| {
        let last = if cost.lines.is_some() { usize::MAX } else { 1 };
        processor.distances().take(last).map(|distance| CostRow::new(&cost, distance)).collect::<Vec<_>>()
    };
    counted_costs(processor).into_iter().flat_map(of_cost).collect()
}

pub(super) fn costs(output: &mut Output, machine: &str) -> Result<(), CliError> {
    let description = InputFile::new(machine).read_machine()?.description;
    let Some(processor) = description.processor() else {
        let help = "add the table `[processor]` to its file";
        return Err(CliError::with_help(
            format!("{machine} has no facts of a processor, so its kernel code has zero cost"),
            help,
        ));
    };
    let rows = rows(processor);
    if output.is_json() {
        let facts = facts(processor);
        return output.json(&CostsReport { machine: description.name(), sheet: processor.sheet(), facts, costs: rows });
    }
    let mut table = Table::default().left(["operation"]).right(["instructions", "lines", "ns"]);
    for row in &rows {
        let count = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        let operation =
            row.distance.map_or_else(|| row.operation.clone(), |distance| format!("{}, {distance}", row.operation));
        table.text_row([operation, count(row.instructions), count(row.cache_lines), format!("{:.1}", row.ns)]);
    }
    output.text(&format!(
        "{}, count sheet {}\n\n{}",
        description.name(),
        processor.sheet(),
        table.render(output.styles())
    ))
}

fn facts(processor: &Processor) -> Vec<FactRow> {
    let row = |(key, fact): (FactKey, &Fact)| {
        let (min, max) = fact.range;
        FactRow { fact: key.name(), value: fact.value, min, max, source: fact.source.clone() }
    };
    processor.facts().map(row).collect()
}
