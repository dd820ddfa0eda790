// SPDX-License-Identifier: GPL-2.0-or-later
//! Differences between two arms as switches, and trials in which a subset of the switches has the second
//! arm's values.

use crate::args::VariantArgs;
use crate::arms::Arm;
use crate::embed::policies::NamedPolicy;
use crate::error::CliError;
use crate::output::progress::CountProgress;
use crate::trial::{Trial, Work};
use crate::values::FeatureList;
use fairlab_sched::features::Feature;
use fairlab_study::experiment::bisect::Switches;
use fairlab_study::experiment::metrics::{self, Metric, MetricDirection, RequestedMetric};
use std::sync::Mutex;

/// One difference between two arms.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ArmDifference {
    Feature(Feature, bool),
    Tunable(&'static str, i64, i64),
    Machine,
    Governor,
    CpuDmaLatency,
    Plain,
    Policy,
    Prices,
    Workload,
}

impl std::fmt::Display for ArmDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Feature(feature, is_on) => write!(f, "{}{}", if *is_on { "" } else { "NO_" }, feature.name()),
            Self::Tunable(name, from, to) => write!(f, "{name}={to} (from {from})"),
            Self::Machine => f.write_str("machine"),
            Self::Governor => f.write_str("governor"),
            Self::CpuDmaLatency => f.write_str("cpu_dma_latency"),
            Self::Plain => f.write_str("plain"),
            Self::Policy => f.write_str("policy"),
            Self::Prices => f.write_str("prices"),
            Self::Workload => f.write_str("workload"),
        }
    }
}

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

/// Returns the settings in which two variants differ, without features and tunables.
fn other_differences(from: &VariantArgs, to: &VariantArgs) -> Vec<ArmDifference> {
    // Without `..`, so that a setting that is missing here does not compile. Kernels differ in features and
    // tunables; options of workers are not settings.
    let VariantArgs {
        machine,
        kernel: _,
        engine: _,
        features: _,
        set: _,
        governor,
        cpu_dma_latency,
        prices: _,
        plain,
        engine_trace: _,
        engine_state: _,
        engine_calls: _,
        engine_beside: _,
        policy,
        prices_of,
        price,
    } = from;
    let policy_name = |policy: &Option<NamedPolicy>| policy.as_ref().map(|policy| policy.name.clone());
    let has_same_costs = from.price_choice() == to.price_choice() && *prices_of == to.prices_of && *price == to.price;
    let differences = [
        (ArmDifference::Machine, *machine != to.machine),
        (ArmDifference::Governor, *governor != to.governor),
        (ArmDifference::CpuDmaLatency, *cpu_dma_latency != to.cpu_dma_latency),
        (ArmDifference::Plain, *plain != to.plain),
        (ArmDifference::Policy, policy_name(policy) != policy_name(&to.policy)),
        (ArmDifference::Prices, !has_same_costs),
    ];
    differences.into_iter().filter(|(_, differs)| *differs).map(|(difference, _)| difference).collect()
}

fn has_same_work(one: &Work, other: &Work) -> bool {
    match (one, other) {
        (Work::Bench(one), Work::Bench(other)) => one == other,
        (Work::File(one), Work::File(other)) => one.text == other.text,
        _ => false,
    }
}

impl BisectEnds {
    /// Determines the differences: the effective features and tunables on the first end's machine, and the
    /// other parts that an arm can change.
    pub(super) fn new(from: Trial, to: Trial, asked: Option<RequestedMetric>, seed: u64) -> Result<Self, CliError> {
        let variant = VariantArgs { machine: from.variant.machine.clone(), ..to.variant.clone() };
        let (duration, warmup, vary) = (to.duration, to.warmup, to.vary);
        let there = Trial { variant, work: from.work.clone(), duration, warmup, vary };
        let settings = |trial: &Trial| trial.settings(Some(seed), "fairlab bisect");
        let (near, far) = (settings(&from)?, settings(&there)?);
        let mut switches = Vec::new();
        let features = near.features.iter().zip(&far.features).filter(|(near, far)| near != far);
        switches.extend(features.map(|(_, (feature, is_on))| ArmDifference::Feature(*feature, *is_on)));
        let tunables = near.tunables.iter().zip(&far.tunables).filter(|(near, far)| near != far);
        switches.extend(tunables.map(|(near, far)| ArmDifference::Tunable(far.0, near.1, far.1)));
        switches.extend(other_differences(&from.variant, &to.variant));
        if !has_same_work(&from.work, &to.work) {
            switches.push(ArmDifference::Workload);
        }
        let (metric, progress) = (Mutex::default(), Mutex::new(CountProgress::new("bisecting", 0)));
        Ok(Self { switches, from, to, asked, metric, progress })
    }

    /// Returns the first end with these switches set as in the second end.
    fn trial(&self, set: &[usize]) -> Trial {
        let mut trial = self.from.clone();
        let to = &self.to.variant;
        for &place in set {
            let variant = &mut trial.variant;
            match &self.switches[place] {
                ArmDifference::Feature(feature, is_on) => variant.features.push(FeatureList(vec![(*feature, *is_on)])),
                ArmDifference::Tunable(name, _, value) => variant.set.push(((*name).to_owned(), *value)),
                ArmDifference::Machine => variant.machine.clone_from(&to.machine),
                ArmDifference::Governor => variant.governor = to.governor,
                ArmDifference::CpuDmaLatency => variant.cpu_dma_latency = to.cpu_dma_latency,
                ArmDifference::Plain => variant.plain = to.plain,
                ArmDifference::Policy => variant.policy.clone_from(&to.policy),
                ArmDifference::Prices => {
                    variant.prices = to.prices;
                    variant.prices_of.clone_from(&to.prices_of);
                    variant.price.clone_from(&to.price);
                }
                ArmDifference::Workload => trial.work = self.to.work.clone(),
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
            CliError::Input(format!("the run does not report the metric\nhelp: {help}"))
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

/// Returns the trial of an arm.
pub(super) fn trial_from_arm(arm: &Arm, variant: &VariantArgs, trial: &Trial, work: Work) -> Trial {
    Trial { work, variant: arm.apply_to(variant), ..trial.clone() }
}
