// SPDX-License-Identifier: GPL-2.0-or-later
//! List of all tunables. Scenarios, the command line, kernel profiles, studies and the book's page of
//! switches are derived from this list.

use super::InitialValue::{Fixed, FixedBySeries, Scaled};
use super::TunableStatement::{Arm, Tune};
use super::{PeltScaling, TunableInfo, TunableValue};
use crate::types::commits;
use crate::types::features::Demo::{BySeries, Complaints, Digest, NoRun};
use crate::types::features::{EEVDF_BALANCE, EEVDF_DEMO, FormerDefault, LONG_LATENCY};
use crate::types::series::KernelSeries;
use core::ops::RangeInclusive;

/// Returns the name of a tunable: that of its field unless it has another one.
macro_rules! name_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// Returns the series that alone has a tunable, if it is declared with one.
macro_rules! only_in {
    () => {
        None
    };
    ($series:ident) => {
        Some(KernelSeries::$series)
    };
}

/// Declares the tunables: field, name if it differs, type, the only series that has it if not both have, meaning, and the
/// rest of [`TunableInfo`].
macro_rules! tunables {
    (
        numbers { $($field:ident $(as $name:literal)?: $type:ty $(, only $series:ident)? {
            $meaning:literal, $($key:ident: $value:expr),* $(,)?
        })* }
        changes { $($change:ident $(as $change_name:literal)?: $change_type:ty {
            $change_meaning:literal, $($change_key:ident: $change_value:expr),* $(,)?
        })* }
    ) => {
        /// Values of all tunables. Setting one recomputes no derived value, as in the kernel's debugfs.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Tunables {
            $(#[doc = $meaning] pub $field: $type,)*
            /// Number of tasks up to which the latency period holds; with more tasks the period grows
            /// (`sched_nr_latency`). It cannot be set by name.
            pub nr_latency: u32,
            /// Switches of published changes.
            pub changes: PublishedChanges,
        }

        /// Published changes that fairlab can reproduce. Each default leaves 6.1 unchanged.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct PublishedChanges {
            $(#[doc = $change_meaning] pub $change: $change_type,)*
        }

        impl Tunables {
            /// Returns a value in which all settable numbers are 0.
            pub(super) fn zero() -> Self {
                Self {
                    $($field: TunableValue::of(0),)*
                    nr_latency: 8,
                    changes: PublishedChanges { $($change: TunableValue::of(0),)* },
                }
            }
        }

        /// Descriptions of all tunables.
        pub const TUNABLES: &[TunableInfo] = &[
            $(TunableInfo {
                name: name_of!($field $($name)?),
                meaning: $meaning,
                only_in: only_in!($($series)?),
                $($key: $value,)*
                get: |tunables| tunables.$field.number(),
                set: |tunables, value| tunables.$field = TunableValue::of(value),
            },)*
            $(TunableInfo {
                name: name_of!($change $($change_name)?),
                meaning: $change_meaning,
                only_in: Some(KernelSeries::V6_1),
                $($change_key: $change_value,)*
                get: |tunables| tunables.changes.$change.number(),
                set: |tunables, value| tunables.changes.$change = TunableValue::of(value),
            },)*
        ];
    };
}

const NS: RangeInclusive<i64> = 0..=4_000_000_000;
const SWITCH: RangeInclusive<i64> = 0..=1;
const ARM: RangeInclusive<i64> = 0..=1_000_000;

const DEADLINE_LIMITS: &str = "switches/deadline-limits.scn";

const NO_EMPTIED: &str = "A runqueue can lose its tasks before its lock is taken only if kernel code takes time; in scenarios it takes none.";
const NO_SOFTIRQD: &str = "Softirqs are left to ksoftirqd only if kernel code takes time; in scenarios it takes none.";
const NO_SKIPPED: &str =
    "Frequencies are skipped only on machines from machine files; scenarios use all of their frequencies.";

