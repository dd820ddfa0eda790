// SPDX-License-Identifier: GPL-2.0-or-later
//! The list of tunables. There is no other: scenarios, the command line, named kernels, studies and the book's page of switches
//! follow it.

use super::InitialValue::{Fixed, Scaled};
use super::SetBy::{Arm, Tune};
use super::{Number, PeltScaling, TunableInfo};
use crate::types::features::Demo::{Complaints, Digest, NoRun};
use crate::types::features::{FormerDefault, LONG_LATENCY};
use core::ops::RangeInclusive;

/// The name of a tunable: that of its field unless it has another.
macro_rules! name_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// Declares the tunables once: the field, its name if that is another, its type, the meaning, and the rest of [`TunableInfo`].
macro_rules! tunables {
    (
        numbers { $($field:ident $(as $name:literal)?: $type:ty {
            $meaning:literal, $($key:ident: $value:expr),* $(,)?
        })* }
        changes { $($change:ident $(as $change_name:literal)?: $change_type:ty {
            $change_meaning:literal, $($change_key:ident: $change_value:expr),* $(,)?
        })* }
    ) => {
        /// Numbers that steer the scheduler. Nothing is derived anew when one of them is set, as in the kernel's debugfs.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Tunables {
            $(#[doc = $meaning] pub $field: $type,)*
            /// Number of tasks for which the latency period holds; with more of them it is stretched (`sched_nr_latency`). It has
            /// no name by which it could be set.
            pub nr_latency: u32,
            /// The states before or beside the published changes.
            pub changes: PublishedChanges,
        }

        /// The published changes that fairlab studies, each as a number that at its default leaves 6.1 as it is.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct PublishedChanges {
            $(#[doc = $change_meaning] pub $change: $change_type,)*
        }

        impl Tunables {
            /// What can be set is 0.
            pub(super) fn zero() -> Self {
                Self {
                    $($field: Number::of(0),)*
                    nr_latency: 8,
                    changes: PublishedChanges { $($change: Number::of(0),)* },
                }
            }
        }

        /// All tunables.
        pub const TUNABLES: &[TunableInfo] = &[
            $(TunableInfo {
                name: name_of!($field $($name)?),
                meaning: $meaning,
                $($key: $value,)*
                get: |tunables| tunables.$field.number(),
                set: |tunables, value| tunables.$field = Number::of(value),
            },)*
            $(TunableInfo {
                name: name_of!($change $($change_name)?),
                meaning: $change_meaning,
                $($change_key: $change_value,)*
                get: |tunables| tunables.changes.$change.number(),
                set: |tunables, value| tunables.changes.$change = Number::of(value),
            },)*
        ];
    };
}

const NS: RangeInclusive<i64> = 0..=4_000_000_000;
const SWITCH: RangeInclusive<i64> = 0..=1;
const ARM: RangeInclusive<i64> = 0..=1_000_000;

const NO_EMPTIED: &str = "Only where kernel code takes time can a runqueue lose its tasks before its lock is taken; scenarios are free of prices.";
const NO_SOFTIRQD: &str =
    "Only where kernel code takes time do softirqs go over to a thread; scenarios are free of prices.";
const NO_SKIPPED: &str = "Frequencies are skipped on machines of machine files only; scenarios use all of theirs.";

