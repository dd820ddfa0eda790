// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[arm]]`: a variant of the scheduler, and of the machine if it is that which differs.

use crate::kernels::Kernel;
use fairlab_sched::features::Feature;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Prices that differ from the machine's, in nanoseconds.
    #[serde(default)]
    pub prices: BTreeMap<String, f64>,
    /// Who chooses frequencies, if not whom the machine's file says.
    pub governor: Option<GovernorName>,
    /// Only the first so many idle states are used.
    pub idle_states: Option<usize>,
    /// Another machine than the run's.
    pub machine: Option<String>,
}

/// Who chooses frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GovernorName {
    /// The highest, always.
    Performance,
    /// The lowest, always.
    Powersave,
}

impl ArmDefinition {
    /// The features that it switches.
    pub fn switched_features(&self) -> Vec<(Feature, bool)> {
        self.features_around(Vec::new())
    }

    /// The tunables that it sets; a later one of the same name counts.
    pub fn set_tunables(&self) -> Vec<(String, i64)> {
        self.tunables_around(Vec::new())
    }

    /// The kernel's features, then those that a workload's file switches, then its own: later ones count.
    pub(crate) fn features_around(&self, of_file: Vec<(Feature, bool)>) -> Vec<(Feature, bool)> {
        let known = |name: &String| Feature::from_name(name).expect("names were checked when the study was read");
        let own = self.features.iter().map(|(name, &on)| (known(name), on));
        self.base().map_or_else(Vec::new, Kernel::features).into_iter().chain(of_file).chain(own).collect()
    }

    /// The same for tunables.
    pub(crate) fn tunables_around(&self, of_file: Vec<(String, i64)>) -> Vec<(String, i64)> {
        let own = self.tunables.iter().map(|(name, &value)| (name.clone(), value));
        let base = self.base().map_or_else(Vec::new, Kernel::tunables);
        let base = base.into_iter().map(|(name, value)| (name.to_owned(), value));
        base.chain(of_file).chain(own).collect()
    }

    fn base(&self) -> Option<Kernel> {
        let name = self.kernel.as_ref()?;
        Some(Kernel::named(name).expect("names were checked when the study was read"))
    }
}
