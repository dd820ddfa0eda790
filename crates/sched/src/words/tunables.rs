// SPDX-License-Identifier: GPL-2.0-or-later
//! Tunables: the numbers of debugfs `sched/` and of `kernel.sched_*`, and the switches of the published changes.

use alloc::string::String;
use core::fmt;

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
    /// With LATENCY_WARN: for how long a CPU may fail to reschedule before it is complained of, in milliseconds; 0: for ever.
    pub latency_warn_ms: u64,
    /// Whether one complaint is enough.
    pub latency_warn_once: bool,
    /// Whether tasks are placed for the sake of energy where that is possible (`kernel.sched_energy_aware`).
    pub energy_aware: bool,
    /// How load tracking accounts for a slower CPU.
    pub pelt_scaling: PeltScaling,
    /// Decay of thermal pressure is slowed by this power of two (`sched_thermal_decay_shift`).
    pub thermal_decay_shift: u32,
    /// The states before or beside the published changes.
    pub changes: PublishedChanges,
}

/// The published changes that fairlab studies, each as a number that at its default leaves 6.1 as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedChanges {
    /// A runqueue with a misfit task asks for idle balancing whether or not a better CPU exists.
    pub misfit_kick: bool,
    /// More than one busy CPU in the cache domain is a reason to ask for idle balancing also where capacities differ.
    pub llc_kick: bool,
    /// A kick moves the next idle balancing on by one jiffy from where it is, and a CPU that becomes tickless does not
    /// bring it up to date (before 5.12).
    pub kick_next: bool,
    /// 1: a CPU that balances for all tickless ones does so for itself whether or not it is due, and the next idle balancing
    /// follows the other ones; what balances can only bring it forward (before 5.12). 2: and what was noted of the others is the last
    /// word, also when the walk was broken off (before 5.9).
    pub ilb_others: u8,
    /// Only the first tickless CPU is asked to balance; if it is not idle, none is (before 5.2).
    pub ilb_first: bool,
    /// Also a kick for blocked load alone moves the next idle balancing on (before 5.9).
    pub kick_stats: bool,
    /// How often a balancing pass may start over after it found all tasks of the busiest CPU pinned; `None`: no limit.
    pub redo_max: Option<u32>,
    /// A runqueue that lost its tasks before its lock was taken counts as one with pinned tasks: the balancing pass starts
    /// over without it (before 5.13).
    pub redo_emptied: bool,
    /// Ticks beyond one that must pass before the blocked load of a tickless CPU is updated again.
    pub blocked_limit: u64,
    /// A CPU that runs out of work brings the blocked load of the tickless CPUs up to date itself (before 5.12).
    pub newidle_blocked: bool,
    /// What SIS_PROP measures for each CPU that the idle-CPU scan looked at, in nanoseconds.
    pub scan_cost_ns: u64,
    /// A task leaves its previous CPU only if that saves more than a sixteenth of the energy (before 6.0).
    pub energy_margin: bool,
    /// A domain's utilisation with a task is the sum of its CPUs' estimates, each with or without the task (before 6.0).
    pub energy_sum: bool,
    /// Energy is computed in whole milliwatts (before 6.0).
    pub energy_mw: bool,
    /// Frequencies that cost no less than a higher one are used all the same (before 5.16).
    pub energy_inefficient: bool,
    /// A CPU that runs out of work looks for some only if it expects to idle for `migration_cost_ns`, whatever the
    /// narrowest domain costs (before 5.16).
    pub newidle_min_idle: bool,
    /// A wake-up for an idle CPU that shares the cache is not left to that CPU (before 6.0).
    pub wakelist_far: bool,
    /// SIS_UTIL lets searches of cache domains of at most 16 CPUs look at more of them (proposed in 2022, never merged).
    pub small_llc_scan: bool,
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
            latency_warn_ms: 100,
            latency_warn_once: true,
            energy_aware: true,
            pelt_scaling: PeltScaling::Time,
            thermal_decay_shift: 0,
            changes: PublishedChanges::default(),
        }
    }
}

impl Tunables {
    /// Another number of CPUs: what scales with it gets the value that a kernel with so many has (`update_sysctl()`).
    pub(crate) fn scale_for(&mut self, nr_cpus: usize) {
        let scaled = Self::for_cpus(nr_cpus);
        self.latency_ns = scaled.latency_ns;
        self.min_granularity_ns = scaled.min_granularity_ns;
        self.wakeup_granularity_ns = scaled.wakeup_granularity_ns;
    }
}

