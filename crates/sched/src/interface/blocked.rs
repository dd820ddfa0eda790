// SPDX-License-Identifier: GPL-2.0-or-later
//! The record of an update of blocked load.

use crate::interface::wakeup::rules;
use crate::types::ids::CpuId;

rules! {
    /// On whose way `update_blocked_averages()` is called.
    BlockedCaller
    Softirq "A CPU's own balancing softirq."
    NewIdle "A CPU that runs out of work, for itself."
    NohzKick "The walk over tickless CPUs by one that was kicked."
    NohzIdle "The walk over tickless CPUs by one that enters its idle loop (since 5.12)."
    NohzNewIdle "The walk over tickless CPUs by one that runs out of work (before 5.12)."
}

/// One call of `update_blocked_averages()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedUpdate {
    /// Who executed it.
    pub on: CpuId,
    /// Whose averages.
    pub cpu: CpuId,
    /// On whose way.
    pub caller: BlockedCaller,
    /// How many cfs_rqs were visited.
    pub nr_cfs_rqs: u64,
}
