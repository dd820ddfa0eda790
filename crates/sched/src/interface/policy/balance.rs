// SPDX-License-Identifier: GPL-2.0-or-later
//! What a pass of balancing is to pull.

use crate::interface::balance::{BalancedReason, MigrationType};
use crate::types::cpumask::CpuMask;
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;
use crate::types::units::Nanos;
use alloc::string::String;

/// A pass over a domain that has gathered its statistics: what the kernel would do now, and between whom.
#[derive(Clone, Copy, Debug)]
pub struct BalanceRequest<'a> {
    /// The time.
    pub now: Nanos,
    /// The CPU that executes the pass. One that balances for all idle ones has others below; its passes do not nest.
    pub on: CpuId,
    /// For which CPU the pass pulls.
    pub cpu: CpuId,
    /// In which state that CPU is.
    pub idle: CpuIdleType,
    /// Level of the domain: 0 is the narrowest.
    pub level: u32,
    /// The CPUs of the domain that take part.
    pub cpus: &'a CpuMask,
    /// Those of its own group among the domain's: tasks within it are the affair of narrower domains.
    pub local: &'a CpuMask,
    /// What the kernel would pull.
    pub kernel: Result<Proposal<'a>, BalancedReason>,
}

impl BalanceRequest<'_> {
    /// Whether tasks may be pulled from a CPU: it takes part, and is not the one that pulls.
    pub fn may_pull_from(&self, cpu: CpuId) -> bool {
        cpu != self.cpu && cpu.index() < self.cpus.nr_cpus() && self.cpus.contains(cpu)
    }
}

/// What the kernel would pull.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    /// From a CPU of this group, the busiest one.
    pub busiest: &'a CpuMask,
    /// What counts.
    pub migration: MigrationType,
    /// How much of it.
    pub imbalance: i64,
}

/// What a policy answers to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BalanceChoice {
    /// It wants to look at this CPU.
    Look(CpuId),
    /// So many tasks are to be pulled from there, if there are so many that may leave it.
    Pull {
        /// From where.
        from: CpuId,
        /// How many; 0 is [`Self::Nothing`].
        tasks: u32,
    },
    /// The domain counts as balanced.
    Nothing,
    /// The kernel's rules are to decide.
    Kernel,
    /// It cannot go on, for this reason: the run ends.
    Fail(String),
}
