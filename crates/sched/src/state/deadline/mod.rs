// SPDX-License-Identifier: GPL-2.0-or-later
//! What is remembered of deadline tasks; the class at work is in [`crate::classes::deadline`].
//!
//! Models `deadline.c` (6.1). The task with the earliest absolute deadline runs (EDF); each has a budget of `runtime` in
//! every `period` and is throttled when it has used it up (CBS), so that a task that needs more than it asked for harms
//! nobody else.
//! - [`entity`]: a task's parameters, budget and deadline, and the arithmetic on them
//! - [`queue`]: the queues of a CPU, and what all CPUs share
//! - [`cpudeadline`]: which CPU has the latest deadline

use crate::state::State;
use crate::state::deadline::entity::BW_SHIFT;
use crate::types::ids::CpuId;
use crate::types::units::{CAPACITY_SHIFT, Capacity};

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
