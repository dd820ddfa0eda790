// SPDX-License-Identifier: GPL-2.0-or-later
//! Inputs of a run, and the reasons why a machine cannot be constructed from them.

use crate::hardware::Hardware;
use fairlab_sched::features::Feature;
use fairlab_sched::interface::policy::PolicyHook;
use fairlab_sched::state::cpufreq::domain::FrequencyDomainError;
use fairlab_sched::topology::BuildError;
use fairlab_sched::tunables::Tunables;
use fairlab_sched::units::Nanos;
use fairlab_workload::scenario::Scenario;
use fairlab_workload::workload::Workload;
use std::fmt;

/// Inputs of a run.
pub struct Setup {
    /// Hardware of the simulated machine.
    pub hardware: Hardware,
    /// Tasks, groups and changes.
    pub workload: Workload,
    /// Features to enable or disable, in order.
    pub features: Vec<(Feature, bool)>,
    /// Changes to the machine's default tunables, applied in order.
    pub tunables: Vec<fn(&mut Tunables)>,
    /// Tunables by name, applied in order after `tunables`.
    pub named_tunables: Vec<(String, i64)>,
    /// Length of the run. Events at the very end still happen.
    pub duration: Nanos,
    /// Time between two snapshots; `None` for a single snapshot at the end.
    pub snapshot_every: Option<Nanos>,
    /// Seed that permutes simultaneous events, if set.
    pub perturb: Option<u64>,
    /// Custom policy that replaces some of the kernel's rules.
    pub policy: Option<Box<dyn PolicyHook>>,
}

impl Setup {
    /// Returns the setup of a workload on a machine for a simulated time, with the scheduler's defaults.
    pub fn new(hardware: Hardware, workload: Workload, duration: Nanos) -> Self {
        Self {
            hardware,
            workload,
            features: Vec::new(),
            tunables: Vec::new(),
            named_tunables: Vec::new(),
            duration,
            snapshot_every: None,
            perturb: None,
            policy: None,
        }
    }

    /// Returns the setup that a scenario file describes. Every user of scenarios starts from this, so that no
    /// statement is lost.
    ///
    /// # Panics
    /// Never for a scenario that was read from a file: the reader checks the names of features.
    pub fn from_scenario(scenario: Scenario) -> Self {
        let hardware = Hardware::from_scenario(&scenario);
        Self::with_hardware(hardware, scenario)
    }

    /// Returns the setup that a scenario file describes, on another machine than its own.
    ///
    /// # Panics
    /// As [`Setup::from_scenario`].
    pub fn with_hardware(hardware: Hardware, scenario: Scenario) -> Self {
        let feature = |(name, on): (String, bool)| {
            (Feature::from_name(&name).expect("the scenario reader checks feature names"), on)
        };
        // A value that does not fit is out of range for every tunable and rejected as such.
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let tunables = scenario.tunables.into_iter().map(|(name, value)| (name, signed(value)));
        Self {
            hardware,
            workload: scenario.workload,
            features: scenario.features.into_iter().map(feature).collect(),
            tunables: Vec::new(),
            named_tunables: tunables.chain(scenario.arms).collect(),
            duration: scenario.end,
            snapshot_every: scenario.stats,
            perturb: None,
            policy: None,
        }
    }
}

/// Reason why a machine cannot be constructed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// No sched domains can be built from the topology.
    Topology(BuildError),
    /// A frequency domain is invalid.
    Frequency(FrequencyDomainError),
    /// A tunable does not exist, or its value is out of range.
    Tunable(String),
    /// The quota of a group is invalid.
    Quota(String),
    /// The engine does not support the run, or could not be started.
    Unsupported(String),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topology(error) => write!(f, "{error}"),
            Self::Frequency(error) => write!(f, "{error}"),
            Self::Tunable(message) | Self::Quota(message) | Self::Unsupported(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for SetupError {}
