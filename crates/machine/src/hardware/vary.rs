// SPDX-License-Identifier: GPL-2.0-or-later
//! Variation of start times, derived from a seed: relative to each other and to the tick.
//!
//! On a real machine tasks do not start at the same nanosecond of a tick. Results that depend on that are
//! artefacts of ordering. Random lengths in a scenario's programs are drawn when the programs are read.

use crate::hardware::Hardware;
use crate::streams::RandomStream;
use fairlab_sched::units::Nanos;
use fairlab_workload::responses::ResponseTasks;
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
pub const MAX_START_DELAY: Nanos = Nanos::from_millis(10);

/// Delays the starts of all tasks: together by less than a tick, and each by up to 10 ms. Their timers move
/// with them. Tasks that first meet at a barrier and then wait for their own origins are forked together, as
/// are the tasks of one program. Tasks that can take part in one response are delayed by one time, so that the
/// grids of their timers keep their distances; so are those of responses that share a task.
pub fn vary_starts(workload: &mut Workload, hardware: &Hardware, seed: u64, groups: StartGroups) {
    let together = RandomStream::new(seed, "start-phase", 0).draw() % hardware.tick.0;
    let of_responses = ResponseTasks::new(workload).start_groups();
    let first_of_group =
        |index| of_responses.iter().find(|group| group.contains(&index)).and_then(|group| group.first());
    for (index, task) in workload.tasks.iter_mut().enumerate() {
        let Some(start) = &mut task.start_at else { continue };
        let group = match groups {
            StartGroups::Program => 0,
            StartGroups::Tasks => first_of_group(index).map_or(index, |&first| first) as u64,
        };
        let own = RandomStream::new(seed, "start", group).draw() % MAX_START_DELAY.0;
        let later = Nanos(together + own);
        *start += if task.awaits_origin { Nanos(together) } else { later };
        task.timer_origin += later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::scenario;

    /// Returns the start of each task with a seed.
    fn starts(text: &str, seed: u64) -> Vec<u64> {
        let scenario = scenario::parse("test.scn", &format!("cpus 2\n{text}"), KernelSeries::V6_12);
        let mut scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let hardware = Hardware::from_scenario(&scenario);
        vary_starts(&mut scenario.workload, &hardware, seed, StartGroups::Tasks);
        scenario.workload.tasks.iter().map(|task| task.timer_origin.0).collect()
    }

    const TASKS: &str =
        "task load run 1ms sleep 1ms\ntask ui run 1ms post q every 10ms\ntask gpu take q run 1ms every 10ms";

    #[test]
    fn tasks_of_one_response_start_together() {
        for seed in 1..20 {
            let [load, ui, gpu] = starts(&format!("response frame from=ui.every\n{TASKS}"), seed)[..] else {
                panic!("three tasks")
            };
            assert!(ui == gpu && load != ui, "{load} {ui} {gpu}");
        }
    }

    #[test]
    fn without_responses_each_task_has_a_start_of_its_own() {
        for seed in 1..20 {
            let [load, ui, gpu] = starts(TASKS, seed)[..] else { panic!("three tasks") };
            assert!(ui != gpu && load != ui, "{load} {ui} {gpu}");
            assert_eq!(starts(&format!("response frame from=ui.every\n{TASKS}"), seed)[..2], [load, ui]);
        }
    }
}
