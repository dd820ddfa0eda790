// SPDX-License-Identifier: GPL-2.0-or-later
//! What must hold between any two calls of a handler.
//!
//! Everything that the scheduler keeps as a sum, a count, a flag or an order is computed anew from what it is a sum, a count,
//! a flag or an order of, and compared. That takes time in proportion to the number of tasks and cfs_rqs, so it is no part of
//! a normal run: tests and swarms ask for it. [`fair`] looks at cfs_rqs and their entities, [`cpus`] at runqueues and tasks,
//! [`groups`] at task groups and their lists, [`idle`] at who is idle and who has been asked for something; the real-time and
//! deadline classes look after their own, [`tallies`] at sums over CPUs.

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

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenInvariant(pub(crate) String);

impl fmt::Display for BrokenInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for BrokenInvariant {}

/// The result of looking at one kind of invariants.
pub(crate) type Checked = Result<(), BrokenInvariant>;

/// Fails with a message unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::check::BrokenInvariant(alloc::format!($($message)+)));
        }
    };
}
pub(crate) use ensure;

/// Checks a scheduler again and again. It remembers what may not go back, and its memory is used again.
#[derive(Clone, Debug, Default)]
pub struct InvariantChecker {
    /// `min_vruntime` of each cfs_rq at the last look.
    min_vruntimes: Vec<u64>,
    entities: Vec<fair::FairRecount>,
    tasks: Vec<cpus::CpuRecount>,
    /// The most shares that each group has had.
    most_shares: Vec<u64>,
}

impl InvariantChecker {
    /// Checks everything, and that virtual time has not gone back since the last look.
    ///
    /// # Errors
    /// If an invariant does not hold: which, where, and with what values.
    pub fn check(&mut self, sched: &Sched) -> Result<(), BrokenInvariant> {
        fair::check(sched, &mut self.entities)?;
        cpus::check(sched, &mut self.tasks)?;
        groups::check(sched, &mut self.most_shares)?;
        idle::check(sched)?;
        realtime::check(sched)?;
        deadline::check(sched)?;
        lb_cache::check(sched)?;
        self.check_virtual_time(sched)
    }

    fn check_virtual_time(&mut self, sched: &Sched) -> Checked {
        for (index, (cfs_rq, &before)) in sched.cfs_rqs.iter().zip(&self.min_vruntimes).enumerate() {
            let now = cfs_rq.min_vruntime;
            let (cpu, group) = (cfs_rq.cpu.0, cfs_rq.group.0);
            ensure!(
                !vruntime_before(now, before),
                "min_vruntime of cfs_rq {index} (CPU {cpu}, group {group}) went back from {before} to {now}"
            );
        }
        self.min_vruntimes.clear();
        self.min_vruntimes.extend(sched.cfs_rqs.iter().map(|cfs_rq| cfs_rq.min_vruntime));
        Ok(())
    }
}

impl Sched {
    /// Checks everything that must hold between two calls of a handler.
    ///
    /// # Errors
    /// If an invariant does not hold: which, where, and with what values.
    pub fn check_invariants(&self) -> Result<(), BrokenInvariant> {
        InvariantChecker::default().check(self)
    }
}
