// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that the machine and its observers read. They change nothing.

use super::sched::Sched;
use crate::classes::deadline::server::fair_server;
use crate::classes::snapshot::{DlSnapshot, RtSnapshot};
use crate::interface::ctx::IpiKind;
use crate::interface::eevdf::{ServerRecord, ServerStep};
use crate::state::fair_tree::FairTree;
use crate::state::nohz::Nohz;
use crate::state::rq::cfs_rq::CfsRq;
use crate::state::snapshot::{CpuAction, CpuSnapshot};
use crate::types::cpumask::CpuMask;
use crate::types::features::FeatureSet;
use crate::types::ids::{CfsRqId, CpuId, TaskId};
use crate::types::series::KernelSeries;
use crate::types::tunables::Tunables;
use crate::types::units::{Nanos, SCHED_CAPACITY_SCALE};

impl Sched {
    /// Scheduler features that are in effect.
    pub fn features(&self) -> FeatureSet {
        self.features
    }

    /// Kernel whose rules the scheduler follows.
    pub fn series(&self) -> KernelSeries {
        self.series
    }

    /// Tunables that are in effect.
    pub fn tunables(&self) -> &Tunables {
        &self.tunables
    }

    /// Number of changes of affinities, policies and slices, and of new tasks, so far. While it stays, so do these attributes of
    /// all tasks.
    pub fn nr_attribute_changes(&self) -> u64 {
        self.nr_attribute_changes
    }

    /// Number of tasks ever created, idle tasks and stoppers included.
    pub fn nr_tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Groups, cfs_rqs and entities of the fair class.
    pub fn fair(&self) -> &FairTree {
        &self.fair
    }

    /// State of NOHZ idle balancing.
    pub fn nohz(&self) -> &Nohz {
        &self.nohz
    }

    /// Running task of a CPU: the kernel's `rq->curr`.
    #[inline]
    pub fn curr(&self, cpu: CpuId) -> TaskId {
        self.rqs[cpu].curr
    }

    /// Whether the running task of a CPU must reschedule: TIF_NEED_RESCHED.
    #[inline]
    pub fn need_resched(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].need_resched
    }

    /// Whether the idle task is the running task of a CPU.
    #[inline]
    pub fn is_idle_task_running(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].is_idle_task_running()
    }

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
    pub fn jiffies(&self) -> u64 {
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

    /// Whether a CPU is online: `cpu_online()`.
    #[inline]
    pub fn is_online(&self, cpu: CpuId) -> bool {
        self.hotplug.online.contains(cpu)
    }

    /// CPUs on which tasks may run: `cpu_active_mask`.
    pub fn active_cpus(&self) -> &CpuMask {
        &self.hotplug.active
    }

    /// Returns the present state of the fair server of a CPU, as of the last update, with its last step; `None` if it has
    /// not started yet.
    pub fn server_snapshot(&self, cpu: CpuId, last_step: ServerStep) -> Option<ServerRecord> {
        let dl = &self.tasks[fair_server(cpu)].dl;
        dl.server.is_server.then(|| dl.server_record(cpu, last_step))
    }

    /// Whether the fair server of a CPU is active: fair tasks are queued, and it waits, runs them or has used up its budget.
    pub fn is_server_active(&self, cpu: CpuId) -> bool {
        self.tasks[fair_server(cpu)].dl.server.is_active
    }

    /// Returns the real-time state of a CPU.
    pub fn rt_snapshot(&self, cpu: CpuId) -> RtSnapshot {
        let rt = &self.rqs[cpu].rt;
        RtSnapshot {
            rt_nr_running: rt.nr_running(),
            rt_nr_migratory: rt.nr_migratory(),
            rt_throttled: rt.throttled(),
            rt_time: Nanos(rt.rt_time()),
            rt_runtime: Some(rt.runtime(&self.tunables)).filter(|&runtime| runtime != u64::MAX).map(Nanos),
        }
    }

    /// Returns the deadline state of a CPU.
    pub fn dl_snapshot(&self, cpu: CpuId) -> DlSnapshot {
        let dl = &self.rqs[cpu].dl;
        DlSnapshot {
            dl_nr_running: dl.nr_running(),
            dl_nr_migratory: dl.nr_migratory,
            bw: self.tunables.dl_bandwidth_of(SCHED_CAPACITY_SCALE),
            total_bw: self.dl_root.total_bw(),
        }
    }
}
