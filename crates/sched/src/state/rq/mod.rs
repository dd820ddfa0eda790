// SPDX-License-Identifier: GPL-2.0-or-later
//! Runqueues: one for each CPU, with the scheduler's state of the CPU.
//!
//! Models `struct rq` of `sched.h` (6.1) with the counters of schedstat. Fields that idle balancing reads of
//! every CPU are in [`crate::state::nohz`].

pub mod cfs_rq;
pub mod leaf;
pub mod slice_tree;
pub mod task_list;
pub mod timeline;
pub mod virtual_time;

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
use crate::types::arena::Arena;
use crate::types::getters::getters;
use crate::types::ids::{CfsRqId, CpuId, TaskId};
use crate::types::pelt::SchedAvg;
use crate::types::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use alloc::collections::VecDeque;

/// Counters of a CPU that `/proc/schedstat` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqStats {
    /// Number of calls of `sched_yield()`.
    pub yld_count: u32,
    /// Number of calls of `schedule()`.
    pub sched_count: u32,
    /// Number of calls of `schedule()` that left the CPU idle.
    pub sched_goidle: u32,
    /// Wake-ups that this CPU executed.
    pub ttwu_count: u32,
    /// Wake-ups that this CPU executed for a task of its own.
    pub ttwu_local: u32,
    /// Time for which tasks ran, in ns.
    pub rq_cpu_time: u64,
    /// Time for which runnable tasks waited, in ns.
    pub run_delay: u64,
    /// Number of times that a task began to run.
    pub pcount: u64,
}

/// Runqueues of all CPUs.
pub(crate) type Rqs = Arena<CpuId, Rq>;

/// Runqueue of a CPU: the kernel's `struct rq`. Its root cfs_rq is the one with the same number.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Rq {
    pub cpu: CpuId,
    /// Running task, which may be the idle task or the stopper.
    pub curr: TaskId,
    pub idle: TaskId,
    pub stop: TaskId,
    /// Whether the CPU belongs to its root domain, so that the masks and heaps shared by the classes contain
    /// it.
    pub online: bool,
    /// Whether the running task must give way: TIF_NEED_RESCHED.
    pub need_resched: bool,
    /// Number of runnable tasks of all classes.
    pub nr_running: u32,
    /// Number of context switches since boot.
    pub nr_switches: u64,

    /// Time of the last clock update, in ns.
    pub clock: u64,
    /// Clock without interrupt time and steal time, in ns.
    pub clock_task: u64,
    /// Clock of load tracking, in ns, which runs slower on a slower CPU: see [`crate::types::pelt`].
    pub clock_pelt: u64,
    /// Total idle time that a slow CPU spent on catching up, in ns; readers of `clock_pelt` subtract it.
    pub lost_idle_time: u64,
    /// `clock` when the CPU last went idle.
    pub clock_idle: u64,
    /// `clock_pelt` without lost time when the CPU last went idle.
    pub clock_pelt_idle: u64,
    /// Whether the next `schedule()` need not update the clock: RQCF_REQ_SKIP.
    clock_skip_requested: bool,
    /// Whether the running `schedule()` does not update the clock: RQCF_ACT_SKIP.
    clock_skip_active: bool,
    /// State that warnings about this runqueue need.
    pub warn: RqWarn,
    /// Interrupt time of the CPU, in ns.
    pub irq_time: u64,
    /// Part of `irq_time` that the clocks have taken into account, in ns.
    pub prev_irq_time: u64,
    /// Steal time: time that the host has taken from a virtual CPU, in ns.
    pub steal_time: u64,
    /// Part of `steal_time` that the clocks have taken into account or dropped, in ns.
    pub prev_steal_time: u64,

    /// Capacity of the CPU at its highest frequency, of 1024.
    pub cpu_capacity_orig: Capacity,
    /// Capacity that other classes and interrupts leave for the fair class, as of the last update.
    pub cpu_capacity: Capacity,
    /// Frequency of the CPU as a share of 1024 of its highest.
    pub freq_capacity: Capacity,
    /// Thermal pressure: capacity that cooling takes by a frequency limit.
    pub thermal_pressure: Capacity,
    /// Capacity that frequency limits take, those of cooling and of the user (`cpufreq_get_pressure()`, since 6.10).
    pub cpufreq_pressure: Capacity,

    /// PELT average of the real-time class.
    pub avg_rt: SchedAvg,
    /// PELT average of the deadline class.
    pub avg_dl: SchedAvg,
    /// PELT average of interrupt time and steal time.
    pub avg_irq: SchedAvg,
    /// PELT average of thermal pressure.
    pub avg_thermal: SchedAvg,

    /// Utilisation clamps that result from the runnable tasks.
    pub uclamp: RqUclamp,
    pub rt: RtRq,
    pub dl: DlRq,
    /// Balancing work that is deferred until the runqueue is consistent.
    pub callbacks: BalanceCallbacks,
    /// Fair tasks, for load balancing.
    pub cfs_tasks: TaskList,
    /// cfs_rqs with load, children before parents.
    pub leaf_list: LeafList,
    /// Requests of other CPUs that an interrupt delivers, oldest first.
    pub call_queue: VecDeque<CallFunction>,
    /// cfs_rqs whose throttling is to end (6.12): `cfsb_csd_list`.
    pub(crate) unthrottle_queue: VecDeque<CfsRqId>,
    /// Whether a wake-up is in `call_queue`: the kernel's `ttwu_pending`.
    pub ttwu_pending: bool,
    /// Whether the balancing softirq is pending.
    pub sched_softirq: bool,
    /// Thread ksoftirqd of the CPU, once softirqs were deferred to it.
    pub ksoftirqd: Option<TaskId>,
    /// Whether an interrupt of each kind is on its way: reschedule, call-function.
    pub ipi_pending: [bool; 2],
    /// Work for the stopper, oldest first.
    pub stop_works: VecDeque<StopWork>,

    /// Requested kinds of NOHZ balancing on behalf of idle CPUs: `nohz_flags`.
    pub nohz_flags: u32,
    /// Flags on which the pending softirq acts: `nohz_idle_balance`.
    pub nohz_idle_balance: u32,
    /// Whether the CPU was idle when the balancing softirq was raised.
    pub idle_balance: bool,
    /// Whether the CPU is in the mask of tickless idle CPUs.
    pub nohz_tick_stopped: bool,
    /// Whether the idle loop has stopped the tick.
    pub tick_stopped: bool,
    /// Number of times that the idle loop was entered (`tick_nohz_get_idle_calls_cpu()`).
    pub idle_calls: u64,
    /// Load of a task that does not fit this CPU; 0 if there is none.
    pub misfit_task_load: u64,
    /// Whether active balancing is in progress.
    pub active_balance: bool,
    /// CPU to which active balancing pushes a task.
    pub push_cpu: CpuId,
    /// Time at which the CPU went idle, in ns of `clock`; 0 while it does not count as idle.
    pub idle_stamp: u64,
    /// Exit latency of the present idle state; none outside an idle state: `idle_get_state()`.
    pub idle_exit_latency: Option<Nanos>,
    /// Average idle time, in ns.
    pub avg_idle: u64,
    /// Time at which a wake-up last ended an idle period, in jiffies.
    pub wake_stamp: u64,
    /// Average idle time as the search for an idle CPU estimates it (SIS_PROP), in ns.
    pub wake_avg_idle: u64,
    /// Highest cost of newly-idle balancing, in ns.
    pub max_idle_balance_cost: u64,
    /// CPU that an affinity change executed on this CPU chose last (`distribute_cpu_mask_prev`).
    pub distribute_prev: CpuId,
    /// State of the random-number generator for newly-idle balancing.
    pub rnd_state: [u32; 4],

    /// High-resolution timers that this CPU has started.
    pub timers: TimerQueue,
    /// Expiry to which the CPU sets its slice timer on a remote request, in ns: `hrtick_time`.
    pub hrtick_time: u64,
    /// Whether a remote start of the slice timer is in the call-function queue.
    pub hrtick_csd_pending: bool,
    pub stats: RqStats,
}

