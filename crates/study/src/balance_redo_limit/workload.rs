// SPDX-License-Identifier: GPL-2.0-or-later
//! Many short tasks: somewhat more than one for each CPU, so that some runqueues have two and others run out of work all the time.

use crate::StudyError;
use crate::run::draw;
use fairlab_workload::rtapp;
use fairlab_workload::workload::Workload;

/// The tasks: each runs and sleeps by turns, for times of its own, drawn from ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    tasks: u64,
    run_us: [u64; 2],
    sleep_us: [u64; 2],
}

impl Shape {
    /// What the published figures are compared with.
    pub(super) const USUAL: Self = Self { tasks: 240, run_us: [50, 450], sleep_us: [20, 180] };
    /// Others.
    pub(super) const OTHERS: [Self; 3] = [
        Self { tasks: 200, run_us: [50, 450], sleep_us: [20, 180] },
        Self { tasks: 400, run_us: [50, 450], sleep_us: [100, 600] },
        Self { tasks: 300, run_us: [100, 1000], sleep_us: [50, 400] },
    ];

    /// In words.
    pub(super) fn words(self) -> String {
        let Self { tasks, run_us: run, sleep_us: sleep } = self;
        format!("{tasks} tasks that run {} to {} us and sleep {} to {} us by turns", run[0], run[1], sleep[0], sleep[1])
    }

    /// The workload; each seed has other times.
    pub(super) fn workload(self, nr_cpus: u32, seed: u64) -> Result<Workload, StudyError> {
        let within = |range: [u64; 2], place| range[0] + draw(seed, place) % (range[1] - range[0]);
        let member = |task: u64| {
            let (delay, run) = (within([0, 2000], 3 * task), within(self.run_us, 3 * task + 1));
            let sleep = within(self.sleep_us, 3 * task + 2);
            format!(r#""short{task}": {{ "loop": -1, "delay": {delay}, "run": {run}, "sleep": {sleep} }}"#)
        };
        let text = format!(r#"{{ "tasks": {{ {} }} }}"#, (0..self.tasks).map(member).collect::<Vec<_>>().join(", "));
        rtapp::parse("short.json", &text, rtapp::Options::for_cpus(nr_cpus))
            .map_err(|error| StudyError::Measurement(error.to_string()))
    }
}
