// SPDX-License-Identifier: GPL-2.0-or-later
//! Decisions of the scheduler: the CPU of a waking task, and the tasks that a load-balance pass moves.
//!
//! This layer knows nothing of yield points or locks; `paths` calls it.

pub(crate) mod balance;
pub(crate) mod deadline;
pub(crate) mod realtime;
pub(crate) mod wakeup;
