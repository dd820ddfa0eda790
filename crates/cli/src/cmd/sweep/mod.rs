// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab sweep`: runs all points of a plan into a store.

pub(crate) mod points;

use crate::args::sweep::{SweepArgs, SweepCommand, TableFormat};
use crate::output::Output;
use crate::output::progress::CountProgress;
use crate::values::error::CliError;
use crate::values::interrupt;
use crate::values::whole_file::AtomicFile;
use fairlab_experiment::pool;
use fairlab_sched::units::Nanos;
use fairlab_sweep::export::SweepTable;
use fairlab_sweep::plan::SweepPlan;
use fairlab_sweep::run::{identified, pending, run};
use fairlab_sweep::store::{PointStore, StoreError, StoredPoint, StoredResult};
use fairlab_workload::files;
use fairlab_workload::message::Message;
use points::PlanRunner;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Simulated time of a point to estimate its cost, and to check its metrics.
pub(crate) const SAMPLE_DURATION: Nanos = Nanos::from_millis(20);
/// Largest number of failures that are printed.
const MAX_FAILURES: usize = 5;

pub(crate) fn sweep(output: &mut Output, args: &SweepArgs) -> Result<(), CliError> {
    match &args.command {
        Some(SweepCommand::Export { store, output: file, format, all }) => {
            export(output, store, file.as_deref(), *format, *all)
        }
        Some(SweepCommand::Merge { stores, output: file, salvage }) => merge(output, stores, file, *salvage),
        None => {
            let plan = args.plan.as_deref().expect("without a command there is a plan");
            sweep_plan(output, args, plan)
        }
    }
}

pub(crate) fn store_error(error: StoreError) -> CliError {
    match error {
        StoreError::Unwritable(..) => CliError::run(error),
        error => CliError::input(error),
    }
}

fn sweep_plan(output: &mut Output, args: &SweepArgs, path: &Path) -> Result<(), CliError> {
    args.jobs.apply();
    let name = path.display().to_string();
    let help = "give the path of a plan; `fairlab sweep --help` shows one";
    let read = files::read_file(path, fairlab_run::input::MAX_BYTES);
    let bytes = read.map_err(|error| {
        CliError::Input(Message::in_file(&name, format!("cannot be read: {error}")).with_help(help))
    })?;
    let text = fairlab_workload::source_text::utf8_text(&name, &bytes).map_err(CliError::input)?;
    let plan = SweepPlan::parse(&name, text).map_err(CliError::Input)?;
    let points = plan.points();
    let of_plan = |error: Message| CliError::Input(error.with_file(&name));
    let runs = PlanRunner::new(plan, path.parent().unwrap_or_else(|| Path::new("."))).map_err(of_plan)?;
    let points = identified(points, &runs).map_err(of_plan)?;
    // Most errors of a plan show in its first point; checked late, all points would fail one by one.
    if let Some((_, first)) = points.first() {
        runs.check(first)?;
        runs.check_metrics(first, SAMPLE_DURATION).map_err(of_plan)?;
    }
    let store_path = args.store.clone().unwrap_or_else(|| path.with_extension("sweep"));
    if args.dry_run {
        let store = if store_path.exists() {
            Some(PointStore::open_existing(&store_path, false).map_err(store_error)?)
        } else {
            None
        };
        return dry_run(output, args, &runs, &points, store);
    }
    let mut store = PointStore::open(&store_path).map_err(store_error)?;
    store.set_plan(&points).map_err(store_error)?;
    if args.retry {
        store.delete_failures().map_err(store_error)?;
    }
    let todo = pending(&store, args.shard).map_err(store_error)?;
    let already = points.len() - todo.len();
    let mut progress = CountProgress::new("sweeping", todo.len() as u64);
    interrupt::install_handlers();
    let mut done = 0;
    let result = run(&mut store, todo, &runs, &|| interrupt::requested().is_none(), &mut |_: &StoredResult| {
        done += 1;
        progress.add(1);
    });
    progress.clear();
    let warnings: Vec<String> = runs.warnings.lock().expect("noting does not panic").iter().cloned().collect();
    output.warn_all(&warnings)?;
    result.map_err(store_error)?;
    let kept = store.points().map_err(store_error)?;
    print_status(output, &store_path, &kept, done, already)?;
    interrupt::check()?;
    fail_on_failures(&store_path, &kept)
}