/// A tunable by name.
#[derive(Clone, Debug)]
pub struct TunableInfo {
    /// Its name: as in debugfs or `/proc/sys/kernel`, without `sched_`; published changes have names of their own.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// The values that it may have.
    pub range: core::ops::RangeInclusive<i64>,
    get: fn(&Tunables) -> i64,
    set: fn(&mut Tunables, i64),
}

impl TunableInfo {
    /// Its value.
    pub fn get(&self, tunables: &Tunables) -> i64 {
        (self.get)(tunables)
    }
}

/// Why a tunable could not be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunableError {
    /// There is none of that name.
    Unknown(String),
    /// The value is out of range.
    OutOfRange(String, i64, core::ops::RangeInclusive<i64>),
}

impl fmt::Display for TunableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                write!(f, "unknown tunable `{name}`; there are ")?;
                for (index, info) in TUNABLES.iter().enumerate() {
                    write!(f, "{}{}", if index > 0 { ", " } else { "" }, info.name)?;
                }
                Ok(())
            }
            Self::OutOfRange(name, value, range) => {
                write!(f, "tunable {name}: {value} is not in {}..{}", range.start(), range.end())
            }
        }
    }
}

impl core::error::Error for TunableError {}

const NS: core::ops::RangeInclusive<i64> = 0..=4_000_000_000;
const SWITCH: core::ops::RangeInclusive<i64> = 0..=1;
const ARM: core::ops::RangeInclusive<i64> = 0..=1_000_000;

