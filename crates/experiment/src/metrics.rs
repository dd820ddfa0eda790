// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics of a run: numbers with a name, a unit and a direction, extracted from its JSON result.
//!
//! Name, unit and direction come from the catalogue of metrics ([`fairlab_measure::catalogue`]): by default
//! the metrics with short names, others by their paths.

use super::Observation;
use super::work::FamilyAmount;

pub use fairlab_measure::catalogue::MetricDirection;
use fairlab_measure::catalogue::{Combination, MetricInfo, NAMED, NamedMetric, Scope, WorkRole};
use fairlab_measure::path::ResultPath;
use fairlab_measure::plural::cpus_named;
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use MetricDirection::{Less, More, Neither};

/// Largest number of objects of a kind, such as task families, whose metrics are tested.
const MAX_TESTED: usize = 12;
/// Largest number of metrics that an error message lists.
const MAX_LISTED: usize = 20;

/// Name, unit and direction of a measured quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metric {
    /// Name of the metric.
    pub name: String,
    /// Unit: `ns`, `us`, `ms`, `s`, `uJ`, `/s`, `MB/s`, `%`, or an empty text for a count.
    pub unit: String,
    /// Direction in which the metric improves.
    pub better: MetricDirection,
    /// Whether differences are tested: not without a direction, and not for families beyond the first twelve.
    pub is_tested: bool,
    /// Whether the workload states a goal for the metric, so that a verdict names it before others.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_goal: bool,
    /// Whether the metric adds up over a run, so that it grows with the run's length.
    #[serde(skip)]
    pub is_sum: bool,
    /// Role of the metric if the arms did different amounts of work.
    #[serde(skip)]
    pub work: WorkRole,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Default for Metric {
    fn default() -> Self {
        Self {
            name: String::new(),
            unit: String::new(),
            better: Neither,
            is_tested: true,
            is_goal: false,
            is_sum: false,
            work: WorkRole::None,
        }
    }
}

impl Metric {
    fn new(name: &str, info: &MetricInfo) -> Self {
        let is_sum = info.combination == Combination::Sum;
        let (name, unit) = (name.to_owned(), info.unit.to_owned());
        let is_tested = info.better != Neither;
        Self { name, unit, better: info.better, is_tested, is_goal: false, is_sum, work: WorkRole::None }
    }

    /// Returns the metric with another direction.
    fn with_direction(self, better: MetricDirection) -> Self {
        let is_tested = better != Neither && (self.is_tested || self.better == Neither);
        Self { better, is_tested, ..self }
    }
}

/// Value of a metric in a run.
#[derive(Clone, Debug, PartialEq)]
struct MetricValue {
    metric: Metric,
    value: f64,
    /// Whether the value is a lower bound, because it is that of a wait that has not ended.
    is_open: bool,
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
    pub fn parse(text: &str) -> Result<Self, Message> {
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
    fn take(&self, result: &Value, known: &[MetricValue]) -> Result<Option<MetricValue>, Message> {
        let Some(path) = &self.path else {
            let found = known.iter().find(|known| known.metric.name == self.text);
            let found = found.ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|known| known.metric.name.as_str()).collect();
                let near = suggest::nearest(&self.text, &names).map(|name| format!("did you mean `{name}`? "));
                let more = names.len().saturating_sub(MAX_LISTED);
                let more = if more > 0 { format!(" and {more} more (`--all` lists them)") } else { String::new() };
                Message::new(format!("metric {}: no run has this metric", self.text)).with_help(format!(
                    "{}there is: {}{more}; or give a path, such as totals.migrations",
                    near.unwrap_or_default(),
                    names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ")
                ))
            })?;
            let metric = found.metric.clone();
            let better = self.better.unwrap_or(metric.better);
            return Ok(Some(MetricValue { metric: metric.with_direction(better), ..found.clone() }));
        };
        let about_metric = |error: Message| error.about(format!("metric {}", self.text));
        let numbers = path.numbers(result).map_err(about_metric)?;
        let info = MetricInfo::from_path(&self.text);
        if numbers.is_empty() && self.text.ends_with('?') {
            return Ok(None);
        }
        if numbers.is_empty() {
            let reason = info.map_or("", |info| info.undefined);
            let reason = if reason.is_empty() { String::new() } else { format!(": it is {reason}") };
            let error = Message::new(format!("the run has no value of it{reason}"));
            return Err(about_metric(error.with_help("`fairlab run --json` shows the values of a run")));
        }
        let metric = match &info {
            Some(info) => Metric::new(&self.text, info),
            None => Metric { name: self.text.clone(), is_tested: false, ..Metric::default() },
        };
        let better = self.better.unwrap_or(metric.better);
        let is_open = is_lower_bound(result, &self.text);
        Ok(Some(MetricValue { metric: metric.with_direction(better), value: numbers.iter().sum(), is_open }))
    }
}

