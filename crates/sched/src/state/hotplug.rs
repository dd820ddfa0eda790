// SPDX-License-Identifier: GPL-2.0-or-later
//! Online and active CPUs, and the reasons why a CPU cannot go offline.

use crate::state::topology::MachineTopology;
use crate::types::cpumask::CpuMask;
use core::fmt;

/// CPUs that are online and active.
#[derive(Clone, Debug)]
pub(crate) struct Hotplug {
    /// CPUs on which tasks may run: `cpu_active_mask`.
    pub active: CpuMask,
    /// CPUs that are online, including those that still have to get rid of their tasks: `cpu_online_mask`.
    pub online: CpuMask,
    /// Machine from which sched domains are rebuilt.
    pub topology: MachineTopology,
}

impl Hotplug {
    /// Creates the state in which all CPUs are active.
    pub(crate) fn new(topology: MachineTopology) -> Self {
        let nr_cpus = topology.cpus.len();
        Self { active: CpuMask::full(nr_cpus), online: CpuMask::full(nr_cpus), topology }
    }
}

/// Reason why a CPU cannot go offline. The kernel returns EBUSY for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HotplugError {
    /// The CPU is the last one online.
    LastCpu,
    /// The other CPUs have not enough bandwidth for the admitted deadline tasks.
    NoBandwidth,
}

impl HotplugError {
    /// Error number that the kernel returns: -EBUSY.
    pub const fn errno(self) -> i32 {
        -16
    }
}

impl fmt::Display for HotplugError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LastCpu => "the last cpu cannot go offline: bring another one online first",
            Self::NoBandwidth => "deadline tasks need this cpu: end some of them, or give them less runtime, first",
        })
    }
}

impl core::error::Error for HotplugError {}
