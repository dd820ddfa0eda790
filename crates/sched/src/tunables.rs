// SPDX-License-Identifier: GPL-2.0-or-later
//! Tunables: the numbers of debugfs `sched/` and of `kernel.sched_*`, and the switches of the published changes.

/// How load tracking accounts for a slower CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeltScaling {
    /// Since 5.1: the clock of load tracking runs slower, contributions are not scaled.
    #[default]
    Time,
    /// Before 5.1: the clock runs at full speed and every contribution is scaled.
    Contribution,
}

/// Numbers that steer the scheduler. Nothing is derived anew when one of them is set, as in the kernel's debugfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunables {
    /// Period in which every runnable task of a CPU should run once, in nanoseconds.
    pub latency_ns: u64,
    /// Lowest slice, in nanoseconds.
    pub min_granularity_ns: u64,
    /// Lowest slice of an idle entity beside normal ones, in nanoseconds.
    pub idle_min_granularity_ns: u64,
    /// How far behind a running task a woken one must be to preempt it, in nanoseconds.
    pub wakeup_granularity_ns: u64,
    /// Number of tasks for which the latency period holds; with more of them it is stretched (`sched_nr_latency`).
    pub nr_latency: u32,
    /// Whether a child runs before its parent after fork.
    pub child_runs_first: bool,
    /// How long a task counts as cache-hot after it ran, in nanoseconds (-1: always, 0: never).
    pub migration_cost_ns: i64,
    /// How many tasks one balancing pass may look at with interrupts off.
    pub nr_migrate: u32,
    /// Slice of quota that a CPU takes from its group's pool, in microseconds.
    pub cfs_bandwidth_slice_us: u64,
    /// Time slice of SCHED_RR, in milliseconds.
    pub rr_timeslice_ms: u64,
    /// Period over which real-time runtime is limited, in microseconds.
    pub rt_period_us: u64,
    /// Real-time runtime in each period, in microseconds; negative: no limit.
    pub rt_runtime_us: i64,
    /// How load tracking accounts for a slower CPU.
    pub pelt_scaling: PeltScaling,
    /// Decay of thermal pressure is slowed by this power of two (`sched_thermal_decay_shift`).
    pub thermal_decay_shift: u32,
    /// The states before or beside the published changes.
    pub changes: PublishedChanges,
}

/// The published changes that fairlab studies, each as a number that at its default leaves 6.1 as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedChanges {
    /// A runqueue with a misfit task asks for idle balancing whether or not a better CPU exists.
    pub misfit_kick: bool,
    /// More than one busy CPU in the cache domain is a reason to ask for idle balancing also where capacities differ.
    pub llc_kick: bool,
    /// A kick moves the next idle balancing on by one jiffy from where it is, and a CPU that becomes tickless does not
    /// bring it up to date (before 5.12).
    pub kick_next: bool,
    /// How often a balancing pass may start over after it found all tasks of the busiest CPU pinned; `None`: no limit.
    pub redo_max: Option<u32>,
    /// Ticks beyond one that must pass before the blocked load of a tickless CPU is updated again.
    pub blocked_limit: u64,
    /// A CPU that runs out of work brings the blocked load of the tickless CPUs up to date itself (before 5.12).
    pub newidle_blocked: bool,
    /// What SIS_PROP measures for each CPU that the idle-CPU scan looked at, in nanoseconds.
    pub scan_cost_ns: u64,
}

impl Default for PublishedChanges {
    fn default() -> Self {
        Self {
            misfit_kick: false,
            llc_kick: false,
            kick_next: false,
            redo_max: None,
            blocked_limit: 0,
            newidle_blocked: false,
            scan_cost_ns: 0,
        }
    }
}

impl Tunables {
    /// The time slice of SCHED_RR in ticks of this length, rounded up.
    pub const fn rr_timeslice_ticks(&self, tick_ns: u64) -> u64 {
        (self.rr_timeslice_ms * 1_000_000).div_ceil(tick_ns)
    }

    /// The defaults of a machine with this many CPUs: latency and granularities grow with 1 + log2 of the CPUs, of
    /// which at most 8 count (`sched_init_granularity()`, `SCHED_TUNABLESCALING_LOG`).
    ///
    /// # Panics
    /// If there is no CPU.
    pub fn for_cpus(nr_cpus: usize) -> Self {
        let factor = u64::from(1 + nr_cpus.min(8).ilog2());
        Self {
            latency_ns: 6_000_000 * factor,
            min_granularity_ns: 750_000 * factor,
            idle_min_granularity_ns: 750_000,
            wakeup_granularity_ns: 1_000_000 * factor,
            nr_latency: 8,
            child_runs_first: false,
            migration_cost_ns: 500_000,
            nr_migrate: 32,
            cfs_bandwidth_slice_us: 5_000,
            rr_timeslice_ms: 100,
            rt_period_us: 1_000_000,
            rt_runtime_us: 950_000,
            pelt_scaling: PeltScaling::Time,
            thermal_decay_shift: 0,
            changes: PublishedChanges::default(),
        }
    }
}
