// SPDX-License-Identifier: GPL-2.0-or-later
//! Inputs of a run, and the reasons why a machine cannot be constructed from them.

use crate::hardware::Hardware;
use fairlab_sched::interface::policy::PolicyHook;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::state::cpufreq::domain::FrequencyDomainError;
use fairlab_sched::topology::BuildError;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use fairlab_workload::scenario::Scenario;
use fairlab_workload::tunable_name::TunableName;
use fairlab_workload::workload::Workload;
use std::fmt;

/// Inputs of a run.
pub struct Setup {
    /// Hardware of the simulated machine.
    pub hardware: Hardware,
    /// Tasks, groups and changes.
    pub workload: Workload,
    /// Kernel whose rules the built-in scheduler follows.
    pub series: KernelSeries,
    /// Features to enable or disable, in order.
    pub features: Vec<(String, bool)>,
    /// Tunables to set, in order.
    pub tunables: Vec<(TunableName, i64)>,
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
    /// Returns the setup of a workload on a machine for a simulated time, with the defaults of a kernel.
    pub fn new(series: KernelSeries, hardware: Hardware, workload: Workload, duration: Nanos) -> Self {
        Self {
            hardware,
            workload,
            series,
            features: Vec::new(),
            tunables: Vec::new(),
            duration,
            snapshot_every: None,
            perturb: None,
            policy: None,
        }
    }

    /// Returns the setup that a scenario file describes. Every user of scenarios starts from this, so that no
    /// statement is lost.
    pub fn from_scenario(scenario: Scenario) -> Self {
        let hardware = Hardware::from_scenario(&scenario);
        Self::with_hardware(hardware, scenario)
    }

    /// Returns the setup that a scenario file describes, on another machine than its own.
    pub fn with_hardware(hardware: Hardware, scenario: Scenario) -> Self {
        Self {
            hardware,
            workload: scenario.workload,
            series: scenario.series,
            features: scenario.features,
            tunables: scenario.tunables.into_iter().chain(scenario.arms).collect(),
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
    /// A feature or tunable does not exist, or the value of a tunable is out of range.
    Switch(Message),
    /// The quota of a group is invalid.
    Quota(Message),
    /// The engine does not support the run, or could not be started.
    Unsupported(Message),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topology(error) => write!(f, "{error}"),
            Self::Frequency(error) => write!(f, "{error}"),
            Self::Switch(message) | Self::Quota(message) | Self::Unsupported(message) => write!(f, "{message}"),
        }
    }
}

impl std::error::Error for SetupError {}

impl From<SetupError> for Message {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Switch(message) | SetupError::Quota(message) | SetupError::Unsupported(message) => message,
            error @ (SetupError::Topology(_) | SetupError::Frequency(_)) => Self::new(error.to_string()),
        }
    }
}
