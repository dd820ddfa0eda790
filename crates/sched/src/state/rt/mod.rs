// SPDX-License-Identifier: GPL-2.0-or-later
//! What is remembered of real-time tasks: queues by priority, and what all CPUs share of them.

pub(crate) mod bandwidth;
pub(crate) mod cpupri;
pub(crate) mod overload;
pub(crate) mod queue;

pub(crate) use bandwidth::RtBandwidth;
pub(crate) use overload::RtOverload;

use crate::state::prio::{MAX_RT_PRIO, Prio};
use crate::state::rt::cpupri::CpuPri;
use crate::types::ids::CpuId;
use queue::{PriorityQueues, Pushable, RtLinks};

/// The priority of a runqueue without real-time tasks.
pub(crate) const NO_PRIO: Prio = MAX_RT_PRIO - 1;

/// State of a task in the real-time class: the kernel's `struct sched_rt_entity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtEntity {
    /// Ticks that are left of its time slice (SCHED_RR).
    pub time_slice: u64,
    /// Whether it counts as runnable on a real-time runqueue.
    pub on_rq: bool,
    pub(crate) links: RtLinks,
}

impl RtEntity {
    /// A task with a whole time slice.
    pub const fn new(time_slice: u64) -> Self {
        Self { time_slice, on_rq: false, links: RtLinks::NONE }
    }
}

/// Runnable real-time tasks of a CPU, the running one among them: the kernel's `struct rt_rq`.
#[derive(Clone, Debug)]
pub struct RtRq {
    pub(crate) queues: PriorityQueues,
    /// Tasks that could run elsewhere and do not run here.
    pub(crate) pushable: Pushable,
    /// Number of runnable tasks.
    pub nr_running: u32,
    /// Those of them that may use more than one CPU.
    pub(crate) nr_migratory: u32,
    /// The highest priority of a runnable task: `highest_prio.curr`.
    pub(crate) highest_curr: Prio,
    /// The highest priority of a pushable task: `highest_prio.next`.
    pub(crate) highest_next: Prio,
    /// Whether there are tasks that another CPU could run.
    pub(crate) overloaded: bool,
    /// Whether its tasks count as runnable on the CPU: `rt_queued`.
    pub(crate) queued: bool,
    /// Whether its tasks have used up their runtime and may not run.
    pub throttled: bool,
    /// Runtime that was used in this period, in ns.
    pub rt_time: u64,
    /// Runtime beyond the CPU's own that it has borrowed from others, or lent if negative, in ns.
    pub(crate) borrowed: i64,
    /// The CPU is offline: there is no limit, and nobody borrows (`RUNTIME_INF`).
    pub(crate) unlimited: bool,
}

impl RtRq {
    /// How many of its tasks count as runnable on the CPU: all, or none while they are throttled.
    pub(crate) fn nr_counted(&self) -> u32 {
        if self.queued { self.nr_running } else { 0 }
    }
}

impl Default for RtRq {
    fn default() -> Self {
        Self {
            queues: PriorityQueues::default(),
            pushable: Pushable::default(),
            nr_running: 0,
            nr_migratory: 0,
            highest_curr: NO_PRIO,
            highest_next: NO_PRIO,
            overloaded: false,
            queued: false,
            throttled: false,
            rt_time: 0,
            borrowed: 0,
            unlimited: false,
        }
    }
}

impl RtRq {
    /// Whether it has tasks that may run: `rt_rq_is_runnable()`.
    pub fn is_runnable(&self) -> bool {
        self.queued && self.nr_running > 0
    }
}

/// What the real-time runqueues of all CPUs share: parts of the kernel's `struct root_domain`, and `def_rt_bandwidth`.
#[derive(Clone, Debug)]
pub(crate) struct RtRoot {
    /// Priorities by CPU.
    pub cpupri: CpuPri,
    /// CPUs with tasks that others could run.
    pub overload: RtOverload,
    /// The period of the limit of runtime.
    pub bandwidth: RtBandwidth,
    /// Where the timer of that was started last.
    pub bandwidth_timer_cpu: CpuId,
    /// CPUs that a search found: `local_cpu_mask`.
    pub(crate) lowest: crate::types::cpumask::CpuMask,
}

impl RtRoot {
    /// All CPUs are offline.
    pub(crate) fn forget_cpus(&mut self) {
        self.cpupri.clear();
        self.overload = RtOverload::new(self.lowest.nr_cpus());
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
