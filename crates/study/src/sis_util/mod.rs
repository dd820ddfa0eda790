// SPDX-License-Identifier: GPL-2.0-or-later
//! Code of the study `sis-util`: effects of limiting the search for an idle CPU by utilisation (SIS_UTIL,
//! Linux 6.0).
//!
//! - [`nr_scan`] reads the limit of a search from running machines.
//! - [`case`] runs benchmarks under an arm. Each run serves all tables that have a row for it: search
//!   efficiency, throughput, latencies and counters.
//! - [`small_llc`] runs hackbench on caches of 16 CPUs, with the boost that was proposed for them.
//! - [`eight_cpus`] simulates a small cache with seven of eight CPUs busy.

mod case;
mod eight_cpus;
mod figures;
mod labels;
mod nr_scan;
mod plots;
mod small_llc;

use crate::definition::{RowDefinition, StudyDefinition, TableDefinition};
use crate::error::StudyError;
use crate::options::{StudyLength, StudyOptions};
use crate::progress::{ProgressReporter, ProgressSum};
use crate::report::{MeasuredFigure, ReportRow, ReportTable, StudyReport};
use crate::window::WindowCounts;
use case::{FIRST_HIGH_LOAD, MACHINE, SisUtilBench, SisUtilCase, UPTIME};
use fairlab_experiment::pool;
use fairlab_sched::series::KernelSeries;
use figures::RowFigures;
pub(crate) use labels::TABLES;
use std::collections::{BTreeMap, BTreeSet};

/// Rules of the kernels of all arms, also for what the study simulates without an arm.
const SERIES: KernelSeries = KernelSeries::V6_1;

/// Fraction of the progress that the cases take in a full study.
const CASES_SHARE: f64 = 0.7;

/// Fills all tables of the study.
pub(crate) fn run(
    study: &StudyDefinition,
    choices: &StudyOptions,
    progress: &dyn ProgressReporter,
) -> Result<StudyReport, StudyError> {
    let options = choices.options;
    let own = ["nr_scan", eight_cpus::TABLE, small_llc::TABLE];
    let wanted = study.tables.iter().filter(|table| choices.wants(&table.name));
    let published = wanted.filter(|table| !own.contains(&table.name.as_str()));
    let published: Vec<TableDefinition> = published.map(|table| with_rows_of(table, choices)).collect();
    let tally = ProgressSum::new(progress);
    // These tables are filled only in a full study.
    let in_full = |table: &str| !options.quick && choices.wants(table) && choices.rows.is_empty();
    let small_llc = || in_full(small_llc::TABLE).then(|| small_llc::table(study, &tally)).transpose();
    let nr_scan = || choices.wants("nr_scan").then(|| nr_scan::table(study)).transpose();
    let eight_cpus = || choices.wants(eight_cpus::TABLE).then(|| eight_cpus::table(study)).transpose();
    let nr_seeds = choices.seeds.unwrap_or(1);
    let (seen, (of_zero_cost, small_llc)) = pool::both(
        || run_cases(study, &published, options, nr_seeds, &tally),
        || pool::both(|| pool::both(nr_scan, eight_cpus), small_llc),
    )?;
    let mut tables: Vec<ReportTable> = <[Option<ReportTable>; 2]>::from(of_zero_cost).into_iter().flatten().collect();
    for table in &published {
        tables.push(fill(table, &seen)?);
    }
    tables.extend(small_llc);
    Ok(StudyReport {
        notes: notes(options, nr_seeds),
        outputs: histograms(&seen),
        pictures: plots::pictures(&tables),
        tables,
        ..StudyReport::of(study)
    })
}

/// Returns the histograms of searches from the traced runs, in the published format.
fn histograms(seen: &BTreeMap<SisUtilCase, Vec<WindowCounts>>) -> Vec<(String, String)> {
    let traced = seen.iter().filter(|(case, _)| case.traced);
    traced
        .map(|(case, seen)| {
            let heading = format!("Time in select_idle_cpu(), microseconds: {}", case.name());
            (heading, seen[0].search_usecs.bpftrace("usecs"))
        })
        .collect()
}

/// Whether a row is part of the quick study.
fn is_quick(label: &str) -> bool {
    let Some(case) = SisUtilCase::of_row(label, "") else { return false };
    match case.bench {
        _ if case.traced => false,
        SisUtilBench::TcpRr => matches!(case.load, 84 | 224),
        SisUtilBench::UdpRr => false,
        SisUtilBench::Tbench => case.load == 112,
        SisUtilBench::Hackbench { threads, .. } => !threads && matches!(case.load, 2 | 8),
        SisUtilBench::Schbench => matches!(case.load, 4 | 8),
        SisUtilBench::StressSock | SisUtilBench::Oltp => false,
    }
}

