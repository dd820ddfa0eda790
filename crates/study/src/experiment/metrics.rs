// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics of a run: numbers with a name, a unit and a direction, extracted from its JSON result.
//!
//! Name, unit and direction come from the catalogue of metrics ([`fairlab_observe::catalogue`]): by default
//! the metrics with short names, others by their paths.

use crate::data::path::{PathError, ResultPath};
pub use fairlab_observe::catalogue::MetricDirection;
use fairlab_observe::catalogue::{Combination, MetricInfo, NAMED, NamedMetric, Scope};
use fairlab_workload::suggest;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use MetricDirection::{Less, More, Neither};

/// Largest number of task families with their own metrics.
const MAX_FAMILIES: usize = 12;

/// Name, unit and direction of a measured quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metric {
    /// Name of the metric.
    pub name: String,
    /// Unit: `ns`, `us`, `ms`, `s`, `uJ`, `/s`, `MB/s`, `%`, or an empty text for a count.
    pub unit: String,
    /// Direction in which the metric improves.
    pub better: MetricDirection,
    /// Whether the metric adds up over a run, so that it grows with the run's length.
    #[serde(skip)]
    pub is_sum: bool,
}

impl Metric {
    fn new(name: &str, info: &MetricInfo) -> Self {
        let is_sum = info.combination == Combination::Sum;
        Self { name: name.to_owned(), unit: info.unit.to_owned(), better: info.better, is_sum }
    }
}

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

    /// Returns the metric and its value from the JSON result of a run; `None` if this run has no value of a metric whose path
    /// ends in an optional key.
    ///
    /// # Errors
    /// If no run has this metric, with the known ones, or if this run has no value of it.
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
        let info = MetricInfo::from_path(&self.text);
        if numbers.is_empty() && self.text.ends_with('?') {
            return Ok(None);
        }
        if numbers.is_empty() {
            let reason = info.map_or("", |info| info.undefined);
            let reason = if reason.is_empty() { String::new() } else { format!(": it is {reason}") };
            return Err(format!(
                "metric {}: the run has no value of it{reason}\nhelp: `fairlab run --json` shows the values of a run",
                self.text
            ));
        }
        let metric = match &info {
            Some(info) => Metric::new(&self.text, info),
            None => Metric { name: self.text.clone(), unit: String::new(), better: Neither, is_sum: false },
        };
        let better = self.better.unwrap_or(metric.better);
        Ok(Some((Metric { better, ..metric }, numbers.iter().sum())))
    }
}

/// Returns the metrics of a run from its JSON result: the requested ones, or all default metrics if none is
/// requested. Metrics with an optional key are left out where the run has no value of them.
///
/// # Errors
/// If a requested metric is unknown, or the run has no value of it.
pub fn of_run(result: &Value, asked: &[RequestedMetric]) -> Result<Vec<(Metric, f64)>, String> {
    let known = known_metrics(result);
    if asked.is_empty() {
        return Ok(known);
    }
    asked.iter().filter_map(|one| one.take(result, &known).transpose()).collect()
}

/// Returns the requested metrics that a run has, or all default metrics if none is requested.
pub fn available(result: &Value, asked: &[RequestedMetric]) -> Vec<(Metric, f64)> {
    let known = known_metrics(result);
    if asked.is_empty() {
        return known;
    }
    asked.iter().filter_map(|one| one.take(result, &known).ok().flatten()).collect()
}

/// Returns the length of the measured time in seconds, if it is independent of what happens in the run: a
/// benchmark that runs to its end has no such length.
pub fn measured_s(result: &Value) -> Option<f64> {
    let runs_to_end = !result["bench"]["is_done"].is_null();
    result["duration_ns"].as_f64().filter(|_| !runs_to_end).map(|ns| ns / 1e9)
}

fn known_metrics(result: &Value) -> Vec<(Metric, f64)> {
    let mut found = Vec::new();
    let mut add = |name: &str, path: &str, named: &NamedMetric| {
        let Some(mut value) = number_at(result, path) else { return };
        if let Some(per) = named.per {
            match number_at(result, per).filter(|divisor| *divisor > 0.0) {
                Some(divisor) => value /= divisor,
                None => return,
            }
        }
        let factor = named.unit.map_or(1.0, |(_, factor)| factor);
        found.push((Metric::new(name, &named.info()), value * factor));
    };
    let of = |scope: Scope| NAMED.iter().filter(move |named| named.scope == scope);
    if result["bench"].is_null() {
        of(Scope::File).for_each(|named| add(named.name, named.path, named));
        let families = result["families"].as_array().map_or(0, Vec::len);
        for place in 0..families.min(MAX_FAMILIES) {
            let family = result["families"][place]["name"].as_str().unwrap_or_default();
            for named in of(Scope::Family) {
                add(&format!("{family}: {}", named.name), &format!("families[{place}].{}", named.path), named);
            }
        }
    } else {
        // A benchmark reports its own measurements, so the families of its tasks have no metrics.
        of(Scope::Bench).for_each(|named| add(named.name, named.path, named));
    }
    of(Scope::Run).for_each(|named| add(named.name, named.path, named));
    found
}

/// Returns the first number at a path, if the run has one.
fn number_at(result: &Value, path: &str) -> Option<f64> {
    let path = ResultPath::parse(path).expect("paths of the catalogue are well-formed");
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
    fn latencies_of_all_benchmarks_have_one_unit() {
        let of = |bench: Value| {
            let mut result = sample_run();
            result["bench"] = bench;
            let metrics = of_run(&result, &[]).expect("nothing was asked for");
            let p99 = metrics.into_iter().find(|(metric, _)| metric.name == "latency p99").expect("each has it");
            (p99.0.unit, p99.1)
        };
        let percentiles =
            json!({ "percentiles": [{ "percent": 50.0, "value": 25 }, { "percent": 99.0, "value": 172 }] });
        assert_eq!(of(percentiles), ("ns".to_owned(), 172_000.0));
        assert_eq!(of(json!({ "latency": { "p99_ns": 172 } })), ("ns".to_owned(), 172.0));
        assert_eq!(of(json!({ "threads": [], "latency": { "p99_ns": 9 } })), ("ns".to_owned(), 9.0));
    }

    #[test]
    fn what_is_asked_for_is_a_name_or_a_path_with_a_direction() {
        let of = |text: &str| of_run(&sample_run(), &[RequestedMetric::parse(text).expect("it can be read")]);
        let (metric, value) = of("totals.wait_ns:less").expect("a run has that metric").remove(0);
        assert_eq!((metric.unit.as_str(), metric.better, value), ("ns", Less, 7.0));
        assert_eq!(of("ui: wake to run p99").expect("it is known")[0].1, 20.0);
        assert!(of("families[name=ui].timers.late?").expect("the key is optional").is_empty());
        assert_eq!(of("migrations:more").expect("it is known")[0].0.better, More);
        assert!(of("wating").expect_err("misspelt").contains("did you mean `waiting`"));
        assert!(of("totals.wait").expect_err("there is none").contains("wait_ns"));
        assert!(RequestedMetric::parse("totals..x").is_err());
        assert!(of("energy.busy_uj").is_err(), "the machine has no powers");
        let null = of("families[name=hog].wake_to_run.p99_ns").expect_err("the family never slept");
        assert!(null.contains("null without any latency"), "{null}");
    }
}
