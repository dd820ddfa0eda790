// SPDX-License-Identifier: GPL-2.0-or-later
//! Differences between two arms as switches, and trials in which a subset of the switches has the second
//! arm's values.

use crate::execution::trial::Trial;
use crate::output::progress::CountProgress;
use crate::values::error::CliError;
use fairlab_experiment::bisect::Switches;
use fairlab_experiment::metrics::{self, Metric, MetricDirection, RequestedMetric};
use fairlab_run::settings::Setting;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use std::sync::Mutex;

/// One difference between two arms.
#[derive(Clone)]
pub(super) enum ArmDifference {
    Feature(String, bool),
    Tunable(String, i64, i64),
    /// A setting other than features and tunables, in which kernels differ, too.
    Setting(&'static Setting),
    Workload,
}

impl std::fmt::Display for ArmDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Feature(name, is_on) => write!(f, "{}{name}", if *is_on { "" } else { "NO_" }),
            Self::Tunable(name, from, to) => write!(f, "{name}={to} (from {from})"),
            Self::Setting(setting) => f.write_str(setting.name),
            Self::Workload => f.write_str("workload"),
        }
    }
}

/// Settings whose differences are features and tunables.
const RESOLVED: [&str; 3] = ["kernel", "features", "tunables"];

/// Both ends and the switches in which they differ.
pub(super) struct BisectEnds {
    pub(super) switches: Vec<ArmDifference>,
    from: Trial,
    to: Trial,
    asked: Option<RequestedMetric>,
    /// Metric, known after the first run.
    pub(super) metric: Mutex<Option<Metric>>,
    pub(super) progress: Mutex<CountProgress>,
}

fn has_same_work(one: &WorkloadSpec, other: &WorkloadSpec) -> bool {
    match (one, other) {
        (WorkloadSpec::File(one), WorkloadSpec::File(other)) => one.text() == other.text(),
        (one, other) => one == other,
    }
}

impl BisectEnds {
    /// Determines the differences: the effective features and tunables on the first end's machine, and the
    /// other parts that an arm can change.
    ///
    /// # Errors
    /// If an end cannot be run, or the ends have different sets of features.
    pub(super) fn new(from: Trial, to: Trial, asked: Option<RequestedMetric>, seed: u64) -> Result<Self, CliError> {
        let mut there = Trial { spec: from.spec.clone() };
        there.spec.settings.clone_from(&to.spec.settings);
        there.spec.settings.machine.clone_from(&from.spec.settings.machine);
        there.spec.settings.engine.clone_from(&from.spec.settings.engine);
        let (near, far) = (from.switches(Some(seed))?, there.switches(Some(seed))?);
        if !near.features.iter().map(|feature| &feature.name).eq(far.features.iter().map(|feature| &feature.name)) {
            return Err(CliError::with_help(
                "the kernels of both ends have different rules, not only different values of switches",
                "compare them as a whole: fairlab compare with an --arm for each end",
            ));
        }
        let mut switches = Vec::new();
        let features = near.features.iter().zip(&far.features).filter(|(near, far)| near != far);
        switches.extend(features.map(|(_, far)| ArmDifference::Feature(far.name.clone(), far.is_on)));
        let tunables = near.tunables.iter().zip(&far.tunables).filter(|(near, far)| near != far);
        switches.extend(tunables.map(|(near, far)| ArmDifference::Tunable(far.name.clone(), near.value, far.value)));
        let settings = from.spec.settings.differences(&to.spec.settings);
        let others = settings.filter(|setting| !RESOLVED.contains(&setting.name));
        switches.extend(others.map(ArmDifference::Setting));
        if !has_same_work(&from.spec.workload, &to.spec.workload) {
            switches.push(ArmDifference::Workload);
        }
        let (metric, progress) = (Mutex::default(), Mutex::new(CountProgress::new("bisecting", 0)));
        Ok(Self { switches, from, to, asked, metric, progress })
    }

    /// Returns the first end with these switches set as in the second end.
    fn trial(&self, set: &[usize]) -> Trial {
        let mut trial = self.from.clone();
        let (RunSpec { workload, settings }, to) = (&mut trial.spec, &self.to.spec);
        for &place in set {
            match &self.switches[place] {
                ArmDifference::Feature(name, is_on) => {
                    settings.features.insert(name.clone(), *is_on);
                }
                ArmDifference::Tunable(name, _, value) => {
                    settings.tunables.insert(name.clone(), *value);
                }
                ArmDifference::Setting(setting) => setting.copy(settings, &to.settings),
                ArmDifference::Workload => workload.clone_from(&to.workload),
            }
        }
        trial
    }

    /// Returns the bisected metric and its value.
    fn metric_value(&self, result: &serde_json::Value) -> Result<(Metric, f64), CliError> {
        let asked: Vec<RequestedMetric> = self.asked.iter().cloned().collect();
        let found = metrics::of_run(result, &asked).map_err(CliError::Input)?;
        let is_meant = |metric: &Metric| self.asked.is_some() || metric.better != MetricDirection::Neither;
        found.into_iter().find(|(metric, _)| is_meant(metric)).ok_or_else(|| {
            let help = "name a metric of the run, such as --metric totals.migrations";
            CliError::with_help("the run does not report the metric", help)
        })
    }
}

impl Switches for BisectEnds {
    type Error = CliError;

    fn nr_switches(&self) -> usize {
        self.switches.len()
    }

    fn run(&self, set: &[usize], seed: u64) -> Result<f64, CliError> {
        let result = self.trial(set).run(Some(seed), &mut |_, _| ())?;
        let (metric, value) = self.metric_value(&result.json())?;
        self.progress.lock().expect("showing does not panic").add(1);
        *self.metric.lock().expect("noting does not panic") = Some(metric);
        Ok(value)
    }
}