/// Returns the metrics of a run from its JSON result: the requested ones, or all default metrics if none is
/// requested. Metrics with an optional key are left out where the run has no value of them.
///
/// # Errors
/// If a requested metric is unknown, or the run has no value of it.
pub fn of_run(result: &Value, asked: &[RequestedMetric]) -> Result<Vec<(Metric, f64)>, Message> {
    Ok(values_of(result, asked)?.into_iter().map(|known| (known.metric, known.value)).collect())
}

fn values_of(result: &Value, asked: &[RequestedMetric]) -> Result<Vec<MetricValue>, Message> {
    let known = known_metrics(result);
    if asked.is_empty() {
        return Ok(known);
    }
    asked.iter().filter_map(|one| one.take(result, &known).transpose()).collect()
}

impl Observation {
    /// Returns the observation of a run from its JSON result, with the requested metrics, or with all default metrics
    /// if none is requested.
    ///
    /// # Errors
    /// If a requested metric is unknown, or the run has no value of it.
    pub fn from_result(result: &Value, asked: &[RequestedMetric]) -> Result<Self, Message> {
        Ok(Self::new(result, values_of(result, asked)?))
    }

    /// Returns the observation of a run with those of the requested metrics that it has.
    pub fn from_available(result: &Value, asked: &[RequestedMetric]) -> Self {
        let known = known_metrics(result);
        let taken = asked.iter().filter_map(|one| one.take(result, &known).ok().flatten()).collect();
        Self::new(result, if asked.is_empty() { known } else { taken })
    }

    fn new(result: &Value, values: Vec<MetricValue>) -> Self {
        let open = values.iter().filter(|known| known.is_open).map(|known| known.metric.name.clone()).collect();
        Self {
            digest: result["digest"].as_str().unwrap_or_default().to_owned(),
            metrics: values.into_iter().map(|known| (known.metric, known.value)).collect(),
            open,
            measured_s: measured_s(result),
            work: if result["bench"].is_null() { work_of_families(result) } else { Vec::new() },
        }
    }
}

/// Returns the length of the measured time in seconds, if it is independent of what happens in the run: a
/// benchmark that runs to its end has no such length.
pub fn measured_s(result: &Value) -> Option<f64> {
    let runs_to_end = !result["bench"]["is_done"].is_null();
    result["duration_ns"].as_f64().filter(|_| !runs_to_end).map(|ns| ns / 1e9)
}

fn known_metrics(result: &Value) -> Vec<MetricValue> {
    let mut found = Vec::new();
    let of = |scope: Scope| NAMED.iter().filter(move |named| named.scope == scope);
    if result["bench"].is_null() {
        for (place, response) in elements(&result["responses"]) {
            let name = response["name"].as_str().unwrap_or_default();
            of(Scope::Response).for_each(|named| {
                add(&mut found, named, format!("{name}: {}", named.name), response, place < MAX_TESTED);
            });
        }
        of(Scope::File).for_each(|named| add(&mut found, named, named.name.to_owned(), result, true));
        for (place, domain) in elements(&result["energy"]["domains"]) {
            let cpus = cpus_of(&domain["cpus"]);
            of(Scope::Domain).for_each(|named| {
                add(&mut found, named, format!("{} {cpus}", named.name), domain, place < MAX_TESTED);
            });
        }
        let objects = [(Scope::Cgroup, &result["cgroups"]), (Scope::Family, &result["families"])];
        for (scope, list) in objects {
            for (place, object) in elements(list) {
                let of_object = object["name"].as_str().unwrap_or_default();
                // Kernel threads do the kernel's work: less of it is no less work of the workload.
                let is_kthread = object["is_kthread"] == true;
                of(scope).filter(|named| !(is_kthread && matches!(named.work, WorkRole::Amount(_)))).for_each(
                    |named| {
                        add(&mut found, named, format!("{of_object}: {}", named.name), object, place < MAX_TESTED);
                    },
                );
                if scope == Scope::Family {
                    of(Scope::Kind).for_each(|named| add_kinds(&mut found, named, of_object, object));
                }
            }
        }
    } else {
        // A benchmark reports its own measurements, so the families of its tasks have no metrics.
        of(Scope::Bench).for_each(|named| add(&mut found, named, named.name.to_owned(), result, true));
    }
    of(Scope::Run).for_each(|named| add(&mut found, named, named.name.to_owned(), result, true));
    found
}

