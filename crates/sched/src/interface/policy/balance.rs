// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to a custom policy about load-balancing passes, and its choices.

use crate::interface::balance::{BalancedReason, MigrationType};
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::units::Nanos;
use alloc::string::String;

/// A pass over a domain whose statistics are gathered, with the kernel's proposal.
#[derive(Clone, Copy, Debug)]
pub struct BalanceRequest<'a> {
    /// Simulated time of the pass.
    pub now: Nanos,
    /// CPU that executes the pass. A CPU that balances for all idle ones executes passes for other CPUs; its
    /// passes do not nest.
    pub on: CpuId,
    /// CPU for which the pass pulls.
    pub cpu: CpuId,
    /// Idle type of that CPU.
    pub idle: CpuIdleType,
    /// Level of the domain: 0 is the narrowest.
    pub level: u32,
    /// CPUs of the domain that take part in the pass.
    pub cpus: &'a CpuMask,
    /// CPUs of the local group; narrower domains balance tasks within it.
    pub local: &'a CpuMask,
    /// Proposal of the kernel's rules, or their reason for pulling nothing.
    pub kernel: Result<PullProposal<'a>, BalancedReason>,
}

impl BalanceRequest<'_> {
    /// Whether tasks may be pulled from a CPU: it takes part in the pass and is not the pulling CPU.
    pub fn may_pull_from(&self, cpu: CpuId) -> bool {
        cpu != self.cpu && cpu.index() < self.cpus.nr_cpus() && self.cpus.contains(cpu)
    }
}

/// Pull that the kernel's rules propose.
#[derive(Clone, Copy, Debug)]
pub struct PullProposal<'a> {
    /// CPUs of the busiest group, one of which tasks are pulled from.
    pub busiest: &'a CpuMask,
    /// Quantity to move: load, utilisation, tasks or a misfit task.
    pub migration: MigrationType,
    /// Amount of that quantity.
    pub imbalance: i64,
}

/// Choice of a policy for a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BalanceChoice {
    /// Sample this CPU and ask again.
    Sample(CpuId),
    /// Pull up to this number of tasks, as far as they may migrate.
    Pull {
        /// CPU to pull from.
        from: CpuId,
        /// Number of tasks; 0 equals [`Self::Nothing`].
        tasks: u32,
    },
    /// Treat the domain as balanced.
    Nothing,
    /// Leave the decision to the kernel's rules.
    Kernel,
    /// End the run with this error.
    Fail(String),
}
