// SPDX-License-Identifier: GPL-2.0-or-later
//! Record of an update of blocked load.

use crate::interface::wakeup::rules;
use crate::types::ids::CpuId;

rules! {
    /// Path that called `update_blocked_averages()`.
    BlockedCaller
    Softirq "A CPU's own balancing softirq."
    NewIdle "A CPU that runs out of work, for itself."
    NohzKick "A kicked CPU, for all tickless CPUs."
    NohzIdle "A CPU that enters its idle loop, for all tickless CPUs (since 5.13)."
    NohzNewIdle "A CPU that runs out of work, for all tickless CPUs (before 5.13)."
}

/// One call of `update_blocked_averages()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedUpdate {
    /// CPU that executed the update.
    pub on: CpuId,
    /// CPU whose averages were updated.
    pub cpu: CpuId,
    /// Path that called the update.
    pub caller: BlockedCaller,
    /// Number of cfs_rqs that were visited.
    pub nr_cfs_rqs: u64,
}
