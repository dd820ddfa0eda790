// SPDX-License-Identifier: GPL-2.0-or-later
//! A study as data: its arms, and the published tables that its results stand beside.

use crate::kernels::{self, Kernel};
use fairlab_sched::features::Feature;
use fairlab_workload::suggest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A figure as published: a number, or words where there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number in the table's unit.
    Number(f64),
    /// What stands in place of a number.
    Text(String),
}

impl Figure {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Figure {
    /// With as many digits as a person wants to read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) if number.fract() == 0.0 || number.abs() >= 1000.0 => write!(f, "{number:.0}"),
            Self::Number(number) if number.abs() >= 100.0 => write!(f, "{number:.1}"),
            Self::Number(number) => write!(f, "{number:.2}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// When a simulated figure counts as the published one.
///
/// A distance from the published figure (`within`, `within_percent`, `factor`): one of those that are given must hold. Bounds of the
/// figure itself (`at_least`, `at_most`): all that are given must hold, whatever exactly was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRule {
    /// Absolute difference, in the table's unit.
    pub within: Option<f64>,
    /// Relative difference, in percent of the published figure.
    pub within_percent: Option<f64>,
    /// Not more than so many times the published figure, nor less than it divided by that.
    pub factor: Option<f64>,
    /// The figure's lower bound, in the table's unit.
    pub at_least: Option<f64>,
    /// The figure's upper bound, in the table's unit.
    pub at_most: Option<f64>,
    /// The figure is a change: the right sign alone is worth something.
    #[serde(default)]
    pub sign: bool,
}

impl VerdictRule {
    /// Whether a number is the published one by this rule. A rule without conditions is met by the published number alone.
    pub fn is_met(&self, value: f64, published: f64) -> bool {
        let difference = (value - published).abs();
        let distances = [
            self.within.map(|most| difference <= most),
            self.within_percent.map(|most| published != 0.0 && 100.0 * difference <= most * published.abs()),
            self.factor.map(|most| is_within_factor(value, published, most)),
        ];
        let bounds = [self.at_least.map(|least| value >= least), self.at_most.map(|most| value <= most)];
        let (has_distance, has_bound) = (distances.iter().any(Option::is_some), bounds.iter().any(Option::is_some));
        match (has_distance, has_bound) {
            (false, false) => difference == 0.0,
            _ => {
                (!has_distance || distances.into_iter().flatten().any(|holds| holds))
                    && bounds.into_iter().flatten().all(|holds| holds)
            }
        }
    }
}

/// Whether one number is another, of the same sign, within a factor.
fn is_within_factor(value: f64, published: f64, most: f64) -> bool {
    value == published || (value * published > 0.0 && (value / published).max(published / value) <= most)
}

/// A row of a published table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowDefinition {
    /// What was measured.
    pub label: String,
    /// Under which arm.
    pub arm: String,
    /// The published figure, if there is one.
    pub published: Option<Figure>,
    /// When it counts as reproduced, if the table's rule is not for this row.
    pub verdict: Option<VerdictRule>,
}

/// A published table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDefinition {
    /// Short name.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What the figures are.
    pub metric: String,
    /// Their unit.
    pub unit: String,
    /// When a figure counts as reproduced.
    #[serde(default)]
    pub verdict: VerdictRule,
    /// The rows.
    #[serde(default)]
    pub rows: Vec<RowDefinition>,
}

/// A variant of the scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmDefinition {
    /// Short name.
    pub name: String,
    /// What it stands for.
    pub meaning: String,
    /// The named kernel on whose set of features and tunables it builds; 6.1 if none is named.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Tunables that differ from that.
    #[serde(default)]
    pub tunables: BTreeMap<String, i64>,
    /// Features that are switched.
    #[serde(default)]
    pub features: BTreeMap<String, bool>,
}

