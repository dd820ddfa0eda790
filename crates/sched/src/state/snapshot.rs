// SPDX-License-Identifier: GPL-2.0-or-later
//! What the outside may read of a CPU: its figures, taken at one moment, instead of its runqueue.

use crate::interface::ctx::IpiKind;
use crate::state::State;
use crate::state::entity::SchedEntity;
use crate::state::rq::RqStats;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::task::Uclamp;
use crate::types::ids::{CfsRqId, CpuId, TaskId};
use crate::types::pelt::SchedAvg;
use crate::types::units::{Capacity, Nanos};

/// The figures of a CPU, under the kernel's names.
#[derive(Clone, Copy, Debug)]
pub struct CpuSnapshot {
    /// Its idle task.
    pub idle: TaskId,
    /// Its stopper.
    pub stop: TaskId,
    /// Runnable tasks of all classes.
    pub nr_running: u32,
    /// Runnable fair tasks, those of groups among them.
    pub h_nr_running: u32,
    /// Number of context switches.
    pub nr_switches: u64,
    /// Averages of its fair tasks.
    pub cfs_avg: SchedAvg,
    /// The least virtual runtime of its fair tasks, in ns.
    pub min_vruntime: u64,
    /// Time by its clock, in ns.
    pub clock: u64,
    /// The same without interrupts and stolen time.
    pub clock_task: u64,
    /// The clock of load tracking, and what it has lost for good.
    pub clock_pelt: u64,
    /// Time that load tracking has lost.
    pub lost_idle_time: u64,
    /// What is left of its capacity for fair tasks.
    pub cpu_capacity: Capacity,
    /// Its frequency as a part of 1024 of the highest.
    pub freq_capacity: Capacity,
    /// Capacity that is lost to heat at this moment, and on average.
    pub thermal_pressure: Capacity,
    /// The average of that.
    pub thermal_load_avg: u64,
    /// Average part of time that interrupts and a host have taken.
    pub irq_util_avg: u64,
    /// Load of a task that is too big for it; 0: there is none.
    pub misfit_task_load: u64,
    /// The clamps of its runnable tasks.
    pub uclamp: Uclamp,
    /// When it balances next, in jiffies.
    pub next_balance: u64,
    /// For how long it idles on average.
    pub avg_idle: Nanos,
    /// The most that newly-idle balancing has cost.
    pub max_idle_balance_cost: Nanos,
    /// Whether it counts as tickless.
    pub is_tickless: bool,
    /// Counters of schedstat.
    pub stats: RqStats,
}

/// How a CPU suits a task, where CPUs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskFit {
    /// The task does not fit, and there are larger CPUs.
    TooSmall,
    /// As it should be.
    #[default]
    Right,
    /// A smaller one would do.
    TooLarge,
}

/// What a CPU has to do when nothing else comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuAction {
    /// Reschedule: its running task must give way.
    Reschedule,
    /// The work of its stopper, which runs.
    Stopper,
    /// Nothing: its idle task runs.
    Idle,
    /// This task runs.
    Task(TaskId),
}

impl State {
    /// The figures of a CPU.
    pub fn snapshot(&self, cpu: CpuId) -> CpuSnapshot {
        let (rq, cfs_rq) = (self.rq(cpu), self.cfs_rq(cpu));
        CpuSnapshot {
            idle: rq.idle,
            stop: rq.stop,
            nr_running: rq.nr_running,
            h_nr_running: cfs_rq.h_nr_running,
            nr_switches: rq.nr_switches,
            cfs_avg: cfs_rq.avg,
            min_vruntime: cfs_rq.min_vruntime,
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
            next_balance: self.nohz.cpus[cpu.index()].next_balance,
            avg_idle: Nanos(rq.avg_idle),
            max_idle_balance_cost: Nanos(rq.max_idle_balance_cost),
            is_tickless: rq.nohz_tick_stopped,
            stats: rq.stats,
        }
    }

    /// The cfs_rqs of a CPU that have load, children before parents: the kernel's `leaf_cfs_rq_list`.
    pub fn leaf_cfs_rqs(&self, cpu: CpuId) -> impl Iterator<Item = &CfsRq> {
        let next = |&id: &CfsRqId| self.next_leaf_cfs_rq(id);
        core::iter::successors(self.first_leaf_cfs_rq(cpu), next).map(|id| &self.cfs_rqs[id.index()])
    }

    /// The entity that stands for a cfs_rq on its parent; a root cfs_rq has none.
    pub fn entity_of_cfs_rq(&self, cfs_rq: &CfsRq) -> Option<&SchedEntity> {
        cfs_rq.entity.map(|entity| &self.entities[entity.index()])
    }

    /// Number of the jiffy that has begun last.
    pub const fn jiffies(&self) -> u64 {
        self.jiffies
    }

    /// The idle task of a CPU.
    #[inline]
    pub fn idle_task(&self, cpu: CpuId) -> TaskId {
        self.rqs[cpu.index()].idle
    }

    /// What a CPU has to do now.
    #[inline]
    pub fn duty(&self, cpu: CpuId) -> CpuAction {
        let rq = &self.rqs[cpu.index()];
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

    /// Whether a CPU idles and has got nothing to do yet: `idle_cpu()`.
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].is_idle()
    }

    /// Whether an interrupt is on its way to a CPU.
    pub fn is_ipi_pending(&self, cpu: CpuId, kind: IpiKind) -> bool {
        self.rqs[cpu.index()].ipi_pending[kind as usize]
    }
}
