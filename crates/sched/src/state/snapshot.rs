// SPDX-License-Identifier: GPL-2.0-or-later
//! Snapshots of a CPU, for readers outside the crate: its values at one moment, instead of access to its
//! runqueue.

use crate::interface::ctx::IpiKind;
use crate::state::State;
use crate::state::deadline::entity::time_before;
use crate::state::rq::RqStats;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::task::Uclamp;
use crate::types::ids::{CfsRqId, CpuId, TaskId};
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

impl State {
    /// Returns the values of a CPU at this moment.
    pub fn snapshot(&self, cpu: CpuId) -> CpuSnapshot {
        let (rq, cfs_rq) = (&self.rqs[cpu], self.fair.root_cfs_rq(cpu));
        CpuSnapshot {
            idle: rq.idle,
            stop: rq.stop,
            nr_running: rq.nr_running,
            h_nr_running: cfs_rq.h_nr_running,
            nr_switches: rq.nr_switches,
            cfs_avg: cfs_rq.avg,
            min_vruntime: if self.rules.has_zero_vruntime {
                cfs_rq.virtual_time.zero_vruntime
            } else {
                cfs_rq.min_vruntime
            },
            clock: rq.clock,
            clock_task: rq.clock_task,
            clock_pelt: rq.clock_pelt,
            lost_idle_time: rq.lost_idle_time,
            cpu_capacity: rq.cpu_capacity,
            freq_capacity: rq.freq_capacity,
            thermal_pressure: rq.thermal_pressure,
            thermal_load_avg: rq.avg_thermal.load_avg,
            irq_util_avg: rq.avg_irq.util_avg,
            misfit_task_load: rq.misfit_task_load,
            uclamp: rq.uclamp.clamps(),
            next_balance: self.nohz.cpus[cpu].next_balance,
            avg_idle: Nanos(rq.avg_idle),
            max_idle_balance_cost: Nanos(rq.max_idle_balance_cost),
            is_tickless: rq.nohz_tick_stopped,
            stats: rq.stats,
        }
    }

    /// cfs_rqs of a CPU that have load, children before parents: the kernel's `leaf_cfs_rq_list`.
    pub fn leaf_cfs_rqs(&self, cpu: CpuId) -> impl Iterator<Item = &CfsRq> {
        let next = |&id: &CfsRqId| self.fair.cfs_rqs[id].next_leaf();
        core::iter::successors(self.rqs[cpu].leaf_list.first(), next).map(|id| &self.fair.cfs_rqs[id])
    }

    /// Number of the jiffy that began last.
    pub const fn jiffies(&self) -> u64 {
        self.jiffies
    }

    /// Idle task of a CPU.
    #[inline]
    pub fn idle_task(&self, cpu: CpuId) -> TaskId {
        self.rqs[cpu].idle
    }

    /// Action that a CPU takes next, unless an event intervenes.
    #[inline]
    pub fn next_action(&self, cpu: CpuId) -> CpuAction {
        let rq = &self.rqs[cpu];
        if rq.need_resched {
            CpuAction::Reschedule
        } else if rq.curr == rq.idle {
            CpuAction::Idle
        } else if rq.curr == rq.stop {
            CpuAction::Stopper
        } else {
            CpuAction::Task(rq.curr)
        }
    }

    /// Whether a CPU idles and has no work pending: `idle_cpu()`.
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].is_idle()
    }

    /// Whether an interrupt is on its way to a CPU.
    pub fn is_ipi_pending(&self, cpu: CpuId, kind: IpiKind) -> bool {
        self.rqs[cpu].ipi_pending[kind as usize]
    }
}
