// SPDX-License-Identifier: GPL-2.0-or-later
//! Names that a scenario may use: operations and options of tasks.

/// Operations of a task's program.
pub(crate) const OPERATIONS: &[&str] =
    &["run", "runr", "sleep", "sleepr", "wake", "wakesync", "wait", "yield", "exit", "loop"];

/// Options of a task.
pub(crate) const TASK_OPTIONS: &[&str] = &[
    "n=", "nice=", "cpu=", "start=", "mask=", "group=", "cpuset=", "reclaim", "fifo=", "rr=", "dl=", "batch",
    "idlepol", "fair", "umin=", "umax=",
];
