// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPUs take part, and why one may not leave.

use crate::state::State;
use crate::state::topology::MachineTopology;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use core::fmt;

/// Which CPUs take part.
#[derive(Clone, Debug)]
pub(crate) struct Hotplug {
    /// CPUs on which tasks may run: `cpu_active_mask`.
    pub active: CpuMask,
    /// CPUs that work, those among them that still have to get rid of their tasks: `cpu_online_mask`.
    pub online: CpuMask,
    /// From what domains are built anew.
    pub topology: MachineTopology,
}

impl Hotplug {
    /// All CPUs take part.
    pub(crate) fn new(topology: MachineTopology) -> Self {
        let nr_cpus = topology.cpus.len();
        Self { active: CpuMask::full(nr_cpus), online: CpuMask::full(nr_cpus), topology }
    }
}

/// Why a CPU cannot go offline. The kernel says EBUSY to both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HotplugError {
    /// It is the last one.
    LastCpu,
    /// The others have not enough bandwidth for the deadline tasks that were admitted.
    NoBandwidth,
}

impl HotplugError {
    /// The number that the kernel returns.
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

impl State {
    /// Whether a CPU works.
    pub fn is_online(&self, cpu: CpuId) -> bool {
        self.hotplug.online.contains(cpu)
    }

    /// The CPUs on which tasks may run.
    pub fn active_cpus(&self) -> &CpuMask {
        &self.hotplug.active
    }
}