/// Returns the amounts of work of all families but kernel threads, and their parts of sums.
fn work_of_families(result: &Value) -> Vec<FamilyAmount> {
    let sums = NAMED.iter().filter_map(|named| match named.work {
        WorkRole::Sum(path) => path,
        WorkRole::None | WorkRole::Amount(_) => None,
    });
    let paths: Vec<&str> = sums.collect();
    let families = elements(&result["families"]).filter(|(_, family)| family["is_kthread"] != true);
    let of_family = |(place, family): (usize, &Value)| {
        let name = family["name"].as_str().unwrap_or_default();
        let mut amounts = Vec::new();
        for named in NAMED.iter().filter(|named| matches!(named.work, WorkRole::Amount(_))) {
            add(&mut amounts, named, format!("{name}: {}", named.name), family, place < MAX_TESTED);
        }
        FamilyAmount {
            family: name.to_owned(),
            amounts: amounts.into_iter().map(|known| (known.metric, known.value)).collect(),
            parts: paths.iter().filter_map(|path| Some((*path, number_at(family, path)?))).collect(),
        }
    };
    families.map(of_family).collect()
}

fn elements(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

/// Adds a named metric of an object, if the object has a value of it.
fn add(found: &mut Vec<MetricValue>, named: &NamedMetric, name: String, object: &Value, may_test: bool) {
    let Some(mut value) = number_at(object, named.path) else { return };
    if let Some(per) = named.per {
        match number_at(object, per).filter(|divisor| *divisor > 0.0) {
            Some(divisor) => value /= divisor,
            None => return,
        }
    }
    let factor = named.unit.map_or(1.0, |(_, factor)| factor);
    let mut metric = Metric { work: named.work, ..Metric::new(&name, &named.info()) };
    metric.is_tested &= may_test;
    metric.is_goal = named.is_goal;
    found.push(MetricValue { metric, value: value * factor, is_open: is_lower_bound(object, named.path) });
}

/// Adds the shares of the kinds of CPU in the time of a family, if there are several.
fn add_kinds(found: &mut Vec<MetricValue>, named: &NamedMetric, family: &str, object: &Value) {
    let mut kinds: Vec<(&Value, f64)> = Vec::new();
    for (_, point) in elements(&object["residency"]["points"]) {
        let ns = point["ns"].as_f64().unwrap_or_default();
        match kinds.iter_mut().find(|(cpus, _)| *cpus == &point["cpus"]) {
            Some((_, sum)) => *sum += ns,
            None => kinds.push((&point["cpus"], ns)),
        }
    }
    let whole: f64 = kinds.iter().map(|(_, ns)| ns).sum();
    if kinds.len() < 2 || whole == 0.0 {
        return;
    }
    let factor = named.unit.map_or(1.0, |(_, factor)| factor);
    found.extend(kinds.iter().map(|(cpus, ns)| MetricValue {
        metric: Metric {
            is_sum: false,
            ..Metric::new(&format!("{family}: {} {}", named.name, cpus_of(cpus)), &named.info())
        },
        value: ns / whole * factor,
        is_open: false,
    }));
}

/// Formats a list of CPUs: `CPU 3`, `CPUs 0-3,6`.
fn cpus_of(list: &Value) -> String {
    let cpus = list.as_array().into_iter().flatten().filter_map(|cpu| u32::try_from(cpu.as_u64()?).ok());
    cpus_named(&cpus.collect::<Vec<u32>>())
}

/// Returns the first number at a path, if the object has one.
fn number_at(object: &Value, path: &str) -> Option<f64> {
    let path = ResultPath::parse(path).expect("paths of the catalogue are well-formed");
    path.numbers(object).ok().and_then(|numbers| numbers.first().copied())
}

/// Whether the number at a path is a lower bound: the statistics of a latency name it, or its object is open.
fn is_lower_bound(object: &Value, path: &str) -> bool {
    let Some((parent, member)) = path.rsplit_once('.') else { return false };
    let Ok(path) = ResultPath::parse(parent) else { return false };
    path.find(object).into_iter().flatten().any(|statistics| {
        let is_named = elements(&statistics["lower_bounds"]).any(|(_, name)| name == member);
        is_named || statistics["is_open"] == true
    })
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
    fn lists_of_cpus_have_ranges() {
        let texts = [json!([3]), json!([0, 1, 2, 3]), json!([0, 2, 3, 5]), json!([1, 3])].map(|list| cpus_of(&list));
        assert_eq!(texts, ["CPU 3", "CPUs 0-3", "CPUs 0,2-3,5", "CPUs 1,3"]);
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
        assert!(of("wating").expect_err("misspelt").to_string().contains("did you mean `waiting`"));
        assert!(of("totals.wait").expect_err("there is none").to_string().contains("wait_ns"));
        assert!(RequestedMetric::parse("totals..x").is_err());
        assert!(of("energy.busy_uj").is_err(), "the machine has no powers");
        let null = of("families[name=hog].wake_to_run.p99_ns").expect_err("the family never slept");
        assert!(null.to_string().contains("null without any latency"), "{null}");
    }
}