tunables! {
    numbers {
        latency_ns: u64 {
            "Period in which every runnable task of a CPU should run once.",
            unit: "ns", range: NS, default: Scaled(6_000_000), statement: Some(Tune),
            test_values: [6_000_000, 3_000_000], shown: Digest("fair-share.scn", "how long tasks run at a time"),
            before: &[],
        }
        min_granularity_ns: u64 {
            "Lowest slice.",
            unit: "ns", range: NS, default: Scaled(750_000), statement: Some(Tune),
            test_values: [750_000, 6_000_000], shown: Digest("fair-share.scn", "how long tasks run at a time"),
            before: &[],
        }
        idle_min_granularity_ns: u64 {
            "Lowest slice of an idle entity beside normal ones.",
            unit: "ns", range: NS, default: Fixed(750_000), statement: Some(Tune),
            test_values: [750_000, 20_000_000], shown: Digest("switches/idle-slice.scn", "how long the idle one runs"),
            before: &[],
        }
        wakeup_granularity_ns: u64 {
            "How far behind the running task a woken one must be to preempt it.",
            unit: "ns", range: NS, default: Scaled(1_000_000), statement: Some(Tune),
            test_values: [1_000_000, 20_000_000], shown: Digest("wakeup-preemption.scn", "the editor's latency"),
            before: &[],
        }
        child_runs_first: bool {
            "Whether a child runs before its parent after fork.",
            unit: "0 or 1", range: NS, default: Fixed(0), statement: Some(Tune),
            test_values: [0, 1], shown: Digest("switches/fork.scn", "who runs when the children are forked"),
            before: &[],
        }
        migration_cost_ns: i64 {
            "How long a task counts as cache-hot after it ran (-1: always, 0: never).",
            unit: "ns", range: -1..=4_000_000_000, default: Fixed(500_000), statement: Some(Tune),
            test_values: [500_000, 0], shown: Digest("newidle.scn", "whether a task that ran just now is moved"),
            before: &[],
        }
        nr_migrate: u32 {
            "How many tasks one balancing pass may look at with interrupts off.",
            unit: "tasks", range: 0..=u32::MAX as i64, default: Fixed(32), statement: Some(Tune),
            test_values: [32, 1], shown: Digest("newidle.scn", "how many tasks a pass looks at"),
            before: &[],
        }
        cfs_bandwidth_slice_us: u64 {
            "Slice of quota that a CPU takes from its group's pool.",
            unit: "us", range: NS, default: Fixed(5_000), statement: Some(Tune),
            test_values: [5_000, 500], shown: Digest("bandwidth.scn", "when which CPU is throttled"),
            before: &[],
        }
        rr_timeslice_ms: u64 {
            "Time slice of SCHED_RR.",
            unit: "ms", range: 1..=100_000, default: Fixed(100), statement: None,
            test_values: [100, 10], shown: Digest("switches/rt-limits.scn", "how long the two tasks of CPU 1 run at a time"),
            before: &[],
        }
        rt_period_us: u64 {
            "Period over which real-time runtime is limited.",
            unit: "us", range: 1..=4_000_000_000, default: Fixed(1_000_000), statement: None,
            test_values: [1_000_000, 500_000], shown: Digest("switches/rt-limits.scn", "when the fair task gets its CPU"),
            before: &[],
        }
        rt_runtime_us: i64 {
            "Real-time runtime in each period (-1: no limit).",
            unit: "us", range: -1..=4_000_000_000, default: Fixed(950_000), statement: None,
            test_values: [950_000, 400_000], shown: Digest("switches/rt-limits.scn", "how much the fair task gets"),
            before: &[],
        }
        latency_warn_ms: u64 {
            "With LATENCY_WARN: for how long a CPU may fail to reschedule before it is complained of (0: for ever).",
            unit: "ms", range: 0..=u32::MAX as i64, default: Fixed(100), statement: None,
            test_values: [100, 10], shown: Complaints(LONG_LATENCY, "after how long it complains"),
            before: &[],
        }
        latency_warn_once: bool {
            "With LATENCY_WARN: whether one complaint is enough.",
            unit: "0 or 1", range: SWITCH, default: Fixed(1), statement: None,
            test_values: [1, 0], shown: Complaints(LONG_LATENCY, "how often it complains"),
            before: &[],
        }
        energy_aware: bool {
            "Whether tasks are placed for the sake of energy where the machine's energy model allows that.",
            unit: "0 or 1", range: SWITCH, default: Fixed(1), statement: None,
            test_values: [1, 0], shown: Digest("energy.scn", "on which CPUs tasks are, and so the energy"),
            before: &[(0, FormerDefault::reported((5, 0), "tasks are not placed for the sake of energy"))],
        }
        ksoftirqd_first: bool {
            "While a CPU's ksoftirqd is runnable, softirqs that are raised there wait for it (since 4.9), instead of running at the end of the interrupt (0: as before, and since 6.5).",
            unit: "0 or 1", range: SWITCH, default: Fixed(1), statement: None,
            test_values: [1, 0], shown: NoRun(NO_SOFTIRQD),
            before: &[],
        }
        thermal_decay_shift: u32 {
            "Slows the decay of thermal pressure.",
            unit: "power of two", range: 0..=10, default: Fixed(0), statement: None,
            test_values: [0, 4], shown: Digest("thermal.scn", "how long the pressure lasts after the cap"),
            before: &[],
        }
        pelt_scaling as "pelt_contribution": PeltScaling {
            "As before 5.1: contributions to load tracking are scaled (1) instead of its clock (0).",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], shown: Digest("misfit.scn", "how fast utilisation grows on a small CPU"),
            before: &[(1, FormerDefault::reported((5, 1), "load tracking scales contributions by frequency and capacity, not its clock"))],
        }
    }
    changes {
        misfit_kick: bool {
            "A runqueue with a misfit task asks for idle balancing whether or not a better CPU exists.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], shown: Digest("misfit.scn", "calls of `kick_ilb()` with reason `Misfit`"),
            before: &[(1, FormerDefault::reported((5, 1), "a misfit task asks for idle balancing even if no better CPU exists; a busy cache domain asks for it also where capacities differ"))],
        }
        llc_kick: bool {
            "More than one busy CPU in the cache domain asks for idle balancing also where capacities differ.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], shown: Digest("misfit.scn", "calls of `kick_ilb()` with reason `LlcBusy`"),
            before: &[(1, FormerDefault::with_another((5, 1)))],
        }
        kick_next: bool {
            "As before 5.12: a kick moves the next idle balancing on by one jiffy from where it is.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], shown: Digest("nohz-kick.scn", "calls of `kick_ilb()`"),
            before: &[(1, FormerDefault::reported((5, 12), "a kick moves the next idle balancing on by one jiffy, which otherwise follows those for whom others balance; a CPU that runs out of work updates blocked load of others itself"))],
        }
        ilb_others: u8 {
            "When idle balancing is due next follows the tickless CPUs other than the one that does it: 1 as before 5.12; 2 as before 5.9, when that was written at the very end.",
            unit: "0 to 2", range: 0..=2, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("all-pinned.scn", "when which CPU balances"),
            before: &[
                (2, FormerDefault::with_another((5, 9))),
                (1, FormerDefault::with_another((5, 12))),
            ],
        }
        ilb_first: bool {
            "As before 5.2: only the first tickless CPU is asked to balance, or none if that one is not idle.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("idle-core.scn", "who balances for the tickless CPUs"),
            before: &[(1, FormerDefault::reported((5, 2), "only the first tickless CPU is asked to balance for all, or none if that one is not idle"))],
        }
        kick_stats: bool {
            "As before 5.9: a kick for blocked load alone, too, moves the next idle balancing on.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("bandwidth.scn", "calls of `kick_ilb()`"),
            before: &[(1, FormerDefault::reported((5, 9), "a kick for blocked load alone moves the next idle balancing on, too, and who balances for all tickless CPUs writes at its very end, or when it breaks off, when the next one is due"))],
        }
        redo_max: Option<u32> {
            "How often a balancing pass may start over when all tasks of the busiest CPU are pinned (-1: no limit).",
            unit: "times", range: -1..=1_000_000, default: Fixed(-1), statement: Some(Arm),
            test_values: [-1, 0], shown: Digest("periodic-balance.scn", "passes that start over"),
            before: &[],
        }
        redo_emptied: bool {
            "As before 5.13: a balancing pass also starts over when the busiest CPU has lost its tasks meanwhile.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: NoRun(NO_EMPTIED),
            before: &[(1, FormerDefault::reported((5, 13), "a balancing pass starts over also when the busiest runqueue has lost its tasks meanwhile"))],
        }
        blocked_limit: u64 {
            "Ticks beyond one before the blocked load of a tickless CPU is updated again.",
            unit: "ticks", range: ARM, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 12], shown: Digest("scan-limit.scn", "calls of `update_blocked_averages()`"),
            before: &[],
        }
        newidle_blocked: bool {
            "As before 5.12: a CPU that runs out of work brings tickless CPUs' blocked load up to date itself.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: Some(Arm),
            test_values: [0, 1], shown: Digest("energy.scn", "who calls `update_blocked_averages()`"),
            before: &[(1, FormerDefault::with_another((5, 12)))],
        }
        scan_cost_ns as "scan_cost": u64 {
            "What SIS_PROP measures for each CPU that the idle-CPU scan looked at.",
            unit: "ns", range: ARM, default: Fixed(0), statement: Some(Arm),
            test_values: [1_000, 0], shown: Digest("scan-before-6.0.scn", "how many CPUs a search looks at"),
            before: &[],
        }
        energy_margin: bool {
            "As before 6.0: a task leaves its previous CPU only if that saves more than a sixteenth of the energy.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("switches/energy-before-6.0.scn", "on which CPUs tasks are"),
            before: &[(1, FormerDefault::reported((6, 0), "placement by energy leaves the previous CPU only for a sixteenth of the energy, which is estimated in milliwatts from the sum of the CPUs' utilisations with the task"))],
        }
        energy_sum: bool {
            "As before 6.0: energy with a task is that of the sum of the CPUs' estimates, which is less where much load is blocked.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("switches/energy-before-6.0.scn", "on which CPUs tasks are"),
            before: &[(1, FormerDefault::with_another((6, 0)))],
        }
        energy_mw: bool {
            "As before 6.0: energy is computed in whole milliwatts, so small differences are none.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("switches/energy-before-6.0.scn", "on which CPUs tasks are"),
            before: &[(1, FormerDefault::with_another((6, 0)))],
        }
        energy_inefficient: bool {
            "As before 5.16: frequencies that cost no less than a higher one are used all the same.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: NoRun(NO_SKIPPED),
            before: &[(1, FormerDefault::reported((5, 16), "frequencies that cost no less than a higher one are used; a CPU that expects to idle for less than a migration costs does not look for work"))],
        }
        newidle_min_idle: bool {
            "As before 5.16: a CPU that expects to idle for less than migration_cost_ns does not look for work.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("numa.scn", "who looks for work"),
            before: &[(1, FormerDefault::with_another((5, 16)))],
        }
        wakelist_far: bool {
            "As before 6.0: with TTWU_QUEUE only wake-ups for CPUs of another cache are queued, not those for idle ones.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("ping-pong.scn", "which interrupts a wake-up sends"),
            before: &[(1, FormerDefault::reported((6, 0), "a task that wakes up for an idle CPU of the same cache is enqueued by the waker"))],
        }
        no_misfit: bool {
            "As before 4.20: no task counts as too big for its CPU, so that none is moved to a bigger one for that.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("misfit.scn", "whether the tasks get to the big CPUs"),
            before: &[(1, FormerDefault::reported((4, 20), "no task counts as too big for its CPU"))],
        }
        sched_idle_busy: u8 {
            "A CPU that only runs SCHED_IDLE tasks counts as busy: 1 as before 5.6, when it balances; 2 as before 5.4, when a task wakes up too.",
            unit: "0 to 2", range: 0..=2, default: Fixed(0), statement: None,
            test_values: [0, 2], shown: Digest("idle-policy.scn", "whether tasks wake up beside SCHED_IDLE ones"),
            before: &[
                (2, FormerDefault::reported((5, 4), "a CPU that only runs SCHED_IDLE tasks is not as good as an idle one when a task wakes up")),
                (1, FormerDefault::reported((5, 6), "a CPU that only runs SCHED_IDLE tasks balances as seldom as a busy one; real-time tasks do not look for CPUs as big as their lower clamp")),
            ],
        }
        fork_by_load: bool {
            "As before 5.5: fork and exec look for the group of CPUs with the least load, and exec first for room, instead of classifying groups.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("fork-spread.scn", "where the children start"),
            before: &[(1, FormerDefault::reported((5, 5), "a new task goes to the group of CPUs with the least load, exec first to where there is room, without classes of groups"))],
        }
        rt_any_cpu: bool {
            "As before 5.6: a real-time task goes to any CPU, however small, whatever its lower utilisation clamp says.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("switches/clamped-rt.scn", "on which CPUs the real-time tasks wake up"),
            before: &[(1, FormerDefault::with_another((5, 6)))],
        }
        dl_any_cpu: bool {
            "As before 5.9: deadline tasks are admitted by the number of CPUs, and go to any, whatever their capacities.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("switches/dense-deadlines.scn", "whether dense deadline tasks are on small CPUs"),
            before: &[(1, FormerDefault::reported((5, 9), "deadline tasks are admitted by the number of CPUs and wake up on any, whatever their capacities"))],
        }
        busy_balance_rare: bool {
            "As before 5.10: busy CPUs balance half as often, and at all levels at the same time.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("periodic-balance.scn", "when busy CPUs balance"),
            before: &[(1, FormerDefault::reported((5, 10), "busy CPUs balance half as often, and at all levels at the same time; between caches a group may have 25 percent more than another, not 17; a task is moved if half of its load is within the imbalance, or if that has failed too often"))],
        }
        wide_imbalance: bool {
            "As before 5.10: in domains of several caches a difference of 25 percent is none, not 17.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("numa.scn", "which passes find the nodes balanced"),
            before: &[(1, FormerDefault::with_another((5, 10)))],
        }
        detach_half: bool {
            "As before 5.10: a task may be moved if half of its load is within the imbalance, and any task if that has failed too often.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("periodic-balance.scn", "which tasks a pass moves"),
            before: &[(1, FormerDefault::with_another((5, 10)))],
        }
        small_llc_scan: bool {
            "As proposed in 2022: SIS_UTIL's limit is multiplied by 32 / CPUs in cache domains of at most 16 CPUs.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("switches/small-llc.scn", "whether a search gives up before it finds an idle CPU"),
            before: &[],
        }
        numa_domains_lost: bool {
            "The missing scheduling domains of 2016's wasted cores: domains that are built anew, when a CPU goes offline or comes back, span no more than a node.",
            unit: "0 or 1", range: SWITCH, default: Fixed(0), statement: None,
            test_values: [0, 1], shown: Digest("switches/wasted-domains.scn", "whether the other node takes tasks after the hotplug"),
            before: &[],
        }
    }
}
