// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures false positives and power of comparisons and bisections on simulated runs.
//!
//! ```sh
//! cargo run --release -p fairlab-study --example placebo -- --comparisons 500 --bisections 60 --resume FILE
//! cargo run --release -p fairlab-study --example placebo -- --planted 40 --resume FILE
//! cargo run --release -p fairlab-study --example placebo -- --starved 100 --resume FILE
//! ```
//!
//! - A placebo comparison has two arms with equal settings and workloads, but seeds of their own. Every
//!   difference between them is due to random numbers. The program counts comparisons in which any metric is
//!   better or worse.
//! - A placebo bisection has switches that change nothing but the seed. The program counts bisections that
//!   blame a switch.
//! - A planted comparison has a second arm whose tasks run 2, 5 or 10 % longer. The program counts how often
//!   the CPU time is found to be worse, and adds up the power that the minimum detectable effect of each
//!   comparison predicts for that difference.
//!
//! - A starved comparison has a second arm in which one of 20 tasks gets no CPU from some time to the end. The program
//!   counts how often that arm is better in some metric and worse in none.
//!
//! FILE gets one line of JSON for each trial. Trials that are already there are not repeated. A trial depends
//! on its number only, and not on the number of cores (`--jobs`, 1 by default).

#![allow(clippy::print_stdout, reason = "results of a measurement")]

use fairlab_experiment::bisect::{BisectOptions, Switches, find};
use fairlab_experiment::comparison::{ChangeVerdict, Comparison, ComparisonRules, MetricChange, compare};
use fairlab_experiment::metrics::{MetricDirection, RequestedMetric};
use fairlab_experiment::{Arms, Observation, pool, repeat};
use fairlab_run::bench::{self, LineOf};
use fairlab_run::drive::drive;
use fairlab_run::input::InputFile;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::prepare;
use fairlab_run::result::RunResult;
use fairlab_run::spec::{BenchSpec, RunSpec, WorkloadSpec};
use fairlab_run::values::Starts;
use fairlab_workload::message::Message;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use statrs::distribution::{ContinuousCDF, Normal};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::num::NonZeroUsize;

/// Number that is added to the seeds of the second arm for its own random numbers.
const SEEDS_OF_ARM: u64 = 1 << 40;
/// Planted differences in percent.
const PLANTED: [u64; 3] = [2, 5, 10];
/// Standard normal quantiles of a two-sided level of 5 % and of a power of 80 %.
const QUANTILES: [f64; 2] = [1.959_964, 0.841_621];

/// Kind of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TrialKind {
    Comparison,
    Bisection,
    Planted2,
    Planted5,
    Planted10,
    Starved,
}

/// Result of a trial: a line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct TrialRecord {
    kind: TrialKind,
    trial: u64,
    load: String,
    pairs: u64,
    tests: usize,
    /// Metrics that are better or worse, or switches that are blamed.
    found: Vec<String>,
    /// Number of metrics whose test is significant, whether or not the difference matters.
    significant: usize,
    /// Minimum detectable effect in percent, of planted comparisons.
    detectable_percent: Option<f64>,
    /// Power that follows from the minimum detectable effect, of planted comparisons.
    predicted_power: Option<f64>,
    /// Whether the interval of the change contains the planted difference.
    covers: Option<bool>,
}

/// Random numbers of a trial.
struct Random(Pcg64Mcg);

impl Random {
    fn of_trial(kind: TrialKind, trial: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(trial << 8 | kind as u64))
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.next_u64() % (most - least + 1)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() as u64 - 1) as usize]
    }
}