/// Prints the number of completed, failed and pending points.
fn print_status(
    output: &mut Output,
    store: &Path,
    kept: &[StoredPoint],
    done: usize,
    already: usize,
) -> Result<(), CliError> {
    let in_plan = kept.iter().filter(|kept| kept.in_plan);
    let failed = in_plan.clone().filter(|kept| is_failure(kept)).count();
    let finished = in_plan.clone().filter(|kept| kept.result.is_some()).count() - failed;
    let (whole, others) = (in_plan.count(), kept.iter().filter(|kept| !kept.in_plan).count());
    if output.is_json() {
        return output.json(&json!({
            "store": store, "points": whole, "done": finished, "failed": failed, "run_now": done, "not_in_plan": others,
        }));
    }
    let now = if failed > 0 { format!("{done} were run now") } else { format!("{done} of them now") };
    let mut text = format!("{}: {finished} of {whole} points are done, {now}", store.display());
    if failed > 0 {
        text.push_str(&format!("; {failed} failed"));
    }
    if already > 0 && done == 0 && finished + failed < whole {
        text.push_str("; the rest belongs to other shards");
    }
    if others > 0 {
        text.push_str(&format!("; {others} more are stored that the plan no longer has"));
    }
    output.text(&crate::output::wrap(&text, 2))?;
    output.text(&format!("  fairlab sweep export {} -o results.csv\n", store.display()))
}

fn is_failure(kept: &StoredPoint) -> bool {
    kept.result.as_ref().is_some_and(|done| done.outcome.is_err())
}

/// Returns an error if points have failed.
fn fail_on_failures(store: &Path, kept: &[StoredPoint]) -> Result<(), CliError> {
    let why = |kept: &StoredPoint| {
        let Err(why) = &kept.result.as_ref()?.outcome else { return None };
        let settings: Vec<String> = kept.point.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Some(format!("{} seed {}: {}", settings.join(" "), kept.point.seed, why.text))
    };
    let all: Vec<String> = kept.iter().filter(|kept| kept.in_plan).filter_map(why).collect();
    if all.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = all.iter().take(MAX_FAILURES).map(String::as_str).collect();
    let help = "--retry runs failed points again";
    Err(CliError::Run(
        Message::in_file(store, format!("{} points failed:\n{}", all.len(), shown.join("\n"))).with_help(help),
    ))
}

/// Prints the number of points and their estimated time.
fn dry_run(
    output: &mut Output,
    args: &SweepArgs,
    runs: &PlanRunner,
    points: &[(String, fairlab_sweep::plan::SweepPoint)],
    store: Option<PointStore>,
) -> Result<(), CliError> {
    let known = store.map(|store| store.points()).transpose().map_err(store_error)?.unwrap_or_default();
    let done_of = |id: &str| known.iter().find(|kept| kept.id == *id).and_then(|kept| kept.result.as_ref());
    let todo: Vec<_> = points.iter().filter(|(id, _)| args.shard.has(id) && done_of(id).is_none()).collect();
    let walls: Vec<f64> =
        points.iter().filter_map(|(id, _)| done_of(id)).map(|done| done.wall_ns as f64 / 1e9).collect();
    let (each, how) = if walls.len() >= 3 {
        let mean = walls.iter().sum::<f64>() / walls.len() as f64;
        (Some(mean), format!("the mean of the {} points that are done", walls.len()))
    } else {
        let places = [0, todo.len() / 2, todo.len().saturating_sub(1)];
        let mut costs = Vec::new();
        for (_, point) in places.iter().filter_map(|place| todo.get(*place)) {
            let (per_s, length) = runs.measure_cost(point, SAMPLE_DURATION).map_err(CliError::Input)?;
            costs.push(length.map(|length| per_s * length.0 as f64 / 1e9));
        }
        let known: Option<Vec<f64>> = costs.into_iter().collect();
        let mean = known.filter(|costs| !costs.is_empty()).map(|costs| costs.iter().sum::<f64>() / costs.len() as f64);
        (mean, format!("{SAMPLE_DURATION} of three points, first, middle and last"))
    };
    let cores = pool::cores();
    let whole = each.map(|each| each * todo.len() as f64 / cores as f64);
    let keys: std::collections::BTreeSet<&String> =
        points.iter().flat_map(|(_, point)| point.settings.keys()).collect();
    if output.is_json() {
        return output.json(&json!({
            "points": points.len(), "done": walls.len(), "to_do": todo.len(), "seconds_each": each, "seconds": whole,
            "cores": cores, "settings": keys,
        }));
    }
    let keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
    let mut text =
        format!("{} points over {}; {} are done, {} to do\n", points.len(), keys.join(", "), walls.len(), todo.len());
    match (each, whole) {
        (Some(each), Some(whole)) => {
            text.push_str(&crate::output::wrap(
                &format!("about {} on {cores} cores: {} each, from {how}", duration_text(whole), duration_text(each)),
                2,
            ));
        }
        _ => text.push_str("the time is unknown: the benchmark runs until it has completed its work\n"),
    }
    output.text(&text)
}

