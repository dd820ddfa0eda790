// SPDX-License-Identifier: GPL-2.0-or-later
//! Runqueues: one for each CPU, with the state of the CPU as the scheduler knows it.

pub mod cfs_rq;
pub mod leaf;
pub mod task_list;
pub mod timeline;

use crate::state::callbacks::BalanceCallbacks;
use crate::state::calls::CallFunction;
use crate::state::deadline::DlRq;
use crate::state::rq::leaf::LeafList;
use crate::state::rq::task_list::TaskList;
use crate::state::rt::RtRq;
use crate::state::stop_work::StopWork;
use crate::state::timers::TimerQueue;
use crate::state::uclamp::RqUclamp;
use crate::state::warn::RqWarn;
use crate::types::ids::{CpuId, TaskId};
use crate::types::pelt::SchedAvg;
use crate::types::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Counters that `/proc/schedstat` shows for a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqStats {
    /// Calls of `sched_yield()`.
    pub yld_count: u32,
    /// Calls of `schedule()`.
    pub sched_count: u32,
    /// Those that left the CPU idle.
    pub sched_goidle: u32,
    /// Wake-ups that were done on this CPU.
    pub ttwu_count: u32,
    /// Those of them that woke a task for this CPU.
    pub ttwu_local: u32,
    /// Time that tasks ran, in ns.
    pub rq_cpu_time: u64,
    /// Time that tasks waited, in ns.
    pub run_delay: u64,
    /// How often a task began to run.
    pub pcount: u64,
}

/// The runqueue of a CPU: the kernel's `struct rq`. Its root cfs_rq is the one with the same number.
#[derive(Clone, Debug)]
pub struct Rq {
    /// Its CPU.
    pub cpu: CpuId,
    /// The task that runs.
    pub curr: TaskId,
    /// The CPU's idle task.
    pub idle: TaskId,
    /// The CPU's stopper.
    pub stop: TaskId,
    /// Whether it belongs to its root domain: what CPUs share of the classes knows it.
    pub online: bool,
    /// Whether the running task must give way: TIF_NEED_RESCHED.
    pub need_resched: bool,
    /// Number of runnable tasks of all classes.
    pub nr_running: u32,
    /// Number of context switches.
    pub nr_switches: u64,

    /// Time of the last clock update, in ns.
    pub clock: u64,
    /// The same without interrupts and stolen time.
    pub clock_task: u64,
    /// The clock of load tracking: runs slower on a slower CPU, see [`crate::words::pelt`].
    pub clock_pelt: u64,
    /// Idle time that a slow CPU spent on work, in sum; readers of `clock_pelt` subtract it.
    pub lost_idle_time: u64,
    /// `clock` when the CPU went idle last.
    pub clock_idle: u64,
    /// `clock_pelt` without lost time when the CPU went idle last.
    pub clock_pelt_idle: u64,
    /// The next `schedule()` need not update the clock: RQCF_REQ_SKIP.
    pub clock_skip_requested: bool,
    /// `schedule()` does not update the clock now: RQCF_ACT_SKIP.
    pub clock_skip_active: bool,
    /// What complaints about this runqueue need to remember.
    pub warn: RqWarn,
    /// Interrupt time of the CPU, in ns.
    pub irq_time: u64,
    /// How much of it the clocks know of.
    pub prev_irq_time: u64,
    /// Time that a host has taken, in ns.
    pub steal_time: u64,
    /// How much of it the clocks know of, or have dropped.
    pub prev_steal_time: u64,

    /// Capacity of the CPU at its highest frequency.
    pub cpu_capacity_orig: Capacity,
    /// What other classes and interrupts leave of it for the fair class, as of the last update.
    pub cpu_capacity: Capacity,
    /// Frequency of the CPU, of 1024.
    pub freq_capacity: Capacity,
    /// Capacity that is lost to heat.
    pub thermal_pressure: Capacity,
    /// The task clock when the thermal average was looked at last, before there was any pressure, in ns.
    pub(crate) thermal_looked_at: u64,

    /// Average of the real-time class.
    pub avg_rt: SchedAvg,
    /// Average of the deadline class.
    pub avg_dl: SchedAvg,
    /// Average of interrupts and stolen time.
    pub avg_irq: SchedAvg,
    /// Average of thermal pressure.
    pub avg_thermal: SchedAvg,

    /// Utilisation clamps of what is runnable.
    pub uclamp: RqUclamp,
    /// The real-time runqueue.
    pub rt: RtRq,
    /// The deadline runqueue.
    pub dl: DlRq,
    /// What classes have put off until the runqueue is consistent.
    pub callbacks: BalanceCallbacks,
    /// Fair tasks, for load balancing.
    pub cfs_tasks: TaskList,
    /// cfs_rqs with load.
    pub leaf_list: LeafList,
    /// What other CPUs want done here by interrupt, oldest first.
    pub call_queue: VecDeque<CallFunction>,
    /// Whether a wake-up is among that: the kernel's `ttwu_pending`.
    pub ttwu_pending: bool,
    /// Whether the balancing softirq is pending.
    pub sched_softirq: bool,
    /// Its thread ksoftirqd, once softirqs have gone over to it.
    pub ksoftirqd: Option<TaskId>,
    /// Whether an interrupt of each kind is under way: reschedule, call-function.
    pub ipi_pending: [bool; 2],
    /// Work for the stopper.
    pub stop_works: VecDeque<StopWork>,

