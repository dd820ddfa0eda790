// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics of a run: numbers with a name, a unit and a direction, extracted from its JSON result.
//!
//! `OF_BENCHES`, `OF_RUNS`, `BESIDE` and `OF_FAMILIES` list the metrics that are used by default. All
//! other metrics are paths, as in studies.

use crate::data::path::{PathError, ResultPath};
use fairlab_workload::suggest;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Largest number of task families with their own metrics.
const MAX_FAMILIES: usize = 12;

/// Better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricDirection {
    /// Lower values are better.
    Less,
    /// Higher values are better.
    More,
    /// Neither direction is better: the metric is reported, but not judged.
    Neither,
}

/// Name, unit and direction of a measured quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metric {
    /// Name of the metric.
    pub name: String,
    /// Unit: `ns`, `us`, `ms`, `s`, `uJ`, `/s`, `MB/s`, `%`, or an empty text for a count.
    pub unit: String,
    /// Direction in which the metric improves.
    pub better: MetricDirection,
}

/// Default metric: name, path, path of the divisor, unit, and direction.
type KnownMetric = (&'static str, &'static str, Option<&'static str>, &'static str, MetricDirection);

use MetricDirection::{Less, More, Neither};

/// Metrics of benchmarks, under `bench`; each benchmark has some of these.
const OF_BENCHES: &[KnownMetric] = &[
    ("time", "bench.time_s", None, "s", Less),
    ("time of a round", "bench.usecs_per_op", None, "us", Less),
    ("transactions", "bench.sum", None, "/s", More),
    ("transactions", "bench.per_s", None, "/s", More),
    ("requests", "bench.average_rps", None, "/s", More),
    ("throughput", "bench.throughput_mb_s", None, "MB/s", More),
    ("bogo operations", "bench.bogo_ops_per_s", None, "/s", More),
    ("latency p50", "bench.latency.p50_ns", None, "ns", Less),
    ("latency p99", "bench.latency.p99_ns", None, "ns", Less),
    ("latency p50", "bench.percentiles[percent=50].value", None, "us", Less),
    ("latency p99", "bench.percentiles[percent=99].value", None, "us", Less),
    ("wake-up p99", "bench.wakeup_latency_us.percentiles[percent=99].value", None, "us", Less),
    ("request p99", "bench.request_latency_us.percentiles[percent=99].value", None, "us", Less),
    ("latency max", "bench.max_latency_ms", None, "ms", Less),
];

/// Metrics of every run, listed before those of its families.
const OF_RUNS: &[KnownMetric] = &[
    ("energy, busy", "energy.busy_uj", None, "uJ", Less),
    ("CPU time", "totals.busy_ns", None, "ns", Neither),
    ("waiting", "totals.wait_ns", None, "ns", Less),
];

/// Metrics of every run, listed after those of its families.
const BESIDE: &[KnownMetric] = &[
    ("migrations", "totals.migrations", None, "", Neither),
    ("switches", "totals.switches", None, "", Neither),
    ("CPUs scanned", "selection.cpus_scanned", Some("selection.wakeups"), "", Neither),
    ("nohz kicks", "balance.kicks", None, "", Neither),
];

/// Metrics of a task family: end of the metric's name, path within the family, unit, and direction.
const OF_FAMILIES: &[(&str, &str, &str, MetricDirection)] = &[
    ("wake to run p50", "wake_to_run.p50_ns", "ns", Less),
    ("wake to run p99", "wake_to_run.p99_ns", "ns", Less),
    ("queued p99", "wakeup_latency.p99_ns", "ns", Less),
    ("timers missed", "timers.missed", "", Less),
];

/// Metric that a user requests: a metric's name or a path, with an optional direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedMetric {
    text: String,
    path: Option<ResultPath>,
    better: Option<MetricDirection>,
}

impl RequestedMetric {
    /// Parses `NAME`, `PATH:less`, `PATH:more` or `PATH:neither`.
    ///
    /// # Errors
    /// If the text looks like a path, but is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let directions = [(":less", Less), (":more", More), (":neither", Neither)];
        let found = directions.iter().find_map(|(end, better)| Some((text.strip_suffix(end)?, *better)));
        let (text, better) = found.map_or((text, None), |(text, better)| (text, Some(better)));
        let is_path = text.contains(['.', '[']) && !text.contains(": ");
        let path = is_path.then(|| ResultPath::parse(text)).transpose()?;
        Ok(Self { text: text.to_owned(), path, better })
    }

    /// The name or path, without the direction.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the metric and its value from the JSON result of a run; `None` if this run has no value at the
    /// path.
    ///
    /// # Errors
    /// If no run can have this metric; with the known ones.
    fn take(&self, result: &Value, known: &[(Metric, f64)]) -> Result<Option<(Metric, f64)>, String> {
        let Some(path) = &self.path else {
            let found = known.iter().find(|(metric, _)| metric.name == self.text);
            let (metric, value) = found.ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|(metric, _)| metric.name.as_str()).collect();
                format!(
                    "metric {}: no run has this metric\nhelp: {}; or give a path, such as totals.migrations",
                    self.text,
                    suggest::help(&self.text, "there is", &names)
                )
            })?;
            let better = self.better.unwrap_or(metric.better);
            return Ok(Some((Metric { better, ..metric.clone() }, *value)));
        };
        let numbers = path.numbers(result).map_err(|miss| match miss {
            PathError::Key { at, key, known } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let place = if at.is_empty() { "a run".to_owned() } else { format!("`{at}`") };
                format!(
                    "metric {}: {place} has no `{key}`\nhelp: {}",
                    self.text,
                    suggest::help(&key, "there is", &known)
                )
            }
            PathError::Kind { at, what } => {
                format!("metric {}: `{at}` {what}\nhelp: `fairlab run --json` shows the available keys", self.text)
            }
        })?;
        let better = self.better.unwrap_or(Neither);
        let metric = Metric { name: self.text.clone(), unit: unit_of(&self.text).to_owned(), better };
        Ok((!numbers.is_empty()).then(|| (metric, numbers.iter().sum())))
    }
}