/// Returns the name of a load, and a run of it with random parameters.
fn placebo_load(trial: u64, random: &mut Random) -> Result<(&'static str, RunSpec), Message> {
    let cpus = random.one_of(&[1, 2, 4, 8]);
    let end = random.between(80, 160);
    let head = format!("cpus {cpus}\nend {end}ms\n");
    let hogs = random.between(1, cpus + 1);
    let tasks = random.between(2, 2 * cpus + 2);
    let sleep = random.between(1, 4);
    let scenario = |tasks: String| Ok(RunSpec::new(file(head.clone() + &tasks)));
    let on_board = |line: String| {
        let mut spec = RunSpec::new(benchmark(&line)?);
        spec.settings.machine = Some(InputFile::new("hikey960"));
        Ok::<_, Message>(spec)
    };
    let (name, spec) = match trial % 11 {
        0 => (
            "hogs-and-naps",
            scenario(format!("task hog n={hogs} run 10ms\ntask nap n={tasks} runr 100us 1ms sleepr 500us {sleep}ms\n")),
        ),
        1 => (
            "requests",
            scenario(format!(
                "task client n={tasks} runr 50us 400us wake server sleepr 1ms {}ms\ntask server n={tasks} loop wait runr 100us 900us\n",
                sleep + 1
            )),
        ),
        2 => (
            "periodic",
            scenario(format!(
                "task frame n={hogs} runr 1ms 4ms every 8ms\ntask audio n={tasks} runr 100us 300us every 5ms\n"
            )),
        ),
        3 => (
            "exponential",
            scenario(format!(
                "task hog n={hogs} runx 3ms sleepx 2ms\ntask editor n={tasks} runx 300us sleepx {sleep}ms\n"
            )),
        ),
        4 => (
            "nice",
            scenario(format!(
                "task low n={hogs} nice=5 run 10ms\ntask high n={tasks} nice=-3 runr 200us 2ms sleepr 1ms {}ms\n",
                2 * sleep
            )),
        ),
        5 => (
            "groups",
            scenario(format!(
                "group a shares=512\ngroup b quota={}ms period=20ms\ntask first n={hogs} group=a runr 1ms 6ms sleepr 1ms 3ms\ntask second n={tasks} group=b runr 1ms 3ms sleepr 2ms 6ms\n",
                4 * cpus
            )),
        ),
        6 => {
            ("hackbench", on_board(format!("hackbench -g {} -f 4 -l {}", random.between(1, 2), random.between(4, 10))))
        }
        7 => (
            "throttled",
            scenario(format!(
                "group g quota={}ms period=10ms\ngroup h parent=g quota={}ms period=15ms\ntask batch n={hogs} group=h run 5ms\ntask web n={tasks} group=g runr 300us 2ms sleepr 1ms {}ms\ntask other runr 1ms 2ms sleepr 1ms 3ms\n",
                2 * cpus,
                2 * cpus + 1,
                sleep + 2
            )),
        ),
        8 => (
            "starving",
            scenario(format!(
                "task rt fifo=30 cpu=0 mask=0-0 start={}ms run 1s\ntask pinned n=2 cpu=0 mask=0-0 runr 200us 1ms sleepr 500us 2ms\ntask free n={tasks} runr 200us 2ms sleepr 1ms {}ms\n",
                random.between(30, 60),
                sleep + 1
            )),
        ),
        9 => ("schbench", on_board(format!("schbench -m 1 -t {} -r 1", random.between(2, 8)))),
        _ => ("pipe", on_board(format!("perf sched pipe -l {}", random.between(100, 300)))),
    };
    let mut spec = spec?;
    if name == "schbench" {
        spec.settings.duration = Some(fairlab_sched::units::Nanos::from_millis(end));
    }
    spec.settings.starts = Starts::Jittered;
    Ok((name, spec))
}

/// Returns a run with 20 tasks of one family, one of which starves behind a real-time task to the end if asked for.
fn starved_load(random: &mut Random, starves: bool) -> RunSpec {
    let (start, last) = (random.between(20, 60), random.between(1500, 3000));
    let class = if starves { "fifo=30" } else { "nice=19" };
    let mut spec = RunSpec::new(file(format!(
        "cpus 4\nend 150ms\ntask w n=20 runr 50us 400us sleepr 500us {last}us\naffinity 1ms w19 0-0\n\
         task hog {class} cpu=0 mask=0-0 start={start}ms run 1s\n"
    )));
    spec.settings.starts = Starts::Jittered;
    spec
}

/// Returns a run whose CPU time is proportional to the length of its jobs, in percent. The number of jobs is such
/// that both arms' difference has a standard deviation near `spread` times the planted one.
fn planted_load(planted: u64, length: u64, spread: f64) -> RunSpec {
    // Lengths are uniform between half and one and a half of their mean: their deviation is 0.289 of it.
    let of_job = 1.0 / 12.0_f64.sqrt();
    let jobs = (2.0_f64.sqrt() * of_job / (spread * planted as f64 / 100.0)).powi(2).ceil().max(1.0) as u64;
    let (tasks, periods) = if jobs > 16 { (4, jobs.div_ceil(4)) } else { (1, jobs) };
    let from = 5_000 * length;
    let mut spec = RunSpec::new(file(format!(
        "cpus 4\nend {}ms\ntask job n={tasks} runr {from} {} every 10ms\n",
        10 * periods,
        3 * from
    )));
    spec.settings.starts = Starts::Jittered;
    spec
}

fn file(text: String) -> WorkloadSpec {
    WorkloadSpec::File(InputFile::new("placebo.scn").with_text(text))
}

fn benchmark(line: &str) -> Result<WorkloadSpec, Message> {
    let benchmark = bench::parse(line, LineOf::Command("placebo"))?;
    Ok(WorkloadSpec::Bench(BenchSpec { line: line.to_owned(), benchmark }))
}

