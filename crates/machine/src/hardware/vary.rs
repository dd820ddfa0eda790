// SPDX-License-Identifier: GPL-2.0-or-later
//! Variation of start times, derived from a seed: relative to each other and to the tick.
//!
//! On a real machine tasks do not start at the same nanosecond of a tick. Results that depend on that are
//! artefacts of ordering. Random lengths in a scenario's programs are drawn when the programs are read.

use crate::hardware::Hardware;
use crate::streams::RandomStream;
use fairlab_sched::units::Nanos;
use fairlab_workload::workload::Workload;

/// Tasks that start together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartGroups {
    /// Each task starts on its own.
    Tasks,
    /// All tasks are of one program and start together, as those of a benchmark that measures the time until
    /// they have ended.
    Program,
}

/// Maximum delay of a single task's start.
const MAX_START_DELAY: Nanos = Nanos::from_millis(10);

/// Delays the starts of all tasks: together by less than a tick, and each by up to 10 ms. Their timers move
/// with them. Tasks that first meet at a barrier and then wait for their own origins are forked together, as
/// are the tasks of one program.
pub fn vary_starts(workload: &mut Workload, hardware: &Hardware, seed: u64, groups: StartGroups) {
    let together = RandomStream::new(seed, "start-phase", 0).draw() % hardware.tick.0;
    for (index, task) in workload.tasks.iter_mut().enumerate() {
        let Some(start) = &mut task.start_at else { continue };
        let group = if groups == StartGroups::Program { 0 } else { index as u64 };
        let own = RandomStream::new(seed, "start", group).draw() % MAX_START_DELAY.0;
        let later = Nanos(together + own);
        *start += if task.awaits_origin { Nanos(together) } else { later };
        task.timer_origin += later;
    }
}