impl ArmDefinition {
    /// The features that it switches.
    pub fn switched_features(&self) -> Vec<(Feature, bool)> {
        let known = |name: &String| Feature::from_name(name).expect("names were checked when the study was read");
        let own = self.features.iter().map(|(name, &on)| (known(name), on));
        self.base().map_or_else(Vec::new, Kernel::features).into_iter().chain(own).collect()
    }

    /// The tunables that it sets; a later one of the same name counts.
    pub fn set_tunables(&self) -> Vec<(String, i64)> {
        let own = self.tunables.iter().map(|(name, &value)| (name.clone(), value));
        let base = self.base().map_or_else(Vec::new, Kernel::tunables);
        base.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(own).collect()
    }

    fn base(&self) -> Option<Kernel> {
        let name = self.kernel.as_ref()?;
        Some(Kernel::named(name).expect("names were checked when the study was read"))
    }
}

/// A study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyDefinition {
    /// Short name.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Where its figures come from.
    pub source: String,
    /// Variants of the scheduler.
    #[serde(rename = "arm")]
    pub arms: Vec<ArmDefinition>,
    /// Published tables.
    #[serde(rename = "table")]
    pub tables: Vec<TableDefinition>,
}

/// Why the data of a study are refused.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// It is not the TOML of a study.
    #[error("studies/{0}.toml: {1}")]
    Toml(String, toml::de::Error),
    /// A name in it means nothing.
    #[error("studies/{study}.toml: {place}: {message}\nhelp: {help}")]
    Name {
        /// The study.
        study: String,
        /// Where.
        place: String,
        /// What is wrong.
        message: String,
        /// The way out.
        help: String,
    },
}

impl DefinitionError {
    /// A name at a place of a study's data means nothing.
    pub(crate) fn name(study: &str, place: String, message: String, help: String) -> Self {
        Self::Name { study: study.to_owned(), place, message, help }
    }
}

impl StudyDefinition {
    /// Reads a study's data.
    ///
    /// # Errors
    /// If it is malformed, or names a feature or an arm that does not exist.
    pub fn parse(name: &str, text: &str) -> Result<Self, DefinitionError> {
        let study: Self = toml::from_str(text).map_err(|error| DefinitionError::Toml(name.to_owned(), error))?;
        let unknown = |place: String, what: &str, name_in_it: &str, known: &[&str]| {
            let message = format!("there is no {what} {name_in_it}");
            DefinitionError::name(name, place, message, suggest::help(name_in_it, &format!("{what}s"), known))
        };
        for arm in &study.arms {
            let place = || format!("arm {}", arm.name);
            if let Some(kernel) = arm.kernel.as_ref().filter(|kernel| Kernel::named(kernel).is_none()) {
                let known: Vec<&str> = kernels::KERNELS.iter().map(|kernel| kernel.name).collect();
                return Err(unknown(place(), "kernel", kernel, &known));
            }
            if let Some(feature) = arm.features.keys().find(|feature| Feature::from_name(feature).is_none()) {
                let known: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
                return Err(unknown(place(), "feature", feature, &known));
            }
        }
        let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
        for table in &study.tables {
            for row in &table.rows {
                if !arms.contains(&row.arm.as_str()) {
                    let place = format!("table {}, row {}", table.name, row.label);
                    return Err(unknown(place, "arm", &row.arm, &arms));
                }
            }
        }
        Ok(study)
    }

    /// An arm by name.
    ///
    /// # Panics
    /// If there is none: the names of a study's rows were checked when it was read.
    pub fn arm(&self, name: &str) -> &ArmDefinition {
        self.arms.iter().find(|arm| arm.name == name).unwrap_or_else(|| panic!("{} has no arm {name}", self.name))
    }

    /// A table by name.
    ///
    /// # Panics
    /// If there is none.
    pub fn table(&self, name: &str) -> &TableDefinition {
        self.tables
            .iter()
            .find(|table| table.name == name)
            .unwrap_or_else(|| panic!("{} has no table {name}", self.name))
    }
}