/// Runs a spec with a seed, and returns the result as `fairlab compare` reads it.
fn run(spec: &RunSpec, seed: u64) -> Result<Value, Message> {
    let prepared = prepare(&spec.clone().with_seed(Some(seed)))?;
    let mut ready = prepared.boot()?;
    let whole = ready.machine.duration();
    let mut observers = RunObservers { bench: ready.bench, ..RunObservers::for_summary(&ready.machine) };
    drive(&mut ready.machine, &mut observers, ready.about.warmup, &mut |_| true)?;
    let result = RunResult::new(&ready.machine, observers, &ready.about, whole);
    let mut json = serde_json::to_value(result.summary).expect("a summary is JSON");
    json["bench"] = result.bench.map_or(Value::Null, |bench| bench.data);
    Ok(json)
}

/// Two arms with seeds of their own.
struct ArmsWithOwnSeeds {
    specs: [RunSpec; 2],
    asked: Vec<RequestedMetric>,
}

impl Arms for ArmsWithOwnSeeds {
    type Error = Message;

    fn nr_arms(&self) -> usize {
        2
    }

    fn run(&self, arm: usize, seed: u64) -> Result<Option<Observation>, Message> {
        let json = run(&self.specs[arm], seed + SEEDS_OF_ARM * arm as u64)?;
        Observation::from_result(&json, &self.asked).map(Some)
    }
}

/// Switches that change nothing but the seed of a run.
struct PlaceboSwitches(RunSpec);

impl Switches for PlaceboSwitches {
    type Error = Message;

    fn nr_switches(&self) -> usize {
        4
    }

    fn run(&self, set: &[usize], seed: u64) -> Result<f64, Message> {
        let of_set: u64 = set.iter().map(|switch| 1 << switch).sum();
        let json = run(&self.0, seed + SEEDS_OF_ARM * of_set)?;
        let observation = Observation::from_available(&json, &[]);
        let judged = observation.metrics.iter().find(|(metric, _)| metric.better != MetricDirection::Neither);
        judged.map(|(_, value)| *value).ok_or_else(|| Message::new("the run has no metric with a better direction"))
    }
}

const fn is_found(change: &MetricChange) -> bool {
    matches!(change.verdict, ChangeVerdict::Better | ChangeVerdict::Worse)
}

/// Returns the record of a comparison.
fn record(kind: TrialKind, trial: u64, load: &str, comparison: &Comparison) -> TrialRecord {
    let found = comparison.rows.iter().filter(|row| is_found(&row.changes[0]));
    let is_significant = |change: &MetricChange| change.p_corrected.is_some_and(|p| p <= comparison.level);
    TrialRecord {
        kind,
        trial,
        load: load.to_owned(),
        pairs: comparison.repetitions as u64,
        tests: comparison.tests,
        found: found.map(|row| row.metric.name.clone()).collect(),
        significant: comparison.rows.iter().filter(|row| is_significant(&row.changes[0])).count(),
        detectable_percent: None,
        predicted_power: None,
        covers: None,
    }
}

fn make(kind: TrialKind, trial: u64) -> Result<TrialRecord, Message> {
    let mut random = Random::of_trial(kind, trial);
    let first_seed = 1 + trial * 1000;
    let planted = match kind {
        TrialKind::Comparison => {
            let (load, spec) = placebo_load(trial, &mut random)?;
            let pairs = random.one_of(&[10, 12, 20]);
            let arms = ArmsWithOwnSeeds { specs: [spec.clone(), spec], asked: Vec::new() };
            let repetitions = repeat(&arms, first_seed..first_seed + pairs, &|| true)?;
            return Ok(record(kind, trial, load, &compare(&repetitions, ComparisonRules::default())));
        }
        TrialKind::Bisection => {
            let (load, spec) = placebo_load(trial, &mut random)?;
            let options = BisectOptions { first_seed, ..BisectOptions::default() };
            let culprits = find(&PlaceboSwitches(spec), options, &|_, _| ())?;
            let found = culprits.found.map_or_else(Vec::new, |found| found.set);
            return Ok(TrialRecord {
                kind,
                trial,
                load: load.to_owned(),
                pairs: culprits.runs as u64 / 2,
                tests: 1,
                found: found.iter().map(ToString::to_string).collect(),
                significant: usize::from(!found.is_empty() || culprits.is_negligible),
                detectable_percent: None,
                predicted_power: None,
                covers: None,
            });
        }
        TrialKind::Starved => {
            let specs = [false, true].map(|starves| starved_load(&mut Random::of_trial(kind, trial), starves));
            let pairs = random.one_of(&[12, 20]);
            let arms = ArmsWithOwnSeeds { specs, asked: Vec::new() };
            let repetitions = repeat(&arms, first_seed..first_seed + pairs, &|| true)?;
            let comparison = compare(&repetitions, ComparisonRules::default());
            let has = |verdict| comparison.rows.iter().any(|row| row.changes[0].verdict == verdict);
            let is_better = has(ChangeVerdict::Better) && !has(ChangeVerdict::Worse);
            let of_trial = record(kind, trial, "one of 20 starves", &comparison);
            return Ok(TrialRecord { found: if is_better { of_trial.found } else { Vec::new() }, ..of_trial });
        }
        TrialKind::Planted2 => PLANTED[0],
        TrialKind::Planted5 => PLANTED[1],
        TrialKind::Planted10 => PLANTED[2],
    };
    let pairs = random.one_of(&[12, 20, 30]);
    let spread = random.one_of(&[0.7, 1.0, 1.5]);
    let specs = [planted_load(planted, 100, spread), planted_load(planted, 100 + planted, spread)];
    let asked = vec![RequestedMetric::parse("totals.busy_ns:less")?];
    let repetitions = repeat(&ArmsWithOwnSeeds { specs, asked }, first_seed..first_seed + pairs, &|| true)?;
    let comparison = compare(&repetitions, ComparisonRules { matters_percent: 0.0, ..ComparisonRules::default() });
    let change = &comparison.rows[0].changes[0];
    let truth = planted as f64;
    let [of_level, of_power] = QUANTILES;
    let power = |least: f64| Normal::standard().cdf((of_level + of_power) * truth / least - of_level);
    Ok(TrialRecord {
        detectable_percent: change.could_show_percent,
        predicted_power: change.could_show_percent.map(power),
        covers: change.percent_interval.map(|[low, high]| (low..=high).contains(&truth)),
        ..record(kind, trial, &format!("jobs, spread {spread}"), &comparison)
    })
}

