// SPDX-License-Identifier: GPL-2.0-or-later
//! From events to a workload: what each thread did.
//!
//! Rules:
//! 1. What a thread runs between two blocks is work: time on each CPU, by its capacity and frequency then.
//! 2. A thread that another one wakes, not in an interrupt, waits for it; all others sleep until then. If the CPU that woke it had to
//!    leave an idle state first, and the machine says how long that takes, the sleep was over so much earlier.
//! 3. Sleeps whose ends lie on a grid are a timer's ([`timers`]).
//! 4. A thread that was there before the trace begins where it is seen first. One whose end lies behind the trace waits for good.
//! 5. What the trace does not tell is counted in [`Gaps`] and becomes a note; nothing is made up for it but what the note says.

mod builder;
mod cgroups;
mod cpu_rates;
mod gaps;
mod names;
mod timers;

use super::event::Recording;
use builder::WorkloadBuilder;
use fairlab_machine::hardware::Hardware;
use fairlab_workload::recorded::Recorded;
pub use gaps::Gaps;

/// A workload with what is known of its making.
#[derive(Debug)]
pub struct ImportedWorkload {
    /// The workload.
    pub recorded: Recorded,
    /// Which task each thread of the trace has become, in the order of [`super::threads::Threads`]; `None`: it is left out.
    pub task_of: Vec<Option<usize>>,
    /// What the trace does not tell.
    pub gaps: Gaps,
}

/// Makes the workload of a trace. `machine` is the one on which it was recorded, if that is known.
pub fn import(recording: &Recording, machine: Option<&Hardware>) -> ImportedWorkload {
    let mut walk = WorkloadBuilder::new(recording, machine);
    for event in &recording.events {
        walk.event(event);
    }
    walk.finish()
}
