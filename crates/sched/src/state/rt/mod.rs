// SPDX-License-Identifier: GPL-2.0-or-later
//! State of the real-time class: queues by priority, and the parts that all CPUs share.

pub(crate) mod bandwidth;
pub(crate) mod cpupri;
pub(crate) mod overload;
pub(crate) mod queue;
pub(crate) mod rq;

pub(crate) use bandwidth::RtBandwidth;
pub(crate) use overload::RtOverload;
pub use rq::RtRq;

use crate::state::prio::{MAX_RT_PRIO, Prio};
use crate::state::rt::cpupri::CpuPri;
use crate::types::ids::CpuId;
use queue::RtLinks;

/// Priority of a runqueue without real-time tasks.
pub(crate) const NO_PRIO: Prio = MAX_RT_PRIO - 1;

/// State of a task in the real-time class: the kernel's `struct sched_rt_entity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtEntity {
    /// Ticks that are left of the task's time slice (SCHED_RR).
    pub time_slice: u64,
    /// Whether the task counts as runnable on a real-time runqueue.
    pub on_rq: bool,
    pub(crate) links: RtLinks,
}

impl RtEntity {
    /// Creates the state of a task with a whole time slice, in ticks.
    pub const fn new(time_slice: u64) -> Self {
        Self { time_slice, on_rq: false, links: RtLinks::NONE }
    }
}

/// State that the real-time runqueues of all CPUs share: parts of the kernel's `struct root_domain`, and
/// `def_rt_bandwidth`.
#[derive(Clone, Debug)]
pub(crate) struct RtRoot {
    /// Priority level of each CPU.
    pub cpupri: CpuPri,
    /// CPUs with tasks that other CPUs could run.
    pub overload: RtOverload,
    /// Period timer of the runtime limit.
    pub bandwidth: RtBandwidth,
    /// CPU that started the period timer last.
    pub bandwidth_timer_cpu: CpuId,
    /// Result of the last search for a CPU: `local_cpu_mask`.
    pub(crate) lowest: crate::types::cpumask::CpuMask,
}

impl RtRoot {
    /// Marks all CPUs as offline.
    pub(crate) fn clear_cpus(&mut self) {
        self.cpupri.clear();
        self.overload.start_again();
    }

    pub(crate) fn new(nr_cpus: usize) -> Self {
        Self {
            cpupri: CpuPri::new(nr_cpus),
            overload: RtOverload::new(nr_cpus),
            bandwidth: RtBandwidth::default(),
            bandwidth_timer_cpu: CpuId(0),
            lowest: crate::types::cpumask::CpuMask::new(nr_cpus),
        }
    }
}