/// Returns a table with only the rows that are measured.
fn with_rows_of(table: &TableDefinition, choices: &StudyOptions) -> TableDefinition {
    let is_wanted =
        |row: &&RowDefinition| choices.wants_row(&row.label) && (!choices.options.quick || is_quick(&row.label));
    let rows = table.rows.iter().filter(is_wanted).cloned().collect();
    TableDefinition { rows, ..table.clone() }
}

/// Executes every run that a row needs, once with each seed. Rows of changes need both arms.
fn run_cases(
    study: &StudyDefinition,
    tables: &[TableDefinition],
    options: StudyLength,
    nr_seeds: u64,
    tally: &ProgressSum<'_>,
) -> Result<BTreeMap<SisUtilCase, Vec<WindowCounts>>, StudyError> {
    let mut wanted = BTreeSet::new();
    for table in tables {
        for row in &table.rows {
            wanted.insert(case_of(table, row, &row.arm)?);
            if let Some(base) = figures::base_of(&table.name) {
                wanted.insert(case_of(table, row, base)?);
            }
        }
    }
    let runs: Vec<(SisUtilCase, u64)> =
        wanted.into_iter().flat_map(|case| (0..nr_seeds).map(move |seed| (case.clone(), seed))).collect();
    let part = if options.quick { 1.0 } else { CASES_SHARE } / runs.len() as f64;
    let run = |(case, seed): (SisUtilCase, u64)| {
        let seen = case.run(study.arm(&case.arm), options, seed)?;
        tally.add(&case.name(), part);
        Ok::<_, StudyError>((case, seen))
    };
    let mut seen: BTreeMap<SisUtilCase, Vec<WindowCounts>> = BTreeMap::new();
    for (case, of_seed) in pool::longest_first(runs, |(case, _)| case.length(options), run)? {
        seen.entry(case).or_default().push(of_seed);
    }
    Ok(seen)
}

/// Returns the run of a row under an arm.
fn case_of(table: &TableDefinition, row: &RowDefinition, arm: &str) -> Result<SisUtilCase, StudyError> {
    SisUtilCase::of_row(&row.label, arm)
        .ok_or_else(|| StudyError::measurement(format!("table {}: row {} names no run", table.name, row.label)))
}

/// Fills a table with its measured values.
fn fill(
    table: &TableDefinition,
    seen_of: &BTreeMap<SisUtilCase, Vec<WindowCounts>>,
) -> Result<ReportTable, StudyError> {
    let rows = table.rows.iter().map(|row| {
        let case = case_of(table, row, &row.arm)?;
        let base = figures::base_of(&table.name).map(|arm| case_of(table, row, arm)).transpose()?;
        let of_seed = |(seed, seen): (usize, &WindowCounts)| {
            let base = base.as_ref().map(|base| &seen_of[base][seed]);
            RowFigures { case: &case, seen, base }.measure(&table.name, &row.label)
        };
        let by_seed: Option<Vec<MeasuredFigure>> = seen_of[&case].iter().enumerate().map(of_seed).collect();
        let measured = by_seed.map_or_else(|| MeasuredFigure::text("not measured"), MeasuredFigure::over_seeds);
        Ok(ReportRow::new(table, row, measured))
    });
    let rows = rows.collect::<Result<_, StudyError>>()?;
    Ok(ReportTable { name: table.name.clone(), title: table.title.clone(), rows })
}

fn notes(options: StudyLength, nr_seeds: u64) -> Vec<String> {
    let tell = |bench: SisUtilBench| {
        let span = bench.span(1, options);
        format!("{} after {}", span.window, span.warm_up)
    };
    let tells =
        [("netperf", SisUtilBench::TcpRr), ("tbench", SisUtilBench::Tbench), ("schbench", SisUtilBench::Schbench)]
            .map(|(name, bench)| (name, tell(bench)));
    let high_loads = SisUtilBench::TcpRr.span(FIRST_HIGH_LOAD, options).warm_up;
    let hackbench = tell(SisUtilBench::Hackbench { pipe: true, threads: false });
    let spans = tells.map(|(name, span)| format!("{span} for {name}")).join(", ");
    let mut notes = vec![format!(
        "Machine {MACHINE} with its costs; runs of each figure: {nr_seeds}. Measured are {spans}, {hackbench} for hackbench, and netperf with {FIRST_HIGH_LOAD} threads or more after {high_loads}; warm-ups begin \
         after {UPTIME} in which the machine is nearly idle."
    )];
    if options.quick {
        notes.push(
            "Quick: netperf TCP_RR with 84 and 224 threads, tbench with 112, hackbench with 2 and 8 groups of processes, \
             schbench with 4 and 8 message threads; UDP_RR, threads, the other loads and the follow-up questions are left out."
                .to_owned(),
        );
    } else {
        notes.push(small_llc::note());
    }
    notes
}
