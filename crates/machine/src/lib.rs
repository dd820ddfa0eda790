// SPDX-License-Identifier: GPL-2.0-or-later
//! Simulated machines, which own the simulated time.
//!
//! [`sim`] runs a workload on a machine, and [`engine`] is the interface to the scheduler. Machine files are read by
//! [`fairlab_board`]. Directories are layers: each uses itself and the layers before it.

mod base;
mod calls;
pub mod hardware;
mod interface;
mod parts;
mod programs;
pub mod sim;
mod state;
mod time;

pub use base::{digest, event, streams};
pub use hardware::{costs, vary};
pub use interface::{engine, snapshot};
pub use state::{event_log, observer};