/// All tunables.
pub const TUNABLES: &[TunableInfo] = &[
    TunableInfo {
        name: "latency_ns",
        unit: "ns",
        meaning: "Period in which every runnable task of a CPU should run once.",
        range: NS,
        get: |t| t.latency_ns as i64,
        set: |t, v| t.latency_ns = v as u64,
    },
    TunableInfo {
        name: "min_granularity_ns",
        unit: "ns",
        meaning: "Lowest slice.",
        range: NS,
        get: |t| t.min_granularity_ns as i64,
        set: |t, v| t.min_granularity_ns = v as u64,
    },
    TunableInfo {
        name: "idle_min_granularity_ns",
        unit: "ns",
        meaning: "Lowest slice of an idle entity beside normal ones.",
        range: NS,
        get: |t| t.idle_min_granularity_ns as i64,
        set: |t, v| t.idle_min_granularity_ns = v as u64,
    },
    TunableInfo {
        name: "wakeup_granularity_ns",
        unit: "ns",
        meaning: "How far behind the running task a woken one must be to preempt it.",
        range: NS,
        get: |t| t.wakeup_granularity_ns as i64,
        set: |t, v| t.wakeup_granularity_ns = v as u64,
    },
    TunableInfo {
        name: "child_runs_first",
        unit: "0 or 1",
        meaning: "Whether a child runs before its parent after fork.",
        range: NS,
        get: |t| t.child_runs_first as i64,
        set: |t, v| t.child_runs_first = v != 0,
    },
    TunableInfo {
        name: "migration_cost_ns",
        unit: "ns",
        meaning: "How long a task counts as cache-hot after it ran (-1: always, 0: never).",
        range: -1..=4_000_000_000,
        get: |t| t.migration_cost_ns,
        set: |t, v| t.migration_cost_ns = v,
    },
    TunableInfo {
        name: "nr_migrate",
        unit: "tasks",
        meaning: "How many tasks one balancing pass may look at with interrupts off.",
        range: 0..=u32::MAX as i64,
        get: |t| t.nr_migrate as i64,
        set: |t, v| t.nr_migrate = v as u32,
    },
    TunableInfo {
        name: "cfs_bandwidth_slice_us",
        unit: "us",
        meaning: "Slice of quota that a CPU takes from its group's pool.",
        range: NS,
        get: |t| t.cfs_bandwidth_slice_us as i64,
        set: |t, v| t.cfs_bandwidth_slice_us = v as u64,
    },
    TunableInfo {
        name: "rr_timeslice_ms",
        unit: "ms",
        meaning: "Time slice of SCHED_RR.",
        range: 1..=100_000,
        get: |t| t.rr_timeslice_ms as i64,
        set: |t, v| t.rr_timeslice_ms = v as u64,
    },
    TunableInfo {
        name: "rt_period_us",
        unit: "us",
        meaning: "Period over which real-time runtime is limited.",
        range: 1..=4_000_000_000,
        get: |t| t.rt_period_us as i64,
        set: |t, v| t.rt_period_us = v as u64,
    },
    TunableInfo {
        name: "rt_runtime_us",
        unit: "us",
        meaning: "Real-time runtime in each period (-1: no limit).",
        range: -1..=4_000_000_000,
        get: |t| t.rt_runtime_us,
        set: |t, v| t.rt_runtime_us = v,
    },
    TunableInfo {
        name: "latency_warn_ms",
        unit: "ms",
        meaning: "With LATENCY_WARN: for how long a CPU may fail to reschedule before it is complained of (0: for ever).",
        range: 0..=u32::MAX as i64,
        get: |t| t.latency_warn_ms as i64,
        set: |t, v| t.latency_warn_ms = v as u64,
    },
    TunableInfo {
        name: "latency_warn_once",
        unit: "0 or 1",
        meaning: "With LATENCY_WARN: whether one complaint is enough.",
        range: SWITCH,
        get: |t| t.latency_warn_once as i64,
        set: |t, v| t.latency_warn_once = v != 0,
    },
    TunableInfo {
        name: "energy_aware",
        unit: "0 or 1",
        meaning: "Whether tasks are placed for the sake of energy where the machine's energy model allows that.",
        range: SWITCH,
        get: |t| t.energy_aware as i64,
        set: |t, v| t.energy_aware = v != 0,
    },
    TunableInfo {
        name: "thermal_decay_shift",
        unit: "power of two",
        meaning: "Slows the decay of thermal pressure.",
        range: 0..=10,
        get: |t| t.thermal_decay_shift as i64,
        set: |t, v| t.thermal_decay_shift = v as u32,
    },
    TunableInfo {
        name: "pelt_contribution",
        unit: "0 or 1",
        meaning: "As before 5.1: contributions to load tracking are scaled (1) instead of its clock (0).",
        range: SWITCH,
        get: |t| (t.pelt_scaling == PeltScaling::Contribution) as i64,
        set: |t, v| t.pelt_scaling = if v != 0 { PeltScaling::Contribution } else { PeltScaling::Time },
    },
    TunableInfo {
        name: "misfit_kick",
        unit: "0 or 1",
        meaning: "A runqueue with a misfit task asks for idle balancing whether or not a better CPU exists.",
        range: SWITCH,
        get: |t| t.changes.misfit_kick as i64,
        set: |t, v| t.changes.misfit_kick = v != 0,
    },
    TunableInfo {
        name: "llc_kick",
        unit: "0 or 1",
        meaning: "More than one busy CPU in the cache domain asks for idle balancing also where capacities differ.",
        range: SWITCH,
        get: |t| t.changes.llc_kick as i64,
        set: |t, v| t.changes.llc_kick = v != 0,
    },
    TunableInfo {
        name: "kick_next",
        unit: "0 or 1",
        meaning: "As before 5.12: a kick moves the next idle balancing on by one jiffy from where it is.",
        range: SWITCH,
        get: |t| t.changes.kick_next as i64,
        set: |t, v| t.changes.kick_next = v != 0,
    },
    TunableInfo {
        name: "ilb_others",
        unit: "0 to 2",
        meaning: "When idle balancing is due next follows the tickless CPUs other than the one that does it: 1 as before 5.12; 2 as before \
                  5.9, when that was written at the very end.",
        range: 0..=2,
        get: |t| i64::from(t.changes.ilb_others),
        set: |t, v| t.changes.ilb_others = v as u8,
    },
    TunableInfo {
        name: "ilb_first",
        unit: "0 or 1",
        meaning: "As before 5.2: only the first tickless CPU is asked to balance, or none if that one is not idle.",
        range: SWITCH,
        get: |t| t.changes.ilb_first as i64,
        set: |t, v| t.changes.ilb_first = v != 0,
    },
    TunableInfo {
        name: "kick_stats",
        unit: "0 or 1",
        meaning: "As before 5.9: a kick for blocked load alone, too, moves the next idle balancing on.",
        range: SWITCH,
        get: |t| t.changes.kick_stats as i64,
        set: |t, v| t.changes.kick_stats = v != 0,
    },
    TunableInfo {
        name: "redo_max",
        unit: "times",
        meaning: "How often a balancing pass may start over when all tasks of the busiest CPU are pinned (-1: no limit).",
        range: -1..=1_000_000,
        get: |t| t.changes.redo_max.map_or(-1, i64::from),
        set: |t, v| t.changes.redo_max = u32::try_from(v).ok(),
    },
    TunableInfo {
        name: "redo_emptied",
        unit: "0 or 1",
        meaning: "As before 5.13: a balancing pass also starts over when the busiest CPU has lost its tasks meanwhile.",
        range: SWITCH,
        get: |t| t.changes.redo_emptied as i64,
        set: |t, v| t.changes.redo_emptied = v != 0,
    },
    TunableInfo {
        name: "blocked_limit",
        unit: "ticks",
        meaning: "Ticks beyond one before the blocked load of a tickless CPU is updated again.",
        range: ARM,
        get: |t| t.changes.blocked_limit as i64,
        set: |t, v| t.changes.blocked_limit = v as u64,
    },
    TunableInfo {
        name: "newidle_blocked",
        unit: "0 or 1",
        meaning: "As before 5.12: a CPU that runs out of work brings tickless CPUs' blocked load up to date itself.",
        range: SWITCH,
        get: |t| t.changes.newidle_blocked as i64,
        set: |t, v| t.changes.newidle_blocked = v != 0,
    },
    TunableInfo {
        name: "scan_cost",
        unit: "ns",
        meaning: "What SIS_PROP measures for each CPU that the idle-CPU scan looked at.",
        range: ARM,
        get: |t| t.changes.scan_cost_ns as i64,
        set: |t, v| t.changes.scan_cost_ns = v as u64,
    },
    TunableInfo {
        name: "energy_margin",
        unit: "0 or 1",
        meaning: "As before 6.0: a task leaves its previous CPU only if that saves more than a sixteenth of the energy.",
        range: SWITCH,
        get: |t| t.changes.energy_margin as i64,
        set: |t, v| t.changes.energy_margin = v != 0,
    },
    TunableInfo {
        name: "energy_sum",
        unit: "0 or 1",
        meaning: "As before 6.0: energy with a task is that of the sum of the CPUs' estimates, which is less where much load is blocked.",
        range: SWITCH,
        get: |t| t.changes.energy_sum as i64,
        set: |t, v| t.changes.energy_sum = v != 0,
    },
    TunableInfo {
        name: "energy_mw",
        unit: "0 or 1",
        meaning: "As before 6.0: energy is computed in whole milliwatts, so small differences are none.",
        range: SWITCH,
        get: |t| t.changes.energy_mw as i64,
        set: |t, v| t.changes.energy_mw = v != 0,
    },
    TunableInfo {
        name: "energy_inefficient",
        unit: "0 or 1",
        meaning: "As before 5.16: frequencies that cost no less than a higher one are used all the same.",
        range: SWITCH,
        get: |t| t.changes.energy_inefficient as i64,
        set: |t, v| t.changes.energy_inefficient = v != 0,
    },
    TunableInfo {
        name: "newidle_min_idle",
        unit: "0 or 1",
        meaning: "As before 5.16: a CPU that expects to idle for less than migration_cost_ns does not look for work.",
        range: SWITCH,
        get: |t| t.changes.newidle_min_idle as i64,
        set: |t, v| t.changes.newidle_min_idle = v != 0,
    },
    TunableInfo {
        name: "wakelist_far",
        unit: "0 or 1",
        meaning: "As before 6.0: with TTWU_QUEUE only wake-ups for CPUs of another cache are queued, not those for idle ones.",
        range: SWITCH,
        get: |t| t.changes.wakelist_far as i64,
        set: |t, v| t.changes.wakelist_far = v != 0,
    },
    TunableInfo {
        name: "small_llc_scan",
        unit: "0 or 1",
        meaning: "As proposed in 2022: SIS_UTIL's limit is multiplied by 32 / CPUs in cache domains of at most 16 CPUs.",
        range: SWITCH,
        get: |t| t.changes.small_llc_scan as i64,
        set: |t, v| t.changes.small_llc_scan = v != 0,
    },
];

impl Tunables {
    /// Sets a tunable by name.
    ///
    /// # Errors
    /// If there is none of that name, or the value is out of its range.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        let info = TUNABLES.iter().find(|info| info.name == name);
        let info = info.ok_or_else(|| TunableError::Unknown(name.into()))?;
        if !info.range.contains(&value) {
            return Err(TunableError::OutOfRange(name.into(), value, info.range.clone()));
        }
        (info.set)(self, value);
        Ok(())
    }
}