/// Formats a duration in a suitable unit.
fn duration_text(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{:.0}ms", seconds * 1e3),
        ..120.0 => format!("{seconds:.1}s"),
        ..7200.0 => format!("{:.0}min", seconds / 60.0),
        _ => format!("{:.1}h", seconds / 3600.0),
    }
}

fn export(
    output: &mut Output,
    store: &Path,
    file: Option<&Path>,
    format: Option<TableFormat>,
    all: bool,
) -> Result<(), CliError> {
    if output.is_json() && format != Some(TableFormat::Jsonl) {
        let help = "use --format jsonl for a line of JSON per point";
        return Err(CliError::with_help("sweep export writes a table, not JSON", help));
    }
    let kept = PointStore::open_existing(store, false).and_then(|store| store.points()).map_err(store_error)?;
    let kept: Vec<StoredPoint> = kept.into_iter().filter(|kept| all || kept.in_plan).collect();
    let table = SweepTable::of(&kept);
    let ending = file.and_then(Path::extension).and_then(|ending| ending.to_str());
    let format = format.map_or_else(|| format_of(ending), Ok)?;
    if format == TableFormat::Parquet {
        return parquet(&table, file);
    }
    let mut text = Vec::new();
    let written = if format == TableFormat::Csv { table.csv(&mut text) } else { table.jsonl(&mut text) };
    written.map_err(|error| CliError::write("the table", &error))?;
    match file {
        None => output.text(&String::from_utf8(text).expect("tables are text")),
        Some(file) => {
            AtomicFile::write(file, &text)?;
            output.text(&format!("{}: {} rows\n", file.display(), table.len()))
        }
    }
}

/// Returns the format for a file extension.
fn format_of(ending: Option<&str>) -> Result<TableFormat, CliError> {
    match ending {
        Some("parquet") => Ok(TableFormat::Parquet),
        Some("jsonl" | "ndjson") => Ok(TableFormat::Jsonl),
        Some("csv") | None => Ok(TableFormat::Csv),
        Some(other) => {
            let help = "use the extension .csv, .jsonl or .parquet, or set --format csv";
            Err(CliError::with_help(format!("unknown table format .{other}"), help))
        }
    }
}

#[cfg(feature = "parquet")]
fn parquet(table: &SweepTable, file: Option<&Path>) -> Result<(), CliError> {
    let file = file
        .ok_or_else(|| CliError::with_help("Parquet cannot be written to standard output", "give -o FILE.parquet"))?;
    let failed = |error: std::io::Error| CliError::write(&file.display().to_string(), &error);
    let (whole, out) = AtomicFile::create(file).map_err(failed)?;
    table.parquet(out).map_err(failed)?;
    whole.finish()
}

#[cfg(not(feature = "parquet"))]
fn parquet(_table: &SweepTable, _file: Option<&Path>) -> Result<(), CliError> {
    let help = "build it with `cargo build --release --features parquet`, or export csv or jsonl";
    Err(CliError::with_help("this fairlab was built without Parquet", help))
}

fn merge(output: &mut Output, stores: &[PathBuf], file: &Path, salvage: bool) -> Result<(), CliError> {
    let mut all = PointStore::open(file).map_err(store_error)?;
    for path in stores {
        let store = PointStore::open_existing(path, salvage).map_err(store_error)?;
        let points = if salvage { store.salvage() } else { store.points() };
        let points = points.map_err(store_error)?;
        let results = points.iter().filter(|kept| kept.result.is_some()).count();
        let new = all.merge(&path.display().to_string(), &points).map_err(store_error)?;
        let text = format!("{}: {} points, {results} of them done, {new} added\n", path.display(), points.len());
        output.text(&text)?;
    }
    Ok(())
}
