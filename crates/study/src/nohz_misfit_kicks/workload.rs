// SPDX-License-Identifier: GPL-2.0-or-later
//! The tasks: as many periodic ones as there are big CPUs, or one always-running task less than CPUs; and what else a board does.

use crate::StudyError;
use crate::run::draw;
use fairlab_workload::rtapp;
use fairlab_workload::workload::Workload;

/// What is assumed of it, for the report.
pub(super) const DESCRIPTION: &str = "Tasks as rt-app's: of 50 % means 8 ms of work at full speed every 16 ms, longer at the frequency that schedutil \
    chooses. They start within 0.1 ms and keep their grid, so they stay in phase, as the equal counts of the big CPUs after the change \
    suggest. Beside them eight tasks of the system, which may run anywhere, of 0.2 ms every 13.7 to 97.3 ms: a board never is without. \
    The table `workload` shows what these choices do.";

/// Periods of the system's tasks, in microseconds: none divides another.
const SYSTEM_PERIODS_US: [u64; 8] = [13_700, 17_300, 23_900, 31_100, 41_300, 53_900, 67_100, 97_300];
/// Tasks start no earlier, so that those of the system run before.
const FIRST_START_US: u64 = 20_000;
/// All tasks start within so many microseconds.
const START_SPREAD_US: u64 = 100;

/// What is chosen, since it was not published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Period of the 50 % tasks, in microseconds.
    pub(super) period_us: u64,
    /// Whether they keep the grid of their periods when work was late, as with rt-app's absolute timers. Otherwise a late one begins a
    /// new grid, and the tasks, which start on CPUs of different speed, are out of phase from then on.
    pub(super) in_phase: bool,
    /// How many tasks of the system there are.
    pub(super) system_tasks: usize,
    /// What each of them does in a period, in microseconds at full speed.
    pub(super) system_work_us: u64,
    /// How many runs.
    pub(super) seeds: u64,
}

impl Choice {
    /// What the published tables are compared with.
    pub(super) const fn usual(seeds: u64) -> Self {
        Self { period_us: 16_000, in_phase: true, system_tasks: SYSTEM_PERIODS_US.len(), system_work_us: 200, seeds }
    }

    /// Periodic tasks of 50 %.
    pub(super) fn periodic(&self, tasks: u64, seed: u64) -> Result<Workload, StudyError> {
        let (work, period) = (self.period_us / 2, self.period_us);
        let mode = if self.in_phase { "absolute" } else { "relative" };
        let body = format!(r#""run": {work}, "timer": {{ "ref": "unique", "period": {period}, "mode": "{mode}" }}"#);
        self.workload("half", tasks, &body, seed)
    }

    /// Tasks that always run.
    pub(super) fn always_running(&self, tasks: u64, seed: u64) -> Result<Workload, StudyError> {
        self.workload("full", tasks, r#""run": 100000"#, seed)
    }

    fn workload(&self, name: &str, tasks: u64, body: &str, seed: u64) -> Result<Workload, StudyError> {
        let start = FIRST_START_US + draw(seed, 0) % 16_000;
        let mut members = Vec::new();
        for task in 0..tasks {
            let delay = start + draw(seed, 1 + task) % START_SPREAD_US;
            members.push(format!(r#""{name}{task}": {{ "delay": {delay}, "loop": -1, {body} }}"#));
        }
        let work = self.system_work_us;
        for (place, period) in SYSTEM_PERIODS_US.iter().enumerate().take(self.system_tasks) {
            let delay = draw(seed, 100 + place as u64) % 40_000;
            members.push(format!(
                r#""system{place}": {{ "delay": {delay}, "loop": -1, "run": {work},
                   "timer": {{ "ref": "unique", "period": {period} }} }}"#
            ));
        }
        let text = format!(r#"{{ "tasks": {{ {} }} }}"#, members.join(", "));
        rtapp::parse("tasks.json", &text, rtapp::Options::for_cpus(8))
            .map_err(|error| StudyError::Measurement(error.to_string()))
    }
}
