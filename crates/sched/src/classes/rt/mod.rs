// SPDX-License-Identifier: GPL-2.0-or-later
//! The real-time class: SCHED_FIFO and SCHED_RR.
//!
//! Models `rt.c` (6.1) without groups of real-time tasks (RT_GROUP_SCHED): queues by priority ([`enqueue`]), who runs and for how long
//! ([`run`]), the limit of runtime ([`bandwidth`]) and changes of policy ([`change`]). Where a task goes is in [`crate::rules::realtime`],
//! pushing and pulling in [`crate::paths::push_rt`]. Left out are tasks that must not migrate for a while (`migrate_disable()`, and with it
//! `push_cpu_stop()`) and RLIMIT_RTTIME.

pub(crate) mod bandwidth;
pub(crate) mod change;
pub(crate) mod enqueue;
pub(crate) mod hotplug;
pub(crate) mod run;
#[cfg(test)]
mod tests;
