// SPDX-License-Identifier: GPL-2.0-or-later
//! Names that a scenario may use: statements, sched features and tunables of Linux 6.1, arms.

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
