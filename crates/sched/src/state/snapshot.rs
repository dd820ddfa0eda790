// SPDX-License-Identifier: GPL-2.0-or-later
//! Snapshots of a CPU, for readers outside the crate: its values at one moment, instead of access to its
//! runqueue.

use crate::state::deadline::entity::time_before;
use crate::state::rq::RqStats;
use crate::state::task::Uclamp;
use crate::types::ids::TaskId;
use crate::types::pelt::SchedAvg;
use crate::types::units::{Capacity, Nanos};

/// Values of a CPU at one moment, under the kernel's names.
#[derive(Clone, Copy, Debug)]
pub struct CpuSnapshot {
    /// Idle task of the CPU.
    pub idle: TaskId,
    /// Stopper of the CPU.
    pub stop: TaskId,
    /// Number of runnable tasks of all classes.
    pub nr_running: u32,
    /// Number of runnable fair tasks, including those in groups.
    pub h_nr_running: u32,
    /// Number of context switches since boot.
    pub nr_switches: u64,
    /// PELT averages of the root cfs_rq.
    pub cfs_avg: SchedAvg,
    /// Lowest virtual runtime of the root cfs_rq, in ns of a nice-0 task.
    pub min_vruntime: u64,
    /// Runqueue clock, in ns.
    pub clock: u64,
    /// Runqueue clock without interrupt time and steal time, in ns.
    pub clock_task: u64,
    /// Clock of load tracking (PELT), in ns.
    pub clock_pelt: u64,
    /// Time that the clock of load tracking has skipped for good, in ns.
    pub lost_idle_time: u64,
    /// Capacity that is left for fair tasks.
    pub cpu_capacity: Capacity,
    /// Frequency as a share of 1024 of the highest.
    pub freq_capacity: Capacity,
    /// Thermal pressure at this moment: capacity lost to frequency capping.
    pub thermal_pressure: Capacity,
    /// PELT average of the thermal pressure.
    pub thermal_load_avg: u64,
    /// PELT average of the share of time that interrupts and a host have taken.
    pub irq_util_avg: u64,
    /// Load of a task that is too big for the CPU; 0 if there is none.
    pub misfit_task_load: u64,
    /// Utilisation clamps that result from the runnable tasks.
    pub uclamp: Uclamp,
    /// Time of the next load-balance pass, in jiffies.
    pub next_balance: u64,
    /// Average length of idle periods.
    pub avg_idle: Nanos,
    /// Highest cost of newly-idle balancing, which decays.
    pub max_idle_balance_cost: Nanos,
    /// Whether the CPU counts as tickless.
    pub is_tickless: bool,
    /// Counters that `/proc/schedstat` shows for the CPU.
    pub stats: RqStats,
}

/// Fit between a task and its CPU, on machines whose CPUs differ in capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskFit {
    /// The task does not fit, and there are larger CPUs.
    TooSmall,
    /// The task fits, and no smaller CPU would do.
    #[default]
    Right,
    /// A smaller CPU would do.
    TooLarge,
}

/// Position of a task among the waiters of a mutex with priority inheritance, as of the time when it was queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaiterKey {
    /// Priority in the kernel's numbers: lower is more important. It is equal for all fair tasks.
    pub prio: i32,
    /// Deadline of a deadline task in ns, else 0.
    pub deadline: u64,
}

impl WaiterKey {
    /// Whether a waiter is ahead of another one: it has a higher real-time priority, or an earlier deadline
    /// (`rt_waiter_node_less()`).
    pub const fn precedes(self, other: Self) -> bool {
        self.prio < other.prio || (self.prio == other.prio && time_before(self.deadline, other.deadline))
    }
}

/// Action that a CPU takes next, unless an event intervenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuAction {
    /// Reschedule: the running task must give way.
    Reschedule,
    /// Run the work of the stopper, which is the running task.
    Stopper,
    /// Nothing: the idle task runs.
    Idle,
    /// Run this task, which is the running one.
    Task(TaskId),
}
