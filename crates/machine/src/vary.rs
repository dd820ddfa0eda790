// SPDX-License-Identifier: GPL-2.0-or-later
//! What an experimenter cannot hold still, drawn from a seed: when tasks start, against each other and against the tick.
//!
//! A run is one of many that could be. On a real machine nobody starts tasks at the same nanosecond of a tick; results that depend on
//! that are accidents. Random lengths of a scenario's programs are drawn where they are read.

use crate::hardware::Hardware;
use crate::streams::Stream;
use fairlab_sched::units::Nanos;
use fairlab_workload::workload::Workload;

/// Tasks start up to so much later than they should.
const SPREAD: Nanos = Nanos::from_millis(10);

/// Moves the starts of all tasks: together by less than a tick, and each by up to 10 ms. Their timers move with them. Tasks that meet
/// first and then wait each for its origin are forked together.
pub fn vary_starts(workload: &mut Workload, hardware: &Hardware, seed: u64) {
    let together = Stream::new(seed, "start-phase", 0).draw() % hardware.tick.0;
    for (index, task) in workload.tasks.iter_mut().enumerate() {
        let Some(start) = &mut task.start_at else { continue };
        let own = Stream::new(seed, "start", index as u64).draw() % SPREAD.0;
        let later = Nanos(together + own);
        *start += if task.awaits_origin { Nanos(together) } else { later };
        task.timer_origin += later;
    }
}
