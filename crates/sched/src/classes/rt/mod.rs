// SPDX-License-Identifier: GPL-2.0-or-later
//! The real-time class: SCHED_FIFO and SCHED_RR.
//!
//! Models `rt.c` (6.1) without groups of real-time tasks (RT_GROUP_SCHED): queues by priority ([`enqueue`]),
//! execution ([`run`]), the runtime limit ([`bandwidth`]) and changes of policy ([`change`]). CPU selection
//! is in [`crate::rules::realtime`], pushing and pulling in [`crate::paths::push_rt`]. Left out: tasks with
//! disabled migration (`migrate_disable()`, and with it `push_cpu_stop()`) and RLIMIT_RTTIME.

pub(crate) mod bandwidth;
pub(crate) mod change;
pub(crate) mod enqueue;
pub(crate) mod hotplug;
pub(crate) mod run;
#[cfg(test)]
mod tests;
