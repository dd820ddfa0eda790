// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[arm]]` tables of a study: variants of the scheduler, and of the machine where the arms compare
//! machines.

use fairlab_run::kernels::Kernel;
use fairlab_run::values::GovernorName;
use fairlab_sched::features::Feature;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One arm of a study: differences from the kernel and the machine that a run uses by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmDefinition {
    /// Short name, unique within the study.
    pub name: String,
    /// Description of the arm for the reports.
    pub meaning: String,
    /// Named kernel whose features and tunables the arm starts from; 6.1 if absent.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Tunables that differ from the named kernel's values.
    #[serde(default)]
    pub tunables: BTreeMap<String, i64>,
    /// Features to turn on or off.
    #[serde(default)]
    pub features: BTreeMap<String, bool>,
    /// Costs of kernel operations that differ from the machine's cost model, in nanoseconds.
    #[serde(default)]
    pub prices: BTreeMap<String, f64>,
    /// Frequency governor that replaces the one of the machine's file.
    pub governor: Option<GovernorName>,
    /// Number of idle states to use, counted from the shallowest.
    pub idle_states: Option<usize>,
    /// Machine that replaces the run's machine.
    pub machine: Option<String>,
}

impl ArmDefinition {
    /// Features of the named kernel and of the arm, in the order in which they are set.
    pub fn switched_features(&self) -> Vec<(Feature, bool)> {
        self.features_around(Vec::new())
    }

    /// Tunables of the named kernel and of the arm; a later value of one name replaces an earlier one.
    pub fn set_tunables(&self) -> Vec<(String, i64)> {
        self.tunables_around(Vec::new())
    }

    /// Features of the named kernel, then those of a workload's file (`of_file`), then the arm's own. Later
    /// ones replace earlier ones.
    pub(crate) fn features_around(&self, of_file: Vec<(Feature, bool)>) -> Vec<(Feature, bool)> {
        let known = |name: &String| Feature::from_name(name).expect("names were checked when the study was read");
        let own = self.features.iter().map(|(name, &on)| (known(name), on));
        self.base().map_or_else(Vec::new, Kernel::features).into_iter().chain(of_file).chain(own).collect()
    }

    /// Tunables in the same order as [`Self::features_around`].
    pub(crate) fn tunables_around(&self, of_file: Vec<(String, i64)>) -> Vec<(String, i64)> {
        let own = self.tunables.iter().map(|(name, &value)| (name.clone(), value));
        let base = self.base().map_or_else(Vec::new, Kernel::tunables);
        let base = base.into_iter().map(|(name, value)| (name.to_owned(), value));
        base.chain(of_file).chain(own).collect()
    }

    fn base(&self) -> Option<Kernel> {
        let name = self.kernel.as_ref()?;
        Some(Kernel::from_name(name).expect("names were checked when the study was read"))
    }
}
