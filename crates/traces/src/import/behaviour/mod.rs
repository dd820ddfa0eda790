// SPDX-License-Identifier: GPL-2.0-or-later
//! Reconstructs a workload from the events of a trace.
//!
//! Rules:
//! 1. The run time of a thread between two blocks is work: time on each CPU, scaled by the CPU's capacity and
//!    frequency at that time.
//! 2. A thread that is woken by another thread, outside of interrupts, waits for it. All other blocks are
//!    sleeps. If the waking CPU had to leave an idle state first, the sleep ends earlier by the state's exit
//!    latency, provided the machine is known.
//! 3. Sleeps whose ends lie on a grid belong to a periodic timer ([`timers`]).
//! 4. A thread that existed before the trace starts at its first event. A thread that is blocked at the end
//!    of the trace stays blocked.
//! 5. Information that the trace lacks is counted in [`Gaps`] and described in a note. Nothing else is
//!    assumed.

mod builder;
mod cgroups;
mod cpu_rates;
mod gaps;
mod names;
mod timers;

use super::event::Recording;
use builder::WorkloadBuilder;
use fairlab_machine::hardware::Hardware;
use fairlab_workload::recorded::RecordedWorkload;
pub use gaps::Gaps;

/// Imported workload, with the information that the trace lacks.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Debug)]
pub struct ImportedWorkload {
    pub recorded: RecordedWorkload,
    /// Task of each thread in [`super::threads::TraceThreads`]; `None` for omitted threads.
    pub task_of: Vec<Option<usize>>,
    pub gaps: Gaps,
}

/// Builds the workload of a trace. `machine` is the machine on which the trace was recorded, if known.
pub fn import(recording: &Recording, machine: Option<&Hardware>) -> ImportedWorkload {
    let mut builder = WorkloadBuilder::new(recording, machine);
    for event in &recording.events {
        builder.event(event);
    }
    builder.finish()
}
