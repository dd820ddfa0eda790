// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a task is to wake up.

use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::Nanos;
use alloc::string::String;

/// A wake-up that needs a CPU: what is known without looking at any.
#[derive(Clone, Copy, Debug)]
pub struct WakeRequest<'a> {
    /// The time.
    pub now: Nanos,
    /// The task. It is in one selection at a time.
    pub task: TaskId,
    /// Its process id.
    pub pid: i32,
    /// The CPU that it has used.
    pub prev: CpuId,
    /// The CPU that wakes it.
    pub waker: CpuId,
    /// Whether the waker is about to sleep.
    pub sync: bool,
    /// Whether an interrupt wakes it, not the task that runs on the waker's CPU.
    pub in_interrupt: bool,
    /// The utilisation that it had or is expected to have, of 1024.
    pub util: u64,
    /// The CPUs that it is allowed to use.
    pub allowed: &'a CpuMask,
    /// The CPUs that take part in scheduling. It may use those of them that it is allowed to.
    pub active: &'a CpuMask,
    /// The CPUs that share a last-level cache with the previous one; none if it has no cache domain.
    pub cache: Option<&'a CpuMask>,
}

impl WakeRequest<'_> {
    /// Whether the task may use a CPU.
    pub fn may_use(&self, cpu: CpuId) -> bool {
        cpu.index() < self.active.nr_cpus() && self.allowed.contains(cpu) && self.active.contains(cpu)
    }

    /// The next CPU that the task is allowed to use, of those that share a cache with the previous one: from the previous one on, upwards and around.
    /// `None` once all have had their turn.
    pub fn next_in_cache(&self, after: CpuId) -> Option<CpuId> {
        let nr_cpus = self.allowed.nr_cpus() as u32;
        let distance = |cpu: CpuId| (cpu.0 + nr_cpus - self.prev.0) % nr_cpus;
        let start = CpuId((after.0 + 1) % nr_cpus);
        let next = self.cache?.iter_and_wrap_from(self.allowed, start).next()?;
        (distance(next) > distance(after)).then_some(next)
    }
}

/// What a policy answers to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeChoice {
    /// It wants to look at this CPU.
    Look(CpuId),
    /// The task is to run there.
    Cpu(CpuId),
    /// The kernel's rules are to decide.
    Kernel,
    /// It cannot go on, for this reason: the run ends.
    Fail(String),
}
