// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics under short names, which comparisons, sweeps and bisections use by default.

use super::{Combination, MetricInfo};

/// Objects that have a named metric, and the runs that have such objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Runs of benchmarks.
    Bench,
    /// Runs of workload files.
    File,
    /// Frequency domains of the energy model; the metric's name contains their CPUs.
    Domain,
    /// Cgroups; the metric's name follows that of the cgroup.
    Cgroup,
    /// Responses that a workload file defines; the metric's name follows that of the response.
    Response,
    /// Task families of a workload file; the metric's name follows that of the family.
    Family,
    /// Kinds of CPU on which a task family ran; the metric's name contains family and CPUs.
    Kind,
    /// All runs.
    Run,
}

/// Role of a metric if the arms of a comparison did different amounts of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkRole {
    /// Compared as it is.
    None,
    /// A sum over the run, which is then not tested. With the path of each family's part of it, within the family, it is
    /// also compared at equal work.
    Sum(Option<&'static str>),
    /// An amount of work of a family. Of several, the first one that some run has is the family's amount.
    Amount(u8),
}

/// Metric with a short name.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedMetric {
    pub scope: Scope,
    pub name: &'static str,
    /// Path of the value, within the object of the scope.
    pub path: &'static str,
    /// Path of the divisor, within the object of the scope.
    pub per: Option<&'static str>,
    /// Unit of the metric, and the factor from the unit of the value.
    pub unit: Option<(&'static str, f64)>,
    pub work: WorkRole,
    /// Whether the workload states a goal for the metric.
    pub is_goal: bool,
}

impl NamedMetric {
    const fn new(scope: Scope, name: &'static str, path: &'static str) -> Self {
        Self { scope, name, path, per: None, unit: None, work: WorkRole::None, is_goal: false }
    }

    const fn bench(name: &'static str, path: &'static str) -> Self {
        Self::new(Scope::Bench, name, path)
    }

    /// Latency of a benchmark in another unit than ns. A name has one unit in all benchmarks.
    const fn latency(name: &'static str, path: &'static str, ns: f64) -> Self {
        Self { unit: Some(("ns", ns)), ..Self::bench(name, path) }
    }

    const fn per(self, path: &'static str) -> Self {
        Self { per: Some(path), ..self }
    }

    const fn unit(self, unit: &'static str, factor: f64) -> Self {
        Self { unit: Some((unit, factor)), ..self }
    }

    const fn sum(self) -> Self {
        Self { work: WorkRole::Sum(None), ..self }
    }

    const fn sum_of(self, path: &'static str) -> Self {
        Self { work: WorkRole::Sum(Some(path)), ..self }
    }

    const fn goal(self) -> Self {
        Self { is_goal: true, ..self }
    }

    const fn amount(self, rank: u8) -> Self {
        Self { work: WorkRole::Amount(rank), ..self }
    }

    /// Path of the value in a result, with brackets for any element of a list.
    pub fn full_path(&self) -> String {
        let prefix = match self.scope {
            Scope::Family | Scope::Kind => "families[].",
            Scope::Domain => "energy.domains[].",
            Scope::Cgroup => "cgroups[].",
            Scope::Response => "responses[].",
            Scope::Bench | Scope::File | Scope::Run => "",
        };
        format!("{prefix}{}", self.path)
    }

    /// Returns the entry of the metric's value in the catalogue.
    ///
    /// # Panics
    /// If the catalogue does not have it.
    pub fn info(&self) -> MetricInfo {
        let info = MetricInfo::from_path(&self.full_path()).expect("the catalogue has all named metrics");
        let combination = if self.per.is_some() { Combination::No } else { info.combination };
        MetricInfo { unit: self.unit.map_or(info.unit, |(unit, _)| unit), combination, ..info }
    }
}

