// SPDX-License-Identifier: GPL-2.0-or-later
//! The deadline class: SCHED_DEADLINE.
//!
//! Models `deadline.c` (6.1). The task with the earliest absolute deadline runs (EDF); each has a budget of `runtime` in
//! every `period` and is throttled when it has used it up (CBS), so that a task that needs more than it asked for harms
//! nobody else.
//! - [`entity`]: a task's parameters, budget and deadline, and the arithmetic on them
//! - [`queue`]: the queues of a CPU, and what all CPUs share
//! - [`run`]: enqueueing, running, the budget, yielding
//! - [`replenish`]: when a budget and a deadline are renewed, and the timer for that
//! - [`bandwidth`]: how much of a CPU is in use, and the timer that tells when a sleeping task's part is free again
//! - [`reclaim`]: tasks that use what others leave
//! - [`admission`]: whether a task may have what it asks for, and its change to and from the class
//! - [`push_pull`]: where a task wakes up, and moving tasks to CPUs with later deadlines
//!
//! Left out: the signal for overruns, and the check of `sched_setaffinity()`.

use crate::state::State;
use crate::state::deadline::entity::BW_SHIFT;
use crate::words::ids::CpuId;
use crate::words::units::{CAPACITY_SHIFT, Capacity};

pub mod cpudeadline;
pub mod entity;
pub mod queue;

pub use entity::{DlEntity, time_before};
pub use queue::{DlRoot, DlRq};

impl State {
    /// The capacity that deadline tasks need on a CPU: `cpu_bw_dl()`.
    pub(crate) fn cpu_bw_dl(&self, cpu: CpuId) -> Capacity {
        (self.rqs[cpu.index()].dl.running_bw << CAPACITY_SHIFT) >> BW_SHIFT
    }
}