    /// Why and whether this CPU was asked to balance for idle ones: `nohz_flags`.
    pub nohz_flags: u32,
    /// The flags that its softirq acts on: `nohz_idle_balance`.
    pub nohz_idle_balance: u32,
    /// Whether it was idle when the balancing softirq was raised.
    pub idle_balance: bool,
    /// Whether its tick is stopped and it is in the mask of such CPUs.
    pub nohz_tick_stopped: bool,
    /// Whether the tick is stopped, as the idle loop knows it.
    pub tick_stopped: bool,
    /// How often the idle loop was entered (`tick_nohz_get_idle_calls_cpu()`).
    pub idle_calls: u64,
    /// Load of a task that does not fit this CPU; 0: none.
    pub misfit_task_load: u64,
    /// Whether active balancing is under way.
    pub active_balance: bool,
    /// Where it pushes to.
    pub push_cpu: CpuId,
    /// When it went idle, in ns of `clock`; 0 while it does not count as idle.
    pub idle_stamp: u64,
    /// How long it takes to leave the idle state in which it is; none while it is in no idle state: `idle_get_state()`.
    pub idle_exit_latency: Option<Nanos>,
    /// Average idle time, in ns.
    pub avg_idle: u64,
    /// When a wake-up ended its idle time last, in jiffies.
    pub wake_stamp: u64,
    /// Average idle time as the search for an idle CPU sees it (SIS_PROP), in ns.
    pub wake_avg_idle: u64,
    /// The most that newly-idle balancing has cost, in ns.
    pub max_idle_balance_cost: u64,
    /// The CPU that a change of affinity made on this CPU chose last (`distribute_cpu_mask_prev`).
    pub distribute_prev: CpuId,
    /// State of the dice of newly-idle balancing.
    pub rnd_state: [u32; 4],

    /// High-resolution timers that this CPU has started.
    pub timers: TimerQueue,
    /// What the slice timer is to be set to when its CPU gets to it: `hrtick_time`.
    pub hrtick_time: u64,
    /// A remote start of the slice timer is in the call-function queue.
    pub hrtick_csd_pending: bool,
    /// Counters.
    pub stats: RqStats,
}

/// State of the dice after the boot: `lib/random32.c` seeded with 0x5a bytes, as far as newly-idle balancing has not thrown.
const RND_STATE: [u32; 4] = [4_109_893_559, 2_778_306_969, 2_433_964_639, 31_309_831];

/// So much has room in the small queues of a CPU before they have to grow. They never shrink.
pub(crate) const ROOM: usize = 16;

impl Rq {
    /// The runqueue of a CPU that has not run anything yet.
    pub(crate) fn new(cpu: CpuId, idle: TaskId, stop: TaskId, capacity: Capacity, jiffies: u64) -> Self {
        Self {
            cpu,
            curr: idle,
            idle,
            stop,
            online: true,
            need_resched: false,
            nr_running: 0,
            nr_switches: 0,
            clock: 0,
            clock_task: 0,
            clock_pelt: 0,
            lost_idle_time: 0,
            clock_idle: 0,
            clock_pelt_idle: 0,
            clock_skip_requested: false,
            clock_skip_active: false,
            irq_time: 0,
            prev_irq_time: 0,
            warn: RqWarn::default(),
            steal_time: 0,
            prev_steal_time: 0,
            cpu_capacity_orig: capacity,
            cpu_capacity: capacity,
            freq_capacity: SCHED_CAPACITY_SCALE,
            thermal_pressure: 0,
            thermal_looked_at: 0,
            avg_rt: SchedAvg::default(),
            avg_dl: SchedAvg::default(),
            avg_irq: SchedAvg::default(),
            avg_thermal: SchedAvg::default(),
            uclamp: RqUclamp::default(),
            rt: RtRq::default(),
            dl: DlRq::default(),
            callbacks: BalanceCallbacks::default(),
            cfs_tasks: TaskList::default(),
            leaf_list: LeafList::default(),
            call_queue: VecDeque::with_capacity(ROOM),
            ttwu_pending: false,
            sched_softirq: false,
            ksoftirqd: None,
            ipi_pending: [false; 2],
            stop_works: VecDeque::with_capacity(ROOM),
            nohz_flags: 0,
            nohz_idle_balance: 0,
            idle_balance: false,
            nohz_tick_stopped: false,
            tick_stopped: false,
            idle_calls: 0,
            misfit_task_load: 0,
            active_balance: false,
            push_cpu: CpuId(0),
            idle_stamp: 0,
            idle_exit_latency: None,
            avg_idle: 1_000_000,
            wake_stamp: jiffies,
            wake_avg_idle: 1_000_000,
            max_idle_balance_cost: 500_000,
            distribute_prev: CpuId(0),
            rnd_state: RND_STATE,
            timers: TimerQueue::default(),
            hrtick_time: 0,
            hrtick_csd_pending: false,
            stats: RqStats::default(),
        }
    }

    /// Whether the idle task runs.
    #[inline]
    pub fn is_idle_task_running(&self) -> bool {
        self.curr == self.idle
    }

    /// Whether nothing runs and nothing is about to: `idle_cpu()`.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.curr == self.idle && self.nr_running == 0 && !self.ttwu_pending
    }
}

/// Runqueues, in the order of the CPUs.
pub type Rqs = Vec<Rq>;