/// State of the random-number generator after boot: `lib/random32.c` seeded with 0x5a bytes, before
/// newly-idle balancing draws.
const RND_STATE: [u32; 4] = [4_109_893_559, 2_778_306_969, 2_433_964_639, 31_309_831];

/// Entries for which the small queues of a CPU have room from the start. The queues may grow and never
/// shrink.
pub(crate) const QUEUE_CAPACITY: usize = 16;

impl Rq {
    getters!(clock_skip_active: bool);

    /// Creates the runqueue of a CPU that has not run anything yet.
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
            cpufreq_pressure: 0,
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
            call_queue: VecDeque::with_capacity(QUEUE_CAPACITY),
            unthrottle_queue: VecDeque::new(),
            ttwu_pending: false,
            sched_softirq: false,
            ksoftirqd: None,
            ipi_pending: [false; 2],
            stop_works: VecDeque::with_capacity(QUEUE_CAPACITY),
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

    /// Whether the idle task is the running task.
    #[inline]
    pub fn is_idle_task_running(&self) -> bool {
        self.curr == self.idle
    }

    /// Whether the CPU idles and no task is runnable or about to be: `idle_cpu()`.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.curr == self.idle && self.nr_running == 0 && !self.ttwu_pending
    }

    /// Sets the thermal pressure of the CPU: the capacity that frequency capping takes from it, of 1024.
    pub(crate) fn set_thermal_pressure(&mut self, pressure: Capacity) {
        (self.thermal_pressure, self.cpufreq_pressure) = (pressure, pressure);
    }

    /// Requests that the next `schedule()` on this CPU skips the clock update, because the clock was just
    /// updated (`rq_clock_skip_update()`).
    pub(crate) fn skip_clock_update(&mut self) {
        self.clock_skip_requested = true;
    }

    /// Activates the request to skip clock updates, for one `schedule()`.
    pub(crate) fn begin_clock_skip(&mut self) {
        self.clock_skip_active = core::mem::take(&mut self.clock_skip_requested);
    }

    /// Ends the skipping of clock updates with the end of `schedule()`.
    pub(crate) fn end_clock_skip(&mut self) {
        (self.clock_skip_requested, self.clock_skip_active) = (false, false);
    }

    /// Ends the skipping of clock updates with the end of `schedule()`, unless that has happened early. In 6.12 a request that was
    /// made meanwhile is left for the next `schedule()`, which then misses the time until it.
    #[inline]
    pub(crate) fn end_clock_skip_unless(&mut self, has_ended_early: bool) {
        if !has_ended_early {
            self.end_clock_skip();
        }
    }

    /// Withdraws the request to skip the clock update.
    pub(crate) fn cancel_clock_skip(&mut self) {
        self.clock_skip_requested = false;
    }
}
