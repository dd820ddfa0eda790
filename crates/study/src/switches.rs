// SPDX-License-Identifier: GPL-2.0-or-later
//! Every switch of the scheduler with its canonical scenario: a small file in which the switch makes a difference.
//!
//! The switches themselves (names, defaults, meanings) are declared in `fairlab-sched`; this table says where each shows. A
//! test runs every scenario with its switch in both positions, and the book's page of switches is generated from here.

use fairlab_sched::features::Feature;
use fairlab_sched::tunables::{TUNABLES, Tunables};
use std::fmt::Write;

/// How a switch is seen to make a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The digest of the run of this scenario, a path under `scenarios/`, differs between the positions.
    Digest(&'static str),
    /// What the scheduler complains of in this run differs: the arguments of `fairlab run`, a path under `scenarios/` first.
    Complaints(&'static [&'static str]),
    /// No run shows it; why.
    NoRun(&'static str),
}

/// A switch and where it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub name: &'static str,
    /// Its default, as it is written.
    pub default: String,
    /// What it does.
    pub meaning: &'static str,
    /// Its two positions, as options of `fairlab run`: an option and its value.
    pub positions: [(&'static str, String); 2],
    /// Where it shows.
    pub shown: Shown,
    /// What is to be seen there.
    pub effect: &'static str,
}

/// Of a feature: name, scenario, what is to be seen.
type FeatureRow = (&'static str, Shown, &'static str);
/// Of a tunable: name, both values, scenario, what is to be seen.
type TunableRow = (&'static str, [i64; 2], Shown, &'static str);

use Shown::{Complaints, Digest, NoRun};

const FEATURES: &[FeatureRow] = &[
    ("GENTLE_FAIR_SLEEPERS", Digest("switches/sleeper.scn"), "how soon the sleeper preempts"),
    ("START_DEBIT", Digest("switches/fork.scn"), "when the new tasks run for the first time"),
    ("NEXT_BUDDY", Digest("switches/buddies.scn"), "who runs after a wake-up that did not preempt"),
    ("LAST_BUDDY", Digest("switches/buddies.scn"), "who runs after a task that preempted"),
    ("CACHE_HOT_BUDDY", Digest("switches/cache-hot-buddy.scn"), "which task a busy CPU pulls"),
    ("WAKEUP_PREEMPTION", Digest("wakeup-preemption.scn"), "the editor's latency"),
    ("HRTICK", Digest("fair-share.scn"), "slices of their exact length instead of whole ticks"),
    ("HRTICK_DL", Digest("deadline.scn"), "budgets that end on time instead of at the next tick"),
    ("DOUBLE_TICK", Digest("switches/double-tick.scn"), "when the heavy task gives way to one that woke"),
    ("NONTASK_CAPACITY", Digest("interrupts.scn"), "whether tasks avoid the CPUs that interrupts use"),
    ("TTWU_QUEUE", Digest("numa.scn"), "call-function interrupts for wake-ups across caches"),
    ("SIS_PROP", Digest("scan-before-6.0.scn"), "how many CPUs a search looks at"),
    ("SIS_UTIL", Digest("scan-limit.scn"), "how many CPUs a search looks at"),
    ("WARN_DOUBLE_CLOCK", NoRun(NO_DOUBLE_CLOCK), ""),
    ("RT_PUSH_IPI", Digest("switches/rt-push.scn"), "interrupts that ask overloaded CPUs to push"),
    ("RT_RUNTIME_SHARE", Digest("switches/rt-share.scn"), "whether the real-time task is throttled"),
    ("LB_MIN", Digest("idle-policy.scn"), "whether tasks of small load are moved"),
    ("ATTACH_AGE_LOAD", Digest("switches/attach-age.scn"), "the frequency after the task has come back"),
    ("WA_IDLE", Digest("numa.scn"), "whether a wake-up goes to the waker's CPU"),
    ("WA_WEIGHT", Digest("numa.scn"), "whether a wake-up goes to the waker's CPU"),
    ("WA_BIAS", Digest("numa.scn"), "whether a wake-up goes to the waker's CPU"),
    ("UTIL_EST", Digest("misfit.scn"), "how early a task counts as too big for its CPU"),
    ("UTIL_EST_FASTUP", Digest("misfit.scn"), "how early a task counts as too big for its CPU"),
    ("LATENCY_WARN", Complaints(LONG_LATENCY), "whether the scheduler complains of a CPU that does not reschedule"),
    ("NI_RANDOM", Digest("newidle.scn"), "which newly-idle CPUs look for work"),
    ("ALT_PERIOD", Digest("switches/alt-period.scn"), "how long the heavy task runs at a time"),
    ("BASE_SLICE", Digest("switches/base-slice.scn"), "how long the light tasks run at a time"),
];

const TUNABLE_ROWS: &[TunableRow] = &[
    ("latency_ns", [6_000_000, 3_000_000], Digest("fair-share.scn"), "how long tasks run at a time"),
    ("min_granularity_ns", [750_000, 6_000_000], Digest("fair-share.scn"), "how long tasks run at a time"),
    ("idle_min_granularity_ns", [750_000, 20_000_000], Digest("switches/idle-slice.scn"), "how long the idle one runs"),
    ("wakeup_granularity_ns", [1_000_000, 20_000_000], Digest("wakeup-preemption.scn"), "the editor's latency"),
    ("child_runs_first", [0, 1], Digest("switches/fork.scn"), "who runs when the children are forked"),
    ("migration_cost_ns", [500_000, 0], Digest("newidle.scn"), "whether a task that ran just now is moved"),
    ("nr_migrate", [32, 1], Digest("newidle.scn"), "how many tasks a pass looks at"),
    ("cfs_bandwidth_slice_us", [5_000, 500], Digest("bandwidth.scn"), "when which CPU is throttled"),
    ("rr_timeslice_ms", [100, 10], Digest("switches/rt-limits.scn"), "how long the two tasks of CPU 1 run at a time"),
    ("rt_period_us", [1_000_000, 500_000], Digest("switches/rt-limits.scn"), "when the fair task gets its CPU"),
    ("rt_runtime_us", [950_000, 400_000], Digest("switches/rt-limits.scn"), "how much the fair task gets"),
    ("latency_warn_ms", [100, 10], Complaints(LONG_LATENCY), "after how long it complains"),
    ("latency_warn_once", [1, 0], Complaints(LONG_LATENCY), "how often it complains"),
    ("energy_aware", [1, 0], Digest("energy.scn"), "on which CPUs tasks are, and so the energy"),
    ("thermal_decay_shift", [0, 4], Digest("thermal.scn"), "how long the pressure lasts after the cap"),
    ("pelt_contribution", [0, 1], Digest("misfit.scn"), "how fast utilisation grows on a small CPU"),
    ("misfit_kick", [0, 1], Digest("misfit.scn"), "calls of `kick_ilb()` with reason `Misfit`"),
    ("llc_kick", [0, 1], Digest("misfit.scn"), "calls of `kick_ilb()` with reason `LlcBusy`"),
    ("kick_next", [0, 1], Digest("nohz-kick.scn"), "calls of `kick_ilb()`"),
    ("ilb_others", [0, 1], Digest("all-pinned.scn"), "when which CPU balances"),
    ("ilb_first", [0, 1], Digest("idle-core.scn"), "who balances for the tickless CPUs"),
    ("kick_stats", [0, 1], Digest("bandwidth.scn"), "calls of `kick_ilb()`"),
    ("redo_max", [-1, 0], Digest("periodic-balance.scn"), "passes that start over"),
    ("redo_emptied", [0, 1], NoRun(NO_EMPTIED), ""),
    ("blocked_limit", [0, 12], Digest("scan-limit.scn"), "calls of `update_blocked_averages()`"),
    ("newidle_blocked", [0, 1], Digest("energy.scn"), "who calls `update_blocked_averages()`"),
    ("scan_cost", [1_000, 0], Digest("scan-before-6.0.scn"), "how many CPUs a search looks at"),
    ("energy_margin", [0, 1], Digest("switches/energy-before-6.0.scn"), "on which CPUs tasks are"),
    ("energy_sum", [0, 1], Digest("switches/energy-before-6.0.scn"), "on which CPUs tasks are"),
    ("energy_mw", [0, 1], Digest("switches/energy-before-6.0.scn"), "on which CPUs tasks are"),
    ("energy_inefficient", [0, 1], NoRun(NO_SKIPPED), ""),
    ("newidle_min_idle", [0, 1], Digest("numa.scn"), "who looks for work"),
    ("wakelist_far", [0, 1], Digest("ping-pong.scn"), "which interrupts a wake-up sends"),
    (
        "small_llc_scan",
        [0, 1],
        Digest("switches/small-llc.scn"),
        "whether a search gives up before it finds an idle CPU",
    ),
];

const NO_DOUBLE_CLOCK: &str = "In none: no path updates a clock twice under one lock, nor did the reference complain in random scenarios. A test runs all scenarios with it.";
/// Where a CPU cannot reschedule for long: the kernel wakes many tasks there, at a price.
const LONG_LATENCY: &[&str] =
    &["switches/latency-warn.json", "--machine", "scenarios/switches/slow-wakeups.toml", "--features", "LATENCY_WARN"];
const NO_EMPTIED: &str = "Only where kernel code takes time can a runqueue lose its tasks before its lock is taken; scenarios are free of prices.";
const NO_SKIPPED: &str = "Frequencies are skipped on machines of machine files only; scenarios use all of theirs.";

/// Sysctls and debugfs files of 6.1's scheduler that are no switches here, and why.
pub const ABSENT: &[(&str, &str)] = &[
    ("tunable_scaling", "Scaling by the logarithm of the number of CPUs (1), the default, is applied to the defaults."),
    ("preempt", "As a kernel that was built with full preemption."),
    ("verbose, debug/*", "They print; `fairlab machine show`, `fairlab explain` and traces do that."),
    ("numa_balancing*, kernel.numa_balancing", "NUMA balancing is not modelled."),
    ("kernel.sched_autogroup_enabled", "Autogroup is not modelled."),
    ("kernel.sched_schedstats", "What it switches on is always counted."),
    ("kernel.sched_deadline_period_max_us, _min_us", "Fixed at their defaults, 4194304 and 100."),
    ("kernel.sched_util_clamp_max, _min, _min_rt_default", "Machine-wide limits of clamps are not modelled."),
];

/// All switches: features in the kernel's order, then tunables. Defaults are those of a machine with `nr_cpus` CPUs.
///
/// # Panics
/// If a switch is not in the tables of this module, or a row is about no switch.
pub fn all(nr_cpus: usize) -> Vec<Switch> {
    let rows = (FEATURES.len(), TUNABLE_ROWS.len());
    assert_eq!(
        rows,
        (Feature::ALL.len(), TUNABLES.len()),
        "the tables in crates/study/src/switches.rs: a row for each switch"
    );
    let tunables = Tunables::for_cpus(nr_cpus);
    let of_feature = |feature: &Feature| {
        let name = feature.name();
        let &(_, shown, effect) = FEATURES.iter().find(|row| row.0 == name).unwrap_or_else(|| no_row(name));
        Switch {
            name,
            default: if feature.is_default() { "on" } else { "off" }.to_owned(),
            meaning: feature.meaning(),
            positions: [("--features", name.to_owned()), ("--features", format!("NO_{name}"))],
            shown,
            effect,
        }
    };
    let of_tunable = |info: &fairlab_sched::tunables::TunableInfo| {
        let name = info.name;
        let row = TUNABLE_ROWS.iter().find(|row| row.0 == name);
        let &(_, values, shown, effect) = row.unwrap_or_else(|| no_row(name));
        Switch {
            name,
            default: info.get(&tunables).to_string(),
            meaning: info.meaning,
            positions: values.map(|value| ("--set", format!("{name}={value}"))),
            shown,
            effect,
        }
    };
    Feature::ALL.iter().map(of_feature).chain(TUNABLES.iter().map(of_tunable)).collect()
}

/// A switch that is in no table.
fn no_row(name: &str) -> ! {
    panic!("crates/study/src/switches.rs has no row for {name}: add it, with a scenario that it changes")
}

/// The tables of the book's page of switches.
pub fn page() -> String {
    /// Tunables are shown with the defaults of a machine of this size, as by `fairlab tunables`.
    const CPUS: usize = 8;
    let switches = all(CPUS);
    let (features, tunables) = switches.split_at(Feature::ALL.len());
    let mut text = "## Features\n\n".to_owned();
    table(&mut text, features);
    text.push_str("\n## Sysctls, debugfs files and published changes\n\n");
    let _ = writeln!(text, "Defaults are those of a machine with {CPUS} CPUs.\n");
    table(&mut text, tunables);
    text.push_str("\n## What is no switch here\n\n| in 6.1 | here |\n|---|---|\n");
    for (name, why) in ABSENT {
        let _ = writeln!(text, "| `{name}` | {why} |");
    }
    text
}

fn table(text: &mut String, switches: &[Switch]) {
    text.push_str("| name | default | what it does | where it shows |\n|---|---|---|---|\n");
    for switch in switches {
        let shown = match switch.shown {
            Digest(scenario) => format!("`{scenario}`: {}", switch.effect),
            Complaints(run) => format!("`{}`: {}", run.join(" "), switch.effect),
            NoRun(why) => why.to_owned(),
        };
        let meaning = switch.meaning.replace('|', "\\|");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} | {meaning} | {shown} |", switch.name, switch.default);
    }
}
