// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that pass the interface between fairlab and an object.

use fairlab_sched::task::Policy;

/// Policy of a task, and what its attributes add to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskPolicy {
    pub(crate) policy: Policy,
    /// Whether the task reclaims the bandwidth that other deadline tasks leave (`SCHED_FLAG_RECLAIM`).
    pub(crate) reclaims: bool,
    /// Whether the task is the thread of a governor (`SCHED_FLAG_SUGOV`).
    pub(crate) is_governor: bool,
}

/// Load-balancing state of a sched domain, under the kernel's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct SchedDomainState {
    /// Name of the domain; empty without `SCHED_DEBUG`.
    pub name: String,
    /// Level in the topology, from 0.
    pub level: u32,
    /// Balancing passes since the last one that moved something.
    pub nr_balance_failed: u32,
    /// Number of failed passes after which cache-hot tasks are moved as well.
    pub cache_nice_tries: u32,
    /// Imbalance from which the domain is balanced, in percent.
    pub imbalance_pct: u32,
    /// Time between two balancing passes, in milliseconds.
    pub balance_interval: u32,
}

/// Interrupt that the machine delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineIrq {
    /// Reschedule interrupt of another CPU.
    Reschedule,
    /// Interrupt for the call function queue.
    Call,
    /// Expiry of the CPU's timer.
    Timer,
}
