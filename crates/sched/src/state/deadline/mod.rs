// SPDX-License-Identifier: GPL-2.0-or-later
//! State of deadline tasks. The class itself is in [`crate::classes::deadline`].
//!
//! Models the data of `deadline.c` (6.1). The task with the earliest absolute deadline runs (EDF). Each task
//! has a budget of `runtime` in every `period` and is throttled when it has used it up (CBS), so that a task
//! that needs more than it requested does not delay other tasks.
//! - [`entity`]: parameters, budget and deadline of a task, and the arithmetic on them
//! - [`queue`]: tasks in the order of their deadlines
//! - [`rq`]: tasks and bandwidth of a CPU
//! - [`root`]: state that all CPUs share
//! - [`cpudeadline`]: the CPU with the latest deadline

pub mod cpudeadline;
pub mod entity;
pub mod queue;
pub(crate) mod root;
pub(crate) mod rq;

pub use entity::{DlEntity, ServerState, time_before};
pub use root::DlRoot;
pub use rq::DlRq;