/// Returns the unit that the last key of a path ends in.
fn unit_of(path: &str) -> &'static str {
    let ends = [("_ns", "ns"), ("_us", "us"), ("_ms", "ms"), ("_s", "s"), ("_uj", "uJ")];
    ends.iter().find(|(end, _)| path.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// Returns the metrics of a run from its JSON result: the requested ones, or all default metrics if none is
/// requested.
///
/// # Errors
/// If a requested metric is unknown.
pub fn of_run(result: &Value, asked: &[RequestedMetric]) -> Result<Vec<(Metric, f64)>, String> {
    let known = known_metrics(result);
    if asked.is_empty() {
        return Ok(known);
    }
    let taken: Vec<Option<(Metric, f64)>> =
        asked.iter().map(|one| one.take(result, &known)).collect::<Result<_, _>>()?;
    Ok(taken.into_iter().flatten().collect())
}

fn known_metrics(result: &Value) -> Vec<(Metric, f64)> {
    let mut found = Vec::new();
    let mut look = |name: &str, path: &str, per: Option<&str>, unit: &str, better: MetricDirection| {
        let Some(mut value) = number_at(result, path) else { return };
        if let Some(per) = per {
            match number_at(result, per).filter(|divisor| *divisor > 0.0) {
                Some(divisor) => value /= divisor,
                None => return,
            }
        }
        found.push((Metric { name: name.to_owned(), unit: unit.to_owned(), better }, value));
    };
    let is_bench = !result["bench"].is_null();
    for &(name, path, per, unit, better) in OF_BENCHES.iter().chain(if is_bench { &[] } else { OF_RUNS }) {
        look(name, path, per, unit, better);
    }
    let families = result["families"].as_array().map_or(0, Vec::len);
    // A benchmark reports its own measurements, so the families of its tasks have no metrics.
    for place in 0..if is_bench { 0 } else { families.min(MAX_FAMILIES) } {
        let family = result["families"][place]["name"].as_str().unwrap_or_default();
        for &(what, behind, unit, better) in OF_FAMILIES {
            look(&format!("{family}: {what}"), &format!("families[{place}].{behind}"), None, unit, better);
        }
    }
    for &(name, path, per, unit, better) in BESIDE {
        look(name, path, per, unit, better);
    }
    found
}

/// Returns the first number at a path, if the run has one.
fn number_at(result: &Value, path: &str) -> Option<f64> {
    let path = ResultPath::parse(path).expect("paths of this module are well-formed");
    path.numbers(result).ok().and_then(|numbers| numbers.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample_run() -> Value {
        json!({
            "bench": null,
            "totals": { "busy_ns": 5, "wait_ns": 7, "migrations": 3, "switches": 9 },
            "families": [
                { "name": "ui", "wake_to_run": { "p50_ns": 10, "p99_ns": 20 }, "timers": { "missed": 1 } },
                { "name": "hog", "wake_to_run": null },
            ],
            "selection": { "cpus_scanned": 10, "wakeups": 4 },
            "balance": { "kicks": 0 },
        })
    }

    #[test]
    fn a_run_of_a_file_has_metrics_of_its_families_and_of_the_machine() {
        let metrics = of_run(&sample_run(), &[]).expect("nothing was asked for");
        let names: Vec<&str> = metrics.iter().map(|(metric, _)| metric.name.as_str()).collect();
        let expected = [
            "CPU time",
            "waiting",
            "ui: wake to run p50",
            "ui: wake to run p99",
            "ui: timers missed",
            "migrations",
            "switches",
            "CPUs scanned",
            "nohz kicks",
        ];
        assert_eq!(names, expected);
        let of = |name: &str| metrics.iter().find(|(metric, _)| metric.name == name).expect("it is one of them");
        assert_eq!((of("CPUs scanned").1, of("ui: wake to run p99").1), (2.5, 20.0));
        assert_eq!((of("waiting").0.better, of("migrations").0.better), (Less, Neither));
    }

    #[test]
    fn a_benchmark_tells_what_it_measures_and_its_tasks_nothing() {
        let mut result = sample_run();
        result["bench"] = json!({ "sum": 1000.5, "latency": { "p50_ns": 8, "p99_ns": 90 } });
        let metrics = of_run(&result, &[]).expect("nothing was asked for");
        let names: Vec<&str> = metrics.iter().map(|(metric, _)| metric.name.as_str()).collect();
        assert_eq!(
            names,
            ["transactions", "latency p50", "latency p99", "migrations", "switches", "CPUs scanned", "nohz kicks"]
        );
    }

    #[test]
    fn what_is_asked_for_is_a_name_or_a_path_with_a_direction() {
        let of = |text: &str| of_run(&sample_run(), &[RequestedMetric::parse(text).expect("it can be read")]);
        let (metric, value) = of("totals.wait_ns:less").expect("a run has that metric").remove(0);
        assert_eq!((metric.unit.as_str(), metric.better, value), ("ns", Less, 7.0));
        assert_eq!(of("ui: wake to run p99").expect("it is known")[0].1, 20.0);
        assert_eq!(of("migrations:more").expect("it is known")[0].0.better, More);
        assert!(of("wating").expect_err("misspelt").contains("did you mean `waiting`"));
        assert!(of("totals.wait").expect_err("there is none").contains("wait_ns"));
        assert!(RequestedMetric::parse("totals..x").is_err());
        assert!(of("energy.busy_uj").is_err(), "the machine has no powers");
    }
}
