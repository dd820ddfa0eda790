// SPDX-License-Identifier: GPL-2.0-or-later
//! State of the real-time class: queues by priority, and the parts that all CPUs share.

pub(crate) mod bandwidth;
pub(crate) mod cpupri;
pub(crate) mod overload;
pub(crate) mod queue;

pub(crate) use bandwidth::RtBandwidth;
pub(crate) use overload::RtOverload;

use crate::state::prio::{MAX_RT_PRIO, Prio};
use crate::state::rt::cpupri::CpuPri;
use crate::types::ids::CpuId;
use queue::{PushableTasks, RtLinks, RtPrioArray};

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

/// Runnable real-time tasks of a CPU, including the running one: the kernel's `struct rt_rq`.
#[derive(Clone, Debug)]
pub struct RtRq {
    pub(crate) queues: RtPrioArray,
    /// Tasks that another CPU could run and that do not run here.
    pub(crate) pushable: PushableTasks,
    /// Number of runnable tasks, including the running one.
    pub nr_running: u32,
    /// Number of runnable tasks that may use more than one CPU.
    pub(crate) nr_migratory: u32,
    /// Highest priority of a runnable task: `highest_prio.curr`.
    pub(crate) highest_curr: Prio,
    /// Highest priority of a pushable task: `highest_prio.next`.
    pub(crate) highest_next: Prio,
    /// Whether there are tasks that another CPU could run.
    pub(crate) overloaded: bool,
    /// Whether the tasks count as runnable on the CPU: `rt_queued`.
    pub(crate) queued: bool,
    /// Whether the tasks have used up their runtime and may not run.
    pub throttled: bool,
    /// Runtime used in this period, in ns.
    pub rt_time: u64,
    /// Runtime that the CPU has borrowed from others beyond its own, in ns; negative if it has lent.
    pub(crate) borrowed: i64,
    /// Whether the CPU is offline and therefore has no limit, so that no CPU borrows from it (`RUNTIME_INF`).
    pub(crate) unlimited: bool,
}

impl RtRq {
    /// Number of tasks that count as runnable on the CPU: all, or none while they are throttled.
    pub(crate) fn nr_counted(&self) -> u32 {
        if self.queued { self.nr_running } else { 0 }
    }
}

impl Default for RtRq {
    fn default() -> Self {
        Self {
            queues: RtPrioArray::default(),
            pushable: PushableTasks::default(),
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
    /// Whether the runqueue has tasks that may run: `rt_rq_is_runnable()`.
    pub fn is_runnable(&self) -> bool {
        self.queued && self.nr_running > 0
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
