// SPDX-License-Identifier: GPL-2.0-or-later
//! Catalogue of what a page can choose from: machines, kernels, features and tunables.
//!
//! `cargo xtask codegen` writes the catalogue to a file, since reading all machines takes longer than a short run.

use fairlab_board::{MachineDescription, presets};
use fairlab_run::kernels;
use fairlab_sched::features::{Demo, Feature};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TUNABLES, TunableInfo};
use serde::Serialize;

/// The catalogue as it was generated, as JSON.
pub(crate) const GENERATED: &str = include_str!("catalogue.json");

/// Machines, kernels and switches of the built-in scheduler.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct Catalogue {
    pub fairlab: &'static str,
    pub machines: Vec<MachineRow>,
    pub kernels: Vec<KernelRow>,
    pub features: Vec<FeatureRow>,
    pub tunables: Vec<TunableRow>,
}

/// Machine of a name.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct MachineRow {
    pub name: String,
    pub description: String,
    pub nr_cpus: usize,
    pub kernel: String,
}

/// Kernel of a name.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct KernelRow {
    pub name: &'static str,
    /// Series whose rules the scheduler follows.
    pub series: String,
}

/// Scheduler feature.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct FeatureRow {
    pub name: &'static str,
    /// Series whose kernels have the feature.
    pub series: Vec<String>,
    pub meaning: &'static str,
    pub demos: Vec<DemoRow>,
}

/// Tunable of the scheduler.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug, Serialize)]
pub struct TunableRow {
    pub name: &'static str,
    /// Series whose kernels have the tunable.
    pub series: Vec<String>,
    pub meaning: &'static str,
    pub unit: &'static str,
    pub min: i64,
    pub max: i64,
    /// Two values between which the demos differ.
    pub test_values: [i64; 2],
    pub demos: Vec<DemoRow>,
}

/// Scenario in which a switch makes a difference.
#[derive(Debug, Serialize)]
pub struct DemoRow {
    /// Series with whose rules it does.
    pub series: String,
    /// Path below `scenarios`.
    pub scenario: &'static str,
    /// The visible difference.
    pub effect: &'static str,
}

impl Catalogue {
    /// Returns the catalogue of this version.
    pub fn new() -> Self {
        Self {
            fairlab: env!("CARGO_PKG_VERSION"),
            machines: presets().map(|machine| MachineRow::new(&machine)).collect(),
            kernels: kernels::all().map(|of| KernelRow { name: of.name, series: of.series().to_string() }).collect(),
            features: Feature::ALL.iter().map(|&feature| FeatureRow::new(feature)).collect(),
            tunables: TUNABLES.iter().map(TunableRow::new).collect(),
        }
    }

    /// Returns the content of the generated file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a catalogue is valid JSON") + "\n"
    }
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new()
    }
}

impl MachineRow {
    fn new(machine: &MachineDescription) -> Self {
        Self {
            name: machine.name().to_owned(),
            description: machine.description().to_owned(),
            nr_cpus: machine.nr_cpus(),
            kernel: machine.kernel().to_owned(),
        }
    }
}

impl FeatureRow {
    fn new(feature: Feature) -> Self {
        let series = series_of(feature.only_in());
        let demos = demos(&series, feature.shown());
        Self { name: feature.name(), series: names(&series), meaning: feature.meaning(), demos }
    }
}

impl TunableRow {
    fn new(info: &TunableInfo) -> Self {
        let series = series_of(info.only_in);
        Self {
            name: info.name,
            meaning: info.meaning,
            unit: info.unit,
            min: *info.range.start(),
            max: *info.range.end(),
            test_values: info.test_values,
            demos: demos(&series, info.demo),
            series: names(&series),
        }
    }
}

fn series_of(only_in: Option<KernelSeries>) -> Vec<KernelSeries> {
    only_in.map_or_else(|| vec![KernelSeries::V6_1, KernelSeries::V6_12], |only| vec![only])
}

fn names(series: &[KernelSeries]) -> Vec<String> {
    series.iter().map(KernelSeries::to_string).collect()
}

fn demos(series: &[KernelSeries], demo: Demo) -> Vec<DemoRow> {
    let of_series = series.iter().filter_map(|&series| match demo.of_series(series) {
        Demo::Digest(scenario, effect) => Some(DemoRow { series: series.to_string(), scenario, effect }),
        _ => None,
    });
    of_series.collect()
}
