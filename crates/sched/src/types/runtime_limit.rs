// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of CPU time whose runtime a throttled task waits for.

use super::ids::GroupId;

/// Limit whose runtime is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuntimeLimit {
    /// Quota of a task group (`cpu.max`).
    Quota(GroupId),
    /// Runtime of all real-time tasks of a CPU (`sched_rt_runtime_us`).
    RealTime,
    /// Runtime of the deadline task itself (`sched_runtime`).
    Deadline,
}