/// All metrics with short names. Of several entries with one name, a run has at most one.
pub const NAMED: &[NamedMetric] = &[
    NamedMetric::bench("time", "bench.time_s"),
    NamedMetric::bench("time of a round", "bench.usecs_per_op"),
    NamedMetric::bench("time of an operation", "bench.ns_per_op"),
    NamedMetric::bench("transactions", "bench.sum"),
    NamedMetric::bench("transactions", "bench.per_s"),
    NamedMetric::bench("on one CPU", "bench.on_one_cpu"),
    NamedMetric::bench("requests", "bench.average_rps"),
    NamedMetric::bench("throughput", "bench.throughput_mb_s"),
    NamedMetric::bench("bogo operations", "bench.bogo_ops_per_s"),
    NamedMetric::bench("latency p50", "bench.latency.p50_ns"),
    NamedMetric::bench("latency p99", "bench.latency.p99_ns"),
    NamedMetric::latency("latency p50", "bench.percentiles[percent=50].value", 1e3),
    NamedMetric::latency("latency p99", "bench.percentiles[percent=99].value", 1e3),
    NamedMetric::latency("latency p95", "bench.latency_ms[3]", 1e6),
    NamedMetric::latency("wake-up p99", "bench.wakeup_latency_us.percentiles[percent=99].value", 1e3),
    NamedMetric::latency("request p99", "bench.request_latency_us.percentiles[percent=99].value", 1e3),
    NamedMetric::latency("latency max", "bench.max_latency_ms", 1e6),
    NamedMetric::bench("latency max", "bench.latency.max_ns"),
    NamedMetric::new(Scope::Response, "late", "late").per("count").unit("%", 100.0).goal(),
    NamedMetric::new(Scope::Response, "p50", "time.p50_ns"),
    NamedMetric::new(Scope::Response, "p90", "time.p90_ns"),
    NamedMetric::new(Scope::Response, "p99", "time.p99_ns"),
    NamedMetric::new(Scope::File, "energy, busy", "energy.busy_uj").sum_of("residency.energy_uj"),
    NamedMetric::new(Scope::Domain, "energy of", "busy_uj").sum(),
    NamedMetric::new(Scope::File, "energy, idle", "energy.idle_uj").sum(),
    NamedMetric::new(Scope::File, "CPU time", "totals.busy_ns").sum_of("run_ns"),
    NamedMetric::new(Scope::File, "work at full speed", "totals.full_speed_ns"),
    NamedMetric::new(Scope::File, "waiting", "totals.wait_ns").sum_of("wait_ns"),
    NamedMetric::new(Scope::File, "throttled", "totals.throttled_ns").sum_of("throttled_ns"),
    NamedMetric::new(Scope::Cgroup, "CPU time / entitled", "entitlement.got_ns")
        .per("entitlement.due_ns")
        .unit("%", 100.0),
    NamedMetric::new(Scope::Cgroup, "CPU time / quota", "bandwidth.used_ns")
        .per("bandwidth.available_ns")
        .unit("%", 100.0),
    NamedMetric::new(Scope::Cgroup, "throttled periods", "bandwidth.nr_throttled")
        .per("bandwidth.nr_periods")
        .unit("%", 100.0),
    NamedMetric::new(Scope::Cgroup, "throttled for", "bandwidth.throttled_ns"),
    NamedMetric::new(Scope::Family, "loops", "work.loops").amount(0),
    NamedMetric::new(Scope::Family, "activations", "work.activations").amount(1),
    NamedMetric::new(Scope::Family, "work at full speed", "work.full_speed_ns").amount(2),
    NamedMetric::new(Scope::Family, "wake to run p50", "wake_to_run.p50_ns"),
    NamedMetric::new(Scope::Family, "wake to run p99", "wake_to_run.p99_ns"),
    NamedMetric::new(Scope::Family, "queued p99", "wakeup_latency.p99_ns"),
    NamedMetric::new(Scope::Family, "longest wait", "longest_wait.ns"),
    NamedMetric::new(Scope::Family, "timers missed", "timers.missed").per("timers.arrivals").unit("%", 100.0),
    NamedMetric::new(Scope::Family, "fairness", "fairness_ppm").unit("%", 1e-4),
    NamedMetric::new(Scope::Kind, "on", "residency.points[].ns").unit("%", 100.0),
    NamedMetric::new(Scope::File, "fairness", "totals.fairness_ppm").unit("%", 1e-4),
    NamedMetric::new(Scope::Run, "settled after", "settling.after_ns"),
    NamedMetric::new(Scope::Run, "migrations", "totals.migrations"),
    NamedMetric::new(Scope::Run, "switches", "totals.switches"),
    NamedMetric::new(Scope::Run, "CPUs scanned", "selection.cpus_scanned").per("selection.wakeups"),
    NamedMetric::new(Scope::Run, "nohz kicks", "balance.kicks"),
];
