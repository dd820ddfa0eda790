// SPDX-License-Identifier: GPL-2.0-or-later
//! Names that a scenario may use: statements, sched features and tunables of Linux 6.1, arms.

/// Sched features of Linux 6.1 (`kernel/sched/features.h`).
pub const FEATURES: &[&str] = &[
    "GENTLE_FAIR_SLEEPERS",
    "START_DEBIT",
    "NEXT_BUDDY",
    "LAST_BUDDY",
    "CACHE_HOT_BUDDY",
    "WAKEUP_PREEMPTION",
    "HRTICK",
    "HRTICK_DL",
    "DOUBLE_TICK",
    "NONTASK_CAPACITY",
    "TTWU_QUEUE",
    "SIS_PROP",
    "SIS_UTIL",
    "WARN_DOUBLE_CLOCK",
    "RT_PUSH_IPI",
    "RT_RUNTIME_SHARE",
    "LB_MIN",
    "ATTACH_AGE_LOAD",
    "WA_IDLE",
    "WA_WEIGHT",
    "WA_BIAS",
    "UTIL_EST",
    "UTIL_EST_FASTUP",
    "LATENCY_WARN",
    "NI_RANDOM",
    "ALT_PERIOD",
    "BASE_SLICE",
];

/// Tunables of Linux 6.1's scheduler, named as in `/sys/kernel/debug/sched` and `/proc/sys/kernel`.
pub const TUNABLES: &[&str] = &[
    "latency_ns",
    "min_granularity_ns",
    "idle_min_granularity_ns",
    "wakeup_granularity_ns",
    "child_runs_first",
    "migration_cost_ns",
    "nr_migrate",
    "cfs_bandwidth_slice_us",
];

/// Switches that set published changes of the scheduler back.
pub const ARMS: &[&str] = &[
    "misfit_kick",
    "llc_kick",
    "kick_next",
    "redo_max",
    "blocked_limit",
    "newidle_blocked",
    "pelt_contribution",
    "scan_cost",
];

/// Words with which a statement begins.
pub(crate) const STATEMENTS: &[&str] = &[
    "cpus",
    "topo",
    "smtmap",
    "caps",
    "levels",
    "dist",
    "end",
    "trace",
    "tracepelt",
    "stats",
    "ipi",
    "skew",
    "lbcost",
    "scale",
    "feature",
    "tune",
    "arm",
    "freq",
    "fdom",
    "irq",
    "steal",
    "affinity",
    "nice",
    "policy",
    "clamp",
    "move",
    "shares",
    "quota",
    "offline",
    "online",
    "attach",
    "setcpus",
    "thermal",
    "maxfreq",
    "groupclamp",
    "cpuset",
    "group",
    "task",
];

/// Operations of a task's program.
pub(crate) const OPERATIONS: &[&str] =
    &["run", "runr", "sleep", "sleepr", "wake", "wakesync", "wait", "yield", "exit", "loop"];

/// Options of a task.
pub(crate) const TASK_OPTIONS: &[&str] = &[
    "n=", "nice=", "cpu=", "start=", "mask=", "group=", "cpuset=", "reclaim", "fifo=", "rr=", "dl=", "batch",
    "idlepol", "fair", "umin=", "umax=",
];
