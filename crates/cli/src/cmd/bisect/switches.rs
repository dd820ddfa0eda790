// SPDX-License-Identifier: GPL-2.0-or-later
//! What differs between two arms, switch by switch, and trials in which some of the switches stand as in the second.

use crate::args::VariantArgs;
use crate::arms::Arm;
use crate::error::CliError;
use crate::output::progress::CountProgress;
use crate::trial::{Trial, Work};
use crate::values::FeatureList;
use fairlab_sched::features::Feature;
use fairlab_study::experiment::bisect::Switches;
use fairlab_study::experiment::metrics::{self, Metric, MetricDirection, RequestedMetric};
use std::sync::Mutex;

/// One switch that differs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Switch {
    Feature(Feature, bool),
    Tunable(&'static str, i64, i64),
    Machine,
    Governor,
    Prices,
    Workload,
}

impl std::fmt::Display for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Feature(feature, is_on) => write!(f, "{}{}", if *is_on { "" } else { "NO_" }, feature.name()),
            Self::Tunable(name, from, to) => write!(f, "{name}={to} (from {from})"),
            Self::Machine => f.write_str("machine"),
            Self::Governor => f.write_str("governor"),
            Self::Prices => f.write_str("prices"),
            Self::Workload => f.write_str("workload"),
        }
    }
}

/// Both ends and what differs between them.
pub(super) struct BisectEnds {
    pub(super) switches: Vec<Switch>,
    from: Trial,
    to: Trial,
    asked: Option<RequestedMetric>,
    /// The metric, once a run has told.
    pub(super) metric: Mutex<Option<Metric>>,
    pub(super) progress: Mutex<CountProgress>,
}

/// Whether all that kernel code costs is the same.
fn same_prices(one: &VariantArgs, other: &VariantArgs) -> bool {
    one.price_choice() == other.price_choice() && one.prices_of == other.prices_of && one.price == other.price
}

fn same_work(one: &Work, other: &Work) -> bool {
    match (one, other) {
        (Work::Bench(one), Work::Bench(other)) => one == other,
        (Work::File(one), Work::File(other)) => one.text == other.text,
        _ => false,
    }
}

impl BisectEnds {
    /// Looks what differs: features and tunables as they come out on the first end's machine, and what else an arm can change.
    pub(super) fn new(from: Trial, to: Trial, asked: Option<RequestedMetric>, seed: u64) -> Result<Self, CliError> {
        let variant = VariantArgs { machine: from.variant.machine.clone(), ..to.variant.clone() };
        let (duration, warmup, vary) = (to.duration, to.warmup, to.vary);
        let there = Trial { variant, work: from.work.clone(), duration, warmup, vary };
        let settings = |trial: &Trial| trial.settings(Some(seed), "fairlab bisect");
        let (near, far) = (settings(&from)?, settings(&there)?);
        let mut switches = Vec::new();
        let features = near.features.iter().zip(&far.features).filter(|(near, far)| near != far);
        switches.extend(features.map(|(_, (feature, is_on))| Switch::Feature(*feature, *is_on)));
        let tunables = near.tunables.iter().zip(&far.tunables).filter(|(near, far)| near != far);
        switches.extend(tunables.map(|(near, far)| Switch::Tunable(far.0, near.1, far.1)));
        let others = [
            (Switch::Machine, from.variant.machine != to.variant.machine),
            (Switch::Governor, from.variant.governor != to.variant.governor),
            (Switch::Prices, !same_prices(&from.variant, &to.variant)),
            (Switch::Workload, !same_work(&from.work, &to.work)),
        ];
        switches.extend(others.into_iter().filter(|(_, differs)| *differs).map(|(switch, _)| switch));
        let (metric, progress) = (Mutex::default(), Mutex::new(CountProgress::new("bisecting", 0)));
        Ok(Self { switches, from, to, asked, metric, progress })
    }

    /// The first end with these switches as at the other.
    fn trial(&self, set: &[usize]) -> Trial {
        let mut trial = self.from.clone();
        let to = &self.to.variant;
        for &place in set {
            let variant = &mut trial.variant;
            match &self.switches[place] {
                Switch::Feature(feature, is_on) => variant.features.push(FeatureList(vec![(*feature, *is_on)])),
                Switch::Tunable(name, _, value) => variant.set.push(((*name).to_owned(), *value)),
                Switch::Machine => variant.machine.clone_from(&to.machine),
                Switch::Governor => variant.governor = to.governor,
                Switch::Prices => {
                    variant.prices = to.prices;
                    variant.prices_of.clone_from(&to.prices_of);
                    variant.price.clone_from(&to.price);
                }
                Switch::Workload => trial.work = self.to.work.clone(),
            }
        }
        trial
    }

    /// The metric that is looked at, and its value.
    fn value(&self, told: &serde_json::Value) -> Result<(Metric, f64), CliError> {
        let asked: Vec<RequestedMetric> = self.asked.iter().cloned().collect();
        let found = metrics::of_run(told, &asked).map_err(CliError::Input)?;
        let is_meant = |metric: &Metric| self.asked.is_some() || metric.better != MetricDirection::Neither;
        found.into_iter().find(|(metric, _)| is_meant(metric)).ok_or_else(|| {
            let help = "say what differs: --metric totals.migrations";
            CliError::Input(format!("a run does not tell the metric\nhelp: {help}"))
        })
    }
}

impl Switches for BisectEnds {
    type Error = CliError;

    fn nr_switches(&self) -> usize {
        self.switches.len()
    }

    fn run(&self, set: &[usize], seed: u64) -> Result<f64, CliError> {
        let told = self.trial(set).run(Some(seed), &mut |_, _| ())?;
        let (metric, value) = self.value(&told.json())?;
        self.progress.lock().expect("showing does not panic").add(1);
        *self.metric.lock().expect("noting does not panic") = Some(metric);
        Ok(value)
    }
}

/// The trial of an arm.
pub(super) fn trial_of(arm: &Arm, variant: &VariantArgs, trial: &Trial, work: Work) -> Trial {
    Trial { work, variant: arm.on(variant), ..trial.clone() }
}