tunables! {
    numbers {
        latency_ns: u64, only V6_1 {
            "Period in which every runnable task of a CPU should run once.",
            unit: "ns", range: NS, default: Scaled(6_000_000), statement: Some(Tune),
            test_values: [6_000_000, 3_000_000], demo: Digest("fair-share.scn", "how long tasks run at a time"),
            former_values: &[],
        }
        min_granularity_ns: u64, only V6_1 {
            "Lowest slice.",
            unit: "ns", range: NS, default: Scaled(750_000), statement: Some(Tune),
            test_values: [750_000, 6_000_000], demo: Digest("fair-share.scn", "how long tasks run at a time"),
            former_values: &[],
        }
        idle_min_granularity_ns: u64, only V6_1 {
            "Lowest slice of an idle entity beside normal ones.",
            unit: "ns", range: NS, default: Fixed(750_000), statement: Some(Tune),
            test_values: [750_000, 20_000_000], demo: Digest("switches/idle-slice.scn", "how long the SCHED_IDLE task runs"),
            former_values: &[],
        }
        base_slice_ns: u64, only V6_12 {
            "Slice of a task without one of its own.",
            unit: "ns", range: NS, default: Scaled(700_000), statement: Some(Tune),
            test_values: [700_000, 20_000_000], demo: Digest(EEVDF_DEMO, "how long tasks run at a time"),
            former_values: &[],
        }
        wakeup_granularity_ns: u64, only V6_1 {
            "How far behind the running task a woken one must be to preempt it.",
            unit: "ns", range: NS, default: Scaled(1_000_000), statement: Some(Tune),
            test_values: [1_000_000, 20_000_000], demo: Digest("wakeup-preemption.scn", "the editor's latency"),
            former_values: &[],
        }
        child_runs_first: bool, only V6_1 {
            "Whether a child runs before its parent after fork.",
            unit: "0 or 1", range: NS, default: Fixed(0), statement: Some(Tune),
            test_values: [0, 1], demo: Digest("switches/fork.scn", "which task runs when the children are forked"),
            former_values: &[],
        }
        migration_cost_ns: i64 {
            "How long a task counts as cache-hot after it ran (-1: always, 0: never).",
            unit: "ns", range: -1..=4_000_000_000, default: Fixed(500_000), statement: Some(Tune),
            test_values: [500_000, 0], demo: Digest("newidle.scn", "whether a task that ran just now is moved"),
            former_values: &[],
        }
        nr_migrate: u32 {
            "Maximum number of tasks that a balancing pass examines with interrupts off.",
            unit: "tasks", range: 0..=u32::MAX as i64, default: Fixed(32), statement: Some(Tune),
            test_values: [32, 1],
            demo: BySeries(
                &Digest("newidle.scn", "how many tasks a pass examines"),
                &Digest(EEVDF_BALANCE, "how many tasks a pass examines"),
            ),
            former_values: &[],
        }
        cfs_bandwidth_slice_us: u64 {
            "Slice of quota that a CPU takes from its group's pool.",
            unit: "us", range: 1..=i32::MAX as i64, default: Fixed(5_000), statement: Some(Tune),
            test_values: [5_000, 500], demo: Digest("bandwidth.scn", "when which CPU is throttled"),
            former_values: &[],
        }
        rr_timeslice_ms: u64 {
            "Time slice of SCHED_RR.",
            unit: "ms", range: 1..=100_000, default: Fixed(100), statement: None,
            test_values: [100, 10], demo: Digest("switches/rt-limits.scn", "how long the two tasks of CPU 1 run at a time"),
            former_values: &[],
        }
        rt_period_us: u64 {
            "Period over which the runtime of real-time tasks (6.1) and of deadline tasks is limited.",
            unit: "us", range: 1..=4_000_000_000, default: Fixed(1_000_000), statement: None,
            test_values: [1_000_000, 2_000_000],
            demo: BySeries(
                &Digest("switches/rt-limits.scn", "when the fair task gets its CPU"),
                &Digest(DEADLINE_LIMITS, "how much the deadline task reclaims"),
            ),
            former_values: &[],
        }
        rt_runtime_us: i64 {
            "Runtime of real-time tasks (6.1) and of deadline tasks in each period (-1: no limit).",
            unit: "us", range: -1..=4_000_000_000, default: Fixed(950_000), statement: None,
            test_values: [950_000, 400_000],
            demo: BySeries(
                &Digest("switches/rt-limits.scn", "how much the fair task gets"),
                &Digest(DEADLINE_LIMITS, "how much the deadline task reclaims"),
            ),
            former_values: &[],
        }
        latency_warn_ms: u64 {
            "With LATENCY_WARN: time without rescheduling after which the scheduler warns (0: never).",
            unit: "ms", range: 0..=u32::MAX as i64, default: Fixed(100), statement: None,
            test_values: [100, 10], demo: Complaints(LONG_LATENCY, "after which time the scheduler warns"),
            former_values: &[],
        }
        latency_warn_once: bool {
            "With LATENCY_WARN: whether the scheduler warns only once.",
            unit: "0 or 1", range: SWITCH, default: Fixed(1), statement: None,
            test_values: [1, 0], demo: Complaints(LONG_LATENCY, "how often the scheduler warns"),
            former_values: &[],
        }
        energy_aware: bool {
            "Energy-aware scheduling (EAS), where the machine's energy model allows it.",
            unit: "0 or 1", range: SWITCH, default: Fixed(1), statement: None,
            test_values: [1, 0], demo: Digest("energy.scn", "on which CPUs tasks are, and so the energy"),
            former_values: &[(0, FormerDefault::new(commits::ENERGY_AWARE, "there is no energy-aware scheduling"))],
        }
        ksoftirqd_first: bool, only V6_1 {
            "While a CPU's ksoftirqd is runnable, softirqs that are raised there wait for it (since 4.9), instead of running at the end of the interrupt (0: as before, and since 6.5).",
            unit: "0 or 1", range: SWITCH, default: FixedBySeries(1, 0), statement: None,
            test_values: [1, 0], demo: NoRun(NO_SOFTIRQD),
            former_values: &[],
        }
        thermal_decay_shift: u32, only V6_1 {
            "Slows the decay of thermal pressure.",
            unit: "power of two", range: 0..=10, default: Fixed(0), statement: None,
            test_values: [0, 4], demo: Digest("thermal.scn", "how long the pressure lasts after the cap"),
            former_values: &[],
        }
        pelt_scaling as "pelt_contribution": PeltScaling, only V6_1 {
            "As before 5.1: contributions to load tracking are scaled (1) instead of its clock (0).",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], demo: Digest("misfit.scn", "how fast utilisation grows on a small CPU"),
            former_values: &[(1, FormerDefault::new(commits::PELT_TIME_SCALING, "load tracking scales contributions by frequency and capacity, not its clock"))],
        }
    }
    changes {
        misfit_kick: bool {
            "A runqueue with a misfit task kicks idle balancing even if no better CPU exists.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], demo: Digest("misfit.scn", "calls of `kick_ilb()` with reason `Misfit`"),
            former_values: &[(1, FormerDefault::new(commits::NOHZ_KICKS, "a misfit task kicks idle balancing even if no better CPU exists; so does a busy cache domain where capacities differ"))],
        }
        llc_kick: bool {
            "More than one busy CPU in the cache domain kicks idle balancing also where capacities differ.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], demo: Digest("misfit.scn", "calls of `kick_ilb()` with reason `LlcBusy`"),
            former_values: &[(1, FormerDefault::without_description(commits::NOHZ_KICKS))],
        }
        kick_next: bool {
            "As before 5.9: a kick delays the next idle balancing by one jiffy relative to its due time; and `next_kick_off`.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], demo: Digest("nohz-kick.scn", "calls of `kick_ilb()`"),
            former_values: &[(1, FormerDefault::without_description(commits::NEXT_IDLE_BALANCE))],
        }
        next_kick_off: bool {
            "As before 5.16: a CPU that stops its tick requests no update of the next idle balancing's due time.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("nohz-kick.scn", "calls of `kick_ilb()`"),
            former_values: &[(1, FormerDefault::new(commits::NEXT_BALANCE_UPDATE, "a CPU that stops its tick requests no update of the next idle balancing's due time"))],
        }
        ilb_others: u8 {
            "The due time of idle balancing follows the tickless CPUs except the one that balances: 1 as before 5.13; 2 as before 5.9, when the time was written at the very end.",
            unit: "0 to 2", range: 0..=2, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("all-pinned.scn", "when which CPU balances"),
            former_values: &[
                (2, FormerDefault::without_description(commits::NEXT_IDLE_BALANCE)),
                (1, FormerDefault::new(commits::IDLE_CPU_LOOP, "the due time of idle balancing follows the tickless CPUs except the one that balances; a CPU that runs out of work updates the blocked load of others itself")),
            ],
        }
        ilb_first: bool {
            "As before 5.2: only the first tickless CPU is kicked to balance, or none if that CPU is not idle.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("idle-core.scn", "which CPU balances for the tickless CPUs"),
            former_values: &[(1, FormerDefault::new(commits::IDLE_BALANCER, "only the first tickless CPU is kicked to balance for all, or none if that CPU is not idle"))],
        }
        kick_stats: bool {
            "As before 5.9: a kick for blocked load alone also delays the next idle balancing.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("bandwidth.scn", "calls of `kick_ilb()`"),
            former_values: &[(1, FormerDefault::new(commits::NEXT_IDLE_BALANCE, "a kick, also one for blocked load alone, delays the next idle balancing by one jiffy; the CPU that balances for all tickless CPUs writes the next due time at the very end or when it aborts"))],
        }
        redo_max: Option<u32> {
            "Maximum number of restarts of a balancing pass because all tasks of the busiest CPU are pinned (-1: no limit).",
            unit: "times", range: -1..=1_000_000, default: Fixed(-1), statement: Some(Arm),
            test_values: [-1, 0], demo: Digest("periodic-balance.scn", "passes that start over"),
            former_values: &[],
        }
        redo_emptied: bool {
            "As before 5.13: a balancing pass also starts over when the busiest CPU has lost its tasks meanwhile.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: NoRun(NO_EMPTIED),
            former_values: &[(1, FormerDefault::new(commits::EMPTIED_RUNQUEUE, "a balancing pass starts over also when the busiest runqueue has lost its tasks meanwhile"))],
        }
        group_load_interval_ns: u64 {
            "Minimum time between two updates of a group's load (`tg->load_avg`) by one CPU; 1000000 as since 6.7.",
            unit: "ns", range: ARM, default: FixedBySeries(0, 1_000_000), statement: None,
            test_values: [0, 1_000_000], demo: Digest("switches/group-load.scn", "the weights of the entities of a group whose tasks sleep often"),
            former_values: &[],
        }
        blocked_limit: u64 {
            "Ticks beyond one before the blocked load of a tickless CPU is updated again.",
            unit: "ticks", range: ARM, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 12], demo: Digest("scan-limit.scn", "calls of `update_blocked_averages()`"),
            former_values: &[],
        }
        newidle_blocked: bool {
            "As before 5.13: a CPU that runs out of work updates the blocked load of tickless CPUs itself.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], demo: Digest("energy.scn", "which CPU calls `update_blocked_averages()`"),
            former_values: &[(1, FormerDefault::without_description(commits::NEWIDLE_BLOCKED))],
        }
        scan_cost_ns as "scan_cost": u64 {
            "Cost that SIS_PROP measures for each CPU of an idle-CPU scan.",
            unit: "ns", range: ARM, default: Fixed(0), statement: Some(Arm),
            test_values: [1_000, 0], demo: Digest("scan-before-6.0.scn", "how many CPUs a search scans"),
            former_values: &[],
        }
        energy_margin: bool {
            "As before 6.0: a task leaves its previous CPU only if that saves more than a sixteenth of the energy.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("switches/energy-before-6.0.scn", "on which CPUs tasks are"),
            former_values: &[(1, FormerDefault::new(commits::ENERGY_MARGIN, "energy-aware scheduling leaves the previous CPU only for a sixteenth of the energy, which is estimated in milliwatts from the sum of the CPUs' utilisations with the task"))],
        }
        energy_sum: bool {
            "As before 6.0: energy with a task is that of the sum of the CPUs' estimates, which is less where much load is blocked.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("switches/energy-before-6.0.scn", "on which CPUs tasks are"),
            former_values: &[(1, FormerDefault::without_description(commits::ENERGY_SUM))],
        }
        energy_mw: bool {
            "As before 6.0: energy is computed in whole milliwatts, so small differences are none.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("switches/energy-before-6.0.scn", "on which CPUs tasks are"),
            former_values: &[(1, FormerDefault::without_description(commits::ENERGY_MICROWATTS))],
        }
        energy_inefficient: bool {
            "As before 5.16: frequencies that cost no less than a higher one are used nevertheless.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: NoRun(NO_SKIPPED),
            former_values: &[(1, FormerDefault::new(commits::INEFFICIENT_STATES, "frequencies that cost no less than a higher one are used; a CPU whose expected idle time is below the migration cost does not balance"))],
        }
        newidle_min_idle: bool {
            "As before 5.16: a CPU whose expected idle time is below migration_cost_ns does not do newly-idle balancing.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("numa.scn", "which newly-idle CPUs balance"),
            former_values: &[(1, FormerDefault::without_description(commits::NEWIDLE_MIGRATION_COST))],
        }
        wakelist_far: bool {
            "As before 6.0: with TTWU_QUEUE only wake-ups for CPUs of another cache are queued, not those for idle ones.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("ping-pong.scn", "which interrupts a wake-up sends"),
            former_values: &[(1, FormerDefault::new(commits::WAKELIST, "a task that wakes up for an idle CPU of the same cache is enqueued by the waker"))],
        }
        no_misfit: bool {
            "As before 4.20: no task counts as too big for its CPU, so none is moved to a bigger CPU for that reason.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("misfit.scn", "whether the tasks get to the big CPUs"),
            former_values: &[(1, FormerDefault::new(commits::MISFIT_TASK, "no task counts as too big for its CPU"))],
        }
        sched_idle_busy: u8 {
            "A CPU that only runs SCHED_IDLE tasks counts as busy: 1 as before 5.6, when it balances; 2 as before 5.4, when a task wakes up too.",
            unit: "0 to 2", range: 0..=2, default: Fixed(0), statement: None,
            test_values: [0, 2], demo: Digest("idle-policy.scn", "whether tasks wake up beside SCHED_IDLE ones"),
            former_values: &[
                (2, FormerDefault::new(commits::SCHED_IDLE_WAKEUP, "a CPU that only runs SCHED_IDLE tasks does not count as idle when a task wakes up")),
                (1, FormerDefault::new(commits::SCHED_IDLE_BALANCE, "a CPU that only runs SCHED_IDLE tasks balances as rarely as a busy one; real-time tasks are placed regardless of their uclamp minimum")),
            ],
        }
        fork_by_load: bool {
            "As before 5.5: fork and exec choose the group of CPUs with the least load, and exec first one with spare capacity, instead of classifying groups.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("fork-spread.scn", "where the children start"),
            former_values: &[(1, FormerDefault::new(commits::IDLEST_GROUP, "a new task goes to the group of CPUs with the least load, exec first to one with spare capacity; groups are not classified"))],
        }
        rt_any_cpu: bool {
            "As before 5.6: a real-time task goes to any CPU, even if its capacity is below the task's uclamp minimum.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("switches/clamped-rt.scn", "on which CPUs the real-time tasks wake up"),
            former_values: &[(1, FormerDefault::without_description(commits::RT_CAPACITY))],
        }
        dl_any_cpu: bool {
            "As before 5.9: deadline tasks are admitted by the number of CPUs and go to any CPU, regardless of capacities.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("switches/dense-deadlines.scn", "whether dense deadline tasks are on small CPUs"),
            former_values: &[(1, FormerDefault::new(commits::DL_ADMISSION, "deadline tasks are admitted by the number of CPUs and wake up on any CPU, regardless of capacities"))],
        }
        busy_balance_rare: bool {
            "As before 5.10: busy CPUs balance half as often, and at all levels at the same time.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("periodic-balance.scn", "when busy CPUs balance"),
            former_values: &[(1, FormerDefault::new(commits::BUSY_INTERVAL, "busy CPUs balance half as often, and at all levels at the same time; between caches an imbalance of 25 percent is tolerated, instead of 17; a task is moved if half of its load is within the imbalance, or after too many failures"))],
        }
        wide_imbalance: bool {
            "As before 5.10: domains of several caches tolerate an imbalance of 25 percent instead of 17.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("numa.scn", "which passes find the nodes balanced"),
            former_values: &[(1, FormerDefault::without_description(commits::IMBALANCE_THRESHOLD))],
        }
        detach_half: bool {
            "As before 5.10: a task may be moved if half of its load is within the imbalance, and any task after too many failures.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("periodic-balance.scn", "which tasks a pass moves"),
            former_values: &[(1, FormerDefault::without_description(commits::DETACH_LOAD))],
        }
        small_llc_scan: bool {
            "As proposed in 2022: SIS_UTIL's limit is multiplied by 32 / CPUs in cache domains of at most 16 CPUs.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("switches/small-llc.scn", "whether a search ends before it finds an idle CPU"),
            former_values: &[],
        }
        numa_domains_lost: bool {
            "The missing scheduling domains of the 2016 paper on wasted cores: domains that are rebuilt after CPU hotplug span at most one node.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], demo: Digest("switches/wasted-domains.scn", "whether the other node takes tasks after the hotplug"),
            former_values: &[],
        }
    }
}
