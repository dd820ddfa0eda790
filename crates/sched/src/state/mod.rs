// SPDX-License-Identifier: GPL-2.0-or-later
//! What the scheduler remembers: runqueues, tasks, groups, domains and the rest, each with the verbs that need nothing else.
//!
//! [`State`] holds them all. What follows from them is measured in [`crate::track`] and decided further up.

pub(crate) mod all;
pub mod callbacks;
pub mod calls;
pub(crate) mod counters;
pub mod cpufreq;
pub mod cpuset;
pub mod deadline;
pub(crate) mod dirty;
pub mod entity;
pub mod group;
pub mod hotplug;
pub(crate) mod lb_cache;
pub(crate) mod lock;
pub mod new_task;
pub mod nohz;
pub(crate) mod prio;
pub mod rq;
pub mod rt;
pub(crate) mod sched_info;
pub mod snapshot;
pub mod stop_work;
pub mod task;
pub mod timers;
pub mod topology;
pub mod uclamp;
pub mod warn;

pub use all::{SchedConfig, State};
