// SPDX-License-Identifier: GPL-2.0-or-later
//! What the change saves: `perf bench sched pipe` and hackbench on HiKey, in the root group, one and two groups deep.
//!
//! The prices are those of the machine's file. The change's own is that of the scalings that it removes ([`Op::PeltScale`]);
//! the others make the times what they are before the change, and are the same in both arms. So the times before are calibrated,
//! and the gains are predictions.
//!
//! [`Op::PeltScale`]: fairlab_sched::work::Op::PeltScale

use crate::definition::{ArmDefinition, Figure, RowDefinition, StudyDefinition};
use crate::pool;
use crate::report::{Measured, Table};
use crate::run::{machine, only_first_idle_state, performance_governor, run_until_done};
use crate::sensitivity;
use crate::tally::Tally;
use crate::{Options, StudyError};
use fairlab_machine::hardware::Hardware;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::hackbench::Hackbench;
use fairlab_workload::bench::pipe::pipe;
use fairlab_workload::workload::Workload;
use std::collections::BTreeMap;

/// The loops that the published times are for.
const PUBLISHED_LOOPS: f64 = 1000.0;
/// Group levels by their name in the tables.
const LEVELS: [(&str, u32); 3] = [("root", 0), ("level 1", 1), ("level 2", 2)];

/// How much is simulated.
struct Size {
    pipe_rounds: u64,
    pipe_seeds: u64,
    hackbench_loops: u64,
    hackbench_seeds: u64,
}

