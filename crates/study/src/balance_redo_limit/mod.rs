// SPDX-License-Identifier: GPL-2.0-or-later
//! The study `balance-redo-limit`: what newly-idle balancing costs at the most on 192 CPUs, and how often a pass starts over because
//! other CPUs have taken the tasks between the look at a runqueue and its lock.

mod measure;
mod workload;

use crate::definition::{ArmDefinition, RowDefinition, StudyDefinition, TableDefinition};
use crate::forms::TableForm;
use crate::pictures;
use crate::pool;
use crate::report::{Measured, Report, Row, Table};
use crate::run::machine;
use crate::sensitivity;
use crate::tally::Tally;
use crate::{Options, Progress, StudyError};
use fairlab_machine::hardware::Hardware;
use fairlab_sched::units::Nanos;
use measure::Found;
use workload::Shape;

const MACHINE: &str = "xeon-4s-192";

/// The tables.
pub(crate) const TABLES: &[TableForm] = &[
    TableForm::one_of("cost", &["192 CPUs"]),
    TableForm::own("times"),
    TableForm::own("race"),
    TableForm::own("workload"),
    TableForm::own("prices"),
];

/// How much is simulated.
#[derive(Clone, Copy, Debug)]
struct Size {
    length: Nanos,
    seeds: u64,
}

/// Runs the study.
pub(crate) fn run(study: &StudyDefinition, options: Options, progress: &dyn Progress) -> Result<Report, StudyError> {
    let size = if options.quick {
        Size { length: Nanos::from_millis(50), seeds: 2 }
    } else {
        Size { length: Nanos::from_millis(200), seeds: 4 }
    };
    let hardware = machine(MACHINE);
    let tally = Tally::new(progress);
    let measure = |arm: &ArmDefinition| {
        let runs = measure::runs(arm, &hardware, Shape::USUAL, size.length, size.seeds)?;
        tally.add(&arm.name, 0.5 / study.arms.len() as f64);
        Ok::<_, StudyError>((arm.name.clone(), runs))
    };
    let (by_arm, others) = pool::both(
        || pool::all(study.arms.iter().collect(), measure),
        || {
            pool::both(
                || other_workloads(study, &hardware, size, &tally),
                || (!options.quick).then(|| prices(study, &tally)).transpose(),
            )
        },
    )?;
    let (other_workloads, prices) = others;
    let cost = cost_table(study, &by_arm);
    let bars: Vec<pictures::Bars> = cost
        .rows
        .iter()
        .map(|row| {
            let published = row.published.as_ref().and_then(|figure| figure.number());
            (row.arm.clone(), row.value.number().unwrap_or(0.0), published)
        })
        .collect();
    let picture = pictures::bars("balance-redo-limit-cost", "Largest cost of a newly-idle pass", "us", &bars);
    let mut tables = vec![cost, times(study.table("times"), &by_arm), race(study.table("race"), &by_arm, size)];
    tables.push(other_workloads);
    tables.extend(prices);
    let (title, source) = (study.title.clone(), study.source.clone());
    let notes = notes(size, options.quick);
    Ok(Report { study: study.name.clone(), title, source, notes, tables, outputs: Vec::new(), pictures: vec![picture] })
}

/// The table of prices halved and doubled.
fn prices(study: &StudyDefinition, tally: &Tally<'_>) -> Result<Table, StudyError> {
    let length = Nanos::from_millis(50);
    let told = |price: &str, part| tally.add(price, 0.4 * part);
    sensitivity::table(study.table("prices"), "unlimited, limit 0", MACHINE, None, told, |hardware| {
        let of = |arm: &str| {
            Ok::<_, StudyError>((arm.to_owned(), measure::runs(study.arm(arm), &hardware, Shape::USUAL, length, 1)?))
        };
        let by_arm = pool::all(vec!["unlimited", "limit 0"], of)?;
        Ok(vec![cost_table(study, &by_arm)])
    })
}

