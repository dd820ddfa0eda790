// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to a custom policy about wake-ups, and its choices.

use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, TaskId};
use crate::types::units::Nanos;
use alloc::string::String;

/// A wake-up that needs a CPU, with the data that are known without sampling a CPU.
#[derive(Clone, Copy, Debug)]
pub struct WakeRequest<'a> {
    /// Simulated time of the selection.
    pub now: Nanos,
    /// Woken task. It is in one selection at a time.
    pub task: TaskId,
    /// Process ID of the task.
    pub pid: i32,
    /// Previous CPU of the task.
    pub prev: CpuId,
    /// CPU of the waker.
    pub waker: CpuId,
    /// Whether the waker is about to sleep.
    pub sync: bool,
    /// Whether an interrupt wakes the task, instead of the running task of the waker's CPU.
    pub in_interrupt: bool,
    /// Estimated utilisation of the task (full: 1024).
    pub util: u64,
    /// Affinity of the task.
    pub allowed: &'a CpuMask,
    /// CPUs that take part in scheduling (`cpu_active_mask`). The task may use those that are also in
    /// `allowed`.
    pub active: &'a CpuMask,
    /// CPUs that share the last-level cache with the previous CPU; `None` without a cache domain.
    pub cache: Option<&'a CpuMask>,
}

impl WakeRequest<'_> {
    /// Whether the task may use a CPU.
    pub fn may_use(&self, cpu: CpuId) -> bool {
        cpu.index() < self.active.nr_cpus() && self.allowed.contains(cpu) && self.active.contains(cpu)
    }

    /// Returns the next allowed CPU of the previous CPU's cache domain: upwards from the previous CPU, and
    /// around. `None` once all have been returned.
    pub fn next_in_cache(&self, after: CpuId) -> Option<CpuId> {
        let nr_cpus = self.allowed.nr_cpus() as u32;
        let distance = |cpu: CpuId| (cpu.0 + nr_cpus - self.prev.0) % nr_cpus;
        let start = CpuId((after.0 + 1) % nr_cpus);
        let next = self.cache?.iter_and_wrap_from(self.allowed, start).next()?;
        (distance(next) > distance(after)).then_some(next)
    }
}

/// Choice of a policy for a wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeChoice {
    /// Sample this CPU and ask again.
    Sample(CpuId),
    /// Run the task on this CPU.
    Cpu(CpuId),
    /// Leave the decision to the kernel's rules.
    Kernel,
    /// End the run with this error.
    Fail(String),
}
