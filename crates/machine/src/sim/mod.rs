// SPDX-License-Identifier: GPL-2.0-or-later
//! The event loop of a machine.
//!
//! Rules, which the reference kernel's test machine shares:
//! 1. An event is handled on its CPU (`events`, `serve`).
//! 2. Then the CPU *settles*: it reschedules, idles or continues its task until only the passing of time is
//!    left (`settle`).

mod changes;
mod checks;
mod events;
mod kernel;
mod run;
mod serve;
mod settle;
mod setup;
mod stall;
mod start;

pub use crate::base::clock::START;
pub use crate::interface::error::RunError;
pub use crate::interface::setup::{Setup, SetupError};
pub use crate::parts::counters::{CpuCounters, FrequencyTimes, MachineCounters};
pub use crate::parts::idle::IdleResidency;
pub use crate::parts::residency::{CpuKind, OperatingPointTime, Residency};
pub use crate::parts::speed::CpuFrequency;
pub use crate::parts::sync::BlockedOn;
pub use crate::parts::tasks::{SimTask, instance_name};
pub use crate::state::Machine;
pub use stall::BlockedTask;
