// SPDX-License-Identifier: GPL-2.0-or-later
//! State of the scheduler: runqueues, tasks, groups, sched domains and more, each with the operations that
//! need nothing else.
//!
//! [`State`] holds them all. Quantities derived from them are computed in [`crate::track`]; decisions are
//! made in the layers above.

pub(crate) mod all;
pub mod callbacks;
pub mod calls;
pub(crate) mod counters;
pub mod cpufreq;
pub mod cpuset;
pub mod deadline;
pub(crate) mod dirty;
pub mod entity;
pub mod fair_tree;
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
