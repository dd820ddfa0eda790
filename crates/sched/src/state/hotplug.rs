// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that go offline and come back while tasks run.
//!
//! Models `sched_cpu_deactivate()`, `sched_cpu_activate()` and `sched_cpu_dying()` (6.1) with what they call: [`state`] has
//! the runqueues' part and the sched domains, [`push`] the tasks that have to leave, [`fallback`] where they go.
//!
//! The stopper of the CPU stands for its hotplug thread and for the stopping of the machine: it does both ends of the way,
//! at once, and the other CPUs go on meanwhile.
//
// DIFFERS: the kernel's hotplug thread is a fair task of the CPU, which shares it with others while it waits for RCU and for
// the CPU to become empty, and all CPUs stop for the last step. Here nobody waits, and only the CPU itself stops.

use crate::state::State;
use crate::state::topology::MachineTopology;
use crate::words::cpumask::CpuMask;
use crate::words::ids::CpuId;
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