fn cost_table(study: &StudyDefinition, by_arm: &[(String, Vec<Found>)]) -> Table {
    let mut definition = study.table("cost").clone();
    definition.rows.retain(|row| by_arm.iter().any(|(arm, _)| *arm == row.arm));
    Table::fill(&definition, |row| {
        let runs = &by_arm.iter().find(|(arm, _)| *arm == row.arm).expect("rows of other arms were left out").1;
        let measured = Measured::mean_of_runs(runs.iter().map(Found::largest_cost_us).collect());
        match row.arm.as_str() {
            "limit 0" => measured.because("the price of a line's transfer is calibrated against this row"),
            "unlimited" => measured.because("published: over 100"),
            _ => measured,
        }
    })
}

fn own_row(table: &TableDefinition, label: &str, arm: &str, measured: Measured) -> Row {
    Row::new(table, &RowDefinition::unpublished(label, arm), measured)
}

fn mean(runs: &[Found], figure: impl Fn(&Found) -> f64) -> Measured {
    Measured::mean_of_runs(runs.iter().map(figure).collect())
}

fn times(table: &TableDefinition, by_arm: &[(String, Vec<Found>)]) -> Table {
    let mut rows = Vec::new();
    for (arm, runs) in by_arm {
        for (place, label) in ["median", "99 %", "longest"].into_iter().enumerate() {
            rows.push(own_row(table, label, arm, mean(runs, |found| found.times_us[place])));
        }
    }
    Table { name: table.name.clone(), title: table.title.clone(), rows }
}

fn race(table: &TableDefinition, by_arm: &[(String, Vec<Found>)], size: Size) -> Table {
    let mut rows = Vec::new();
    let a_second = 1e9 / size.length.0 as f64;
    for (arm, runs) in by_arm {
        let mut add = |label: &str, figure: &dyn Fn(&Found) -> u64| {
            rows.push(own_row(table, label, arm, mean(runs, |found| figure(found) as f64 * a_second)));
        };
        add("passes", &|found| found.across_nodes.passes);
        add("passes that locked a runqueue", &|found| found.across_nodes.locked);
        add("runqueues that had lost their tasks when locked", &|found| found.across_nodes.emptied);
        add("redos", &|found| found.across_nodes.redos);
        add("redos because tasks had been pulled in between", &|found| found.across_nodes.raced);
    }
    Table { name: table.name.clone(), title: table.title.clone(), rows }
}

fn other_workloads(
    study: &StudyDefinition,
    hardware: &Hardware,
    size: Size,
    tally: &Tally<'_>,
) -> Result<Table, StudyError> {
    let table = study.table("workload");
    let cases: Vec<(Shape, &str)> =
        Shape::OTHERS.iter().flat_map(|shape| ["unlimited", "limit 0"].map(|arm| (*shape, arm))).collect();
    let nr_cases = cases.len();
    let row = |(shape, arm): (Shape, &str)| {
        let runs = measure::runs(study.arm(arm), hardware, shape, size.length, 1)?;
        tally.add("other workloads", 0.1 / nr_cases as f64);
        Ok::<_, StudyError>(own_row(table, &shape.words(), arm, mean(&runs, Found::largest_cost_us)))
    };
    let rows = pool::all(cases, row)?;
    Ok(Table { name: table.name.clone(), title: table.title.clone(), rows })
}

fn notes(size: Size, is_quick: bool) -> Vec<String> {
    let mut notes = vec![
        format!(
            "Machine {MACHINE} with its prices; kernel 5.11 in all arms. Runs of {} ms, {} of them with other tasks each; figures are means, spreads \
             half the range. The largest cost is one of a run: a longer run finds a larger one.",
            size.length.0 / 1_000_000,
            size.seeds
        ),
        format!("Workload, not published: {}.", Shape::USUAL.words()),
        "In the patch the default limit is 1, compared by 'less than' after counting up, which allows no redo at all: limit 0 here."
            .to_owned(),
    ];
    if is_quick {
        notes.push("The table of prices halved and doubled belongs to the full form.".to_owned());
    }
    notes
}
