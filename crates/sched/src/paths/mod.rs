// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel paths: the order of steps, their locks, and the points at which simulated time passes.
//!
//! This layer combines the decisions of `rules`, the operations of `classes` and the measurements of `track`.
//! It models the entry points of the scheduler (`schedule()`, `try_to_wake_up()`, `scheduler_tick()`, load
//! balancing, hotplug, changes of attributes) and decides nothing about tasks itself.

pub(crate) mod active;
pub(crate) mod bandwidth;
pub mod boot;
pub(crate) mod callbacks;
pub mod change;
pub mod cpusets;
pub(crate) mod deadline_timers;
pub(crate) mod domains;
pub mod entry;
pub(crate) mod exec;
pub mod fork;
pub mod groups;
pub mod hotplug;
pub mod idle;
pub mod inherit;
pub mod ipi;
pub(crate) mod load_balance;
pub(crate) mod newidle;
pub mod nohz;
pub(crate) mod push_deadline;
pub(crate) mod push_rt;
pub mod queries;
pub(crate) mod quiet_pass;
pub mod resumable;
pub(crate) mod rt_bandwidth;
pub(crate) mod rto;
pub mod sched;
pub mod schedule;
pub mod settings;
pub(crate) mod softirq;
pub mod stopper;
pub mod tick;
pub mod timer;
pub mod wake;
