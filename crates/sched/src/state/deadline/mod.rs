// SPDX-License-Identifier: GPL-2.0-or-later
//! State of deadline tasks. The class itself is in [`crate::classes::deadline`].
//!
//! Models the data of `deadline.c` (6.1). The task with the earliest absolute deadline runs (EDF). Each task
//! has a budget of `runtime` in every `period` and is throttled when it has used it up (CBS), so that a task
//! that needs more than it requested does not delay other tasks.
//! - [`entity`]: parameters, budget and deadline of a task, and the arithmetic on them
//! - [`queue`]: queues of a CPU, and the state that all CPUs share
//! - [`cpudeadline`]: the CPU with the latest deadline

use crate::state::State;
use crate::state::deadline::entity::BW_SHIFT;
use crate::types::ids::CpuId;
use crate::types::units::{Capacity, SCHED_CAPACITY_SHIFT};

pub mod cpudeadline;
pub mod entity;
pub mod queue;

pub use entity::{DlEntity, ServerState, time_before};
pub use queue::{DlRoot, DlRq};

impl State {
    /// Capacity that deadline tasks need on a CPU: `cpu_bw_dl()`.
    pub(crate) fn cpu_bw_dl(&self, cpu: CpuId) -> Capacity {
        (self.rqs[cpu].dl.running_bw << SCHED_CAPACITY_SHIFT) >> BW_SHIFT
    }
}