/// Numbers of trials, and the file of their results.
struct Options {
    trials: Vec<(TrialKind, u64)>,
    file: String,
    jobs: NonZeroUsize,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut options = Options { trials: Vec::new(), file: String::new(), jobs: NonZeroUsize::MIN };
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("{option} takes a value"))?;
        match option.as_str() {
            "--comparisons" => options.trials.push((TrialKind::Comparison, value.parse()?)),
            "--starved" => options.trials.push((TrialKind::Starved, value.parse()?)),
            "--bisections" => options.trials.push((TrialKind::Bisection, value.parse()?)),
            "--planted" => {
                let kinds = [TrialKind::Planted2, TrialKind::Planted5, TrialKind::Planted10];
                let number = value.parse()?;
                options.trials.extend(kinds.map(|kind| (kind, number)));
            }
            "--resume" => options.file = value,
            "--jobs" => options.jobs = value.parse()?,
            _ => return Err(format!("unknown option {option}: see the head of this file").into()),
        }
    }
    if options.file.is_empty() {
        return Err("--resume FILE is required".into());
    }
    Ok(options)
}

fn summarise(records: &[TrialRecord], kind: TrialKind) -> String {
    let records: Vec<&TrialRecord> = records.iter().filter(|record| record.kind == kind).collect();
    let of = records.len();
    let found = records.iter().filter(|record| !record.found.is_empty()).count();
    let significant = records.iter().filter(|record| record.significant > 0).count();
    let mut text = format!("{kind:?}: {found} of {of} found, {significant} significant");
    let predicted: Vec<f64> = records.iter().filter_map(|record| record.predicted_power).collect();
    if !predicted.is_empty() {
        let mean = predicted.iter().sum::<f64>() / predicted.len() as f64;
        // The variance of a sum of independent decisions with unequal probabilities.
        let band = 2.0 * predicted.iter().map(|power| power * (1.0 - power)).sum::<f64>().sqrt() / of as f64;
        let covered = records.iter().filter(|record| record.covers == Some(true)).count();
        text.push_str(&format!(
            "; found {:.1} %, predicted {:.1} % (band {:.1} to {:.1} %); {covered} intervals contain the difference",
            100.0 * found as f64 / of as f64,
            100.0 * mean,
            100.0 * (mean - band),
            100.0 * (mean + band).min(1.0)
        ));
    }
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let Options { trials, file, jobs } = options()?;
    pool::limit(jobs);
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    // A line that was cut short by a signal is made again.
    let mut records: Vec<TrialRecord> = known.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let done: BTreeSet<(TrialKind, u64)> = records.iter().map(|record| (record.kind, record.trial)).collect();
    let mut out = OpenOptions::new().create(true).append(true).open(&file)?;
    if !known.is_empty() && !known.ends_with('\n') {
        writeln!(out)?;
    }
    for &(kind, number) in &trials {
        for trial in (0..number).filter(|trial| !done.contains(&(kind, *trial))) {
            let record = make(kind, trial).map_err(|error| format!("{kind:?} {trial}: {error}"))?;
            writeln!(out, "{}", serde_json::to_string(&record)?)?;
            records.push(record);
        }
        println!("{}", summarise(&records, kind));
    }
    Ok(())
}
