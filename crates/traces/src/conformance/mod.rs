// SPDX-License-Identifier: GPL-2.0-or-later
//! Conformance kit for EEVDF schedulers: cases with their inputs and the exact results of each pick.
//!
//! A case is a scenario ([`CASES`]) and a list of records ([`record::ConformanceRecord`]), one JSON object per line.
//! The records have what another scheduler gets as input (which task becomes runnable on which CPU, ticks,
//! and why a task stops), and what it must then do: the next task, and the virtual times of the entities.
//! [`ConformanceRecorder`] writes them during a run of any scheduler with lags.

mod cases;
pub mod record;
mod recorder;

pub use cases::{CASES, ConformanceCase};
pub use recorder::ConformanceRecorder;
