// SPDX-License-Identifier: GPL-2.0-or-later
//! What is decided: where a task wakes up, and what a balancing pass moves. Knows nothing of pauses or locks.

pub(crate) mod balance;
pub(crate) mod deadline;
pub(crate) mod realtime;
pub(crate) mod wakeup;
