// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants that hold between any two calls of a handler.
//!
//! Each sum, count, flag and order that the scheduler keeps is recomputed from its source and compared. This
//! takes time in proportion to the number of tasks and cfs_rqs, so normal runs leave it out; tests and swarms
//! call it.
//!
//! - [`fair`]: cfs_rqs and their entities
//! - [`cpus`]: runqueues and tasks
//! - [`groups`]: task groups and the lists of cfs_rqs with load
//! - [`idle`]: tickless and busy CPUs, call queues and pending wake-ups
//! - [`realtime`], [`deadline`]: queues and counts of these classes
//! - [`lb_cache`]: cached load-balance statistics

pub(crate) mod cpus;
pub(crate) mod deadline;
pub(crate) mod fair;
pub(crate) mod groups;
pub(crate) mod idle;
pub(crate) mod lb_cache;
pub(crate) mod realtime;
#[cfg(test)]
mod tests;

use crate::paths::sched::Sched;
use crate::state::entity::vruntime_before;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Violation of an invariant, as a message with place and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvariantError(pub(crate) String);

impl fmt::Display for InvariantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for InvariantError {}

/// Result of checking one kind of invariant.
pub(crate) type CheckResult = Result<(), InvariantError>;

/// Returns an [`InvariantError`] with a message unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::check::InvariantError(alloc::format!($($message)+)));
        }
    };
}

pub(crate) use ensure;

/// Checker for repeated use. It remembers values that may not decrease, and reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct InvariantChecker {
    /// `min_vruntime` of each cfs_rq at the last check.
    min_vruntimes: Vec<u64>,
    entities: Vec<fair::FairRecount>,
    tasks: Vec<cpus::CpuRecount>,
    /// Highest number of shares that each group has had so far.
    max_shares: Vec<u64>,
}

impl InvariantChecker {
    /// Checks all invariants, and that virtual time has not gone back since the last check.
    ///
    /// # Errors
    /// If an invariant does not hold: which one, where, and with which values.
    pub fn check(&mut self, sched: &Sched) -> Result<(), InvariantError> {
        fair::check(sched, &mut self.entities)?;
        cpus::check(sched, &mut self.tasks)?;
        groups::check(sched, &mut self.max_shares)?;
        idle::check(sched)?;
        realtime::check(sched)?;
        deadline::check(sched)?;
        lb_cache::check(sched)?;
        self.check_virtual_time(sched)
    }

    fn check_virtual_time(&mut self, sched: &Sched) -> CheckResult {
        for (index, (cfs_rq, &before)) in sched.fair.cfs_rqs.iter().zip(&self.min_vruntimes).enumerate() {
            let now = cfs_rq.min_vruntime;
            let (cpu, group) = (cfs_rq.cpu.0, cfs_rq.group.0);
            ensure!(
                !vruntime_before(now, before),
                "min_vruntime of cfs_rq {index} (CPU {cpu}, group {group}) went back from {before} to {now}"
            );
        }
        self.min_vruntimes.clear();
        self.min_vruntimes.extend(sched.fair.cfs_rqs.iter().map(|cfs_rq| cfs_rq.min_vruntime));
        Ok(())
    }
}

impl Sched {
    /// Checks all invariants that hold between two calls of a handler.
    ///
    /// # Errors
    /// If an invariant does not hold: which one, where, and with which values.
    pub fn check_invariants(&self) -> Result<(), InvariantError> {
        InvariantChecker::default().check(self)
    }
}