/// A benchmark at a level under an arm.
type Key = (&'static str, String, String);
/// A benchmark under an arm, so many groups deep, with a seed.
type Job<'a> = (&'static str, &'a ArmDefinition, u32, u64);

const MACHINE: &str = "hikey";
/// The part of the study that published figures take, and in full the table of prices.
const PART_OF_MEASURED: f64 = 0.6;
const PART_OF_PRICES: f64 = 0.3;

/// Runs a workload whose tasks start at times that differ by seed, to its end. Returns the seconds.
fn seconds(arm: &ArmDefinition, mut hardware: Hardware, mut workload: Workload, seed: u64) -> Result<f64, StudyError> {
    // Another phase against the tick for each seed.
    for task in &mut workload.tasks {
        task.start_at = Some(Nanos(seed * 317_000 % 4_000_000));
    }
    performance_governor(&mut hardware);
    only_first_idle_state(&mut hardware);
    let begin = Nanos(seed * 317_000 % 4_000_000);
    let end = run_until_done(arm, hardware, workload)?;
    Ok((end - begin).0 as f64 / 1e9)
}

fn measure(size: &Size, hardware: Hardware, (benchmark, arm, levels, seed): Job<'_>) -> Result<f64, StudyError> {
    if benchmark == "pipe" {
        let time = seconds(arm, hardware, pipe(size.pipe_rounds, levels), seed)?;
        return Ok(size.pipe_rounds as f64 / time);
    }
    let hackbench = Hackbench { loops: size.hackbench_loops, group_levels: levels, ..Hackbench::default() };
    let time = seconds(arm, hardware, hackbench.workload(), seed)?;
    Ok(time * PUBLISHED_LOOPS / size.hackbench_loops as f64)
}

pub(super) fn tables(
    study: &StudyDefinition,
    options: Options,
    tally: &Tally<'_>,
) -> Result<(Vec<Table>, Vec<String>), StudyError> {
    let size = if options.quick {
        Size { pipe_rounds: 100_000, pipe_seeds: 2, hackbench_loops: 100, hackbench_seeds: 6 }
    } else {
        Size { pipe_rounds: 1_000_000, pipe_seeds: 3, hackbench_loops: 1_000, hackbench_seeds: 16 }
    };
    let done = |name: &str, part: f64| tally.add(name, PART_OF_MEASURED * part);
    let (mut tables, prices) = pool::both(
        || measured(study, &size, &machine(MACHINE), &done),
        || (!options.quick).then(|| prices(study, tally)).transpose(),
    )?;
    tables.extend(prices);
    Ok((tables, notes(&size)))
}

/// The table of prices halved and doubled.
fn prices(study: &StudyDefinition, tally: &Tally<'_>) -> Result<Table, StudyError> {
    let size = Size { pipe_rounds: 100_000, pipe_seeds: 1, hackbench_loops: 100, hackbench_seeds: 2 };
    let told = |price: &str, part| tally.add(price, PART_OF_PRICES * part);
    sensitivity::table(study.table("prices"), "before, after", MACHINE, None, told, |hardware| {
        measured(study, &size, &hardware, &|_, _| {})
    })
}

/// The tables of a machine whose prices may be others. `done` hears of each benchmark, and which part of all of them it is.
fn measured(
    study: &StudyDefinition,
    size: &Size,
    hardware: &Hardware,
    done: &(dyn Fn(&str, f64) + Sync),
) -> Result<Vec<Table>, StudyError> {
    let mut jobs: Vec<(Key, Job<'_>)> = Vec::new();
    for (benchmark, seeds) in [("pipe", size.pipe_seeds), ("hackbench", size.hackbench_seeds)] {
        for arm in &study.arms {
            for (level, depth) in LEVELS {
                for seed in 0..seeds {
                    jobs.push(((benchmark, level.to_owned(), arm.name.clone()), (benchmark, arm, depth, seed)));
                }
            }
        }
    }
    let part = 1.0 / jobs.len() as f64;
    let results: Vec<(Key, f64)> = pool::all(jobs, |(key, job)| {
        let value = measure(size, hardware.clone(), job)?;
        done(&format!("{} {} {}", key.0, key.1, key.2), part);
        Ok::<_, StudyError>((key, value))
    })?;
    let mut by_key: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for (key, value) in results {
        by_key.entry(key).or_default().push(value);
    }

    let mut tables = Vec::new();
    for benchmark in ["pipe", "hackbench"] {
        tables.push(Table::fill(study.table(benchmark), |row| {
            let measured = Measured::mean_of_runs(by_key[&(benchmark, row.label.clone(), row.arm.clone())].clone());
            match (row.arm.as_str(), row.label.as_str()) {
                ("before", "root") => measured.because("prices are calibrated against this row"),
                ("before", _) if benchmark == "pipe" => {
                    measured.because("the price of a level is calibrated against these rows")
                }
                _ => measured,
            }
        }));
        let gain = study.table(&format!("{benchmark} gain"));
        tables.push(Table::fill(gain, |row| gain_of(&by_key, benchmark, row)));
    }
    Ok(tables)
}

fn notes(size: &Size) -> Vec<String> {
    vec![
        format!(
            "Tables pipe and hackbench: machine hikey with its prices, performance governor. {} seeds of {} rounds, {} seeds of {} \
             loops; with another seed the tasks start at another phase against the tick. Figures are means, spreads half the range.",
            size.pipe_seeds, size.pipe_rounds, size.hackbench_seeds, size.hackbench_loops
        ),
        "CPUs use only their first idle state there: after each migration a few exits of 250 us from the second one would hide \
         differences of a percent."
            .to_owned(),
        "hackbench wakes about once per six messages, so few scalings are saved per message: the simulated gain has the \
         size of its own spread, and the published one (spreads of 2 to 11 %) cannot come from the scalings alone."
            .to_owned(),
    ]
}

/// The change of the mean, in percent; its spread is half the range of the changes seed by seed.
fn gain_of(by_key: &BTreeMap<Key, Vec<f64>>, benchmark: &'static str, row: &RowDefinition) -> Measured {
    let of = |arm: &str| &by_key[&(benchmark, row.label.clone(), arm.to_owned())];
    let (before, after) = (of("before"), of("after"));
    let change = |before: f64, after: f64| 100.0 * (after - before) / before;
    let by_seed = before.iter().zip(after).map(|(&before, &after)| change(before, after));
    let mut measured = Measured::mean_of_runs(by_seed.collect());
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    measured.value = Figure::Number(change(mean(before), mean(after)));
    measured
}
