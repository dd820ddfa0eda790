// SPDX-License-Identifier: GPL-2.0-or-later
//! A task that is too big for the little CPU on which it starts has to end on a big one, and stay there, with fewer kicks as with more.

use crate::StudyError;
use crate::definition::StudyDefinition;
use crate::pool;
use crate::report::{Measured, Row, Table};
use crate::run::{Run, run};
use fairlab_machine::engine::START;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_sched::ids::TaskId;
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::Nanos;
use fairlab_workload::rtapp;

const DURATION: Nanos = Nanos::from_secs(5);
/// By then a task should be where it belongs.
const SETTLED: Nanos = Nanos(START.0 + 1_000_000_000);
const FIRST_BIG: usize = 4;

/// Tasks of 100 %, which the first 100 ms on a little CPU each have made big there. Then they may run anywhere.
fn workload(tasks: u64) -> String {
    let task = |task: u64| {
        format!(
            r#""full{task}": {{ "loop": 1, "phases": {{
                "little": {{ "loop": 1, "cpus": [{task}], "runtime": 100000 }},
                "anywhere": {{ "loop": -1, "cpus": [0, 1, 2, 3, 4, 5, 6, 7], "run": 100000 }} }} }}"#
        )
    };
    format!(r#"{{ "tasks": {{ {} }} }}"#, (0..tasks).map(task).collect::<Vec<_>>().join(", "))
}

/// For how long the tasks ran on little and on big CPUs once they should have settled.
#[derive(Debug, Default)]
struct Places {
    tasks: Vec<TaskId>,
    /// Tasks that run, where, and since when.
    running: Vec<(TaskId, usize, Nanos)>,
    little: Nanos,
    big: Nanos,
}

impl Places {
    fn add(&mut self, cpu: usize, since: Nanos, until: Nanos) {
        let time = until.saturating_since(since.max(SETTLED));
        *if cpu < FIRST_BIG { &mut self.little } else { &mut self.big } += time;
    }
}

impl Probe for Places {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let Event::Switch { cpu, prev, next, .. } = *event else { return };
        if let Some(place) = self.running.iter().position(|(task, ..)| *task == prev) {
            let (_, on, since) = self.running.swap_remove(place);
            self.add(on, since, now);
        }
        if self.tasks.contains(&next) {
            self.running.push((next, cpu.index(), now));
        }
    }
}

impl Observer for Places {
    fn machine_event(&mut self, _now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Forked { id, .. } = *event {
            self.tasks.push(id);
        }
    }
}

/// The table.
pub(super) fn table(study: &StudyDefinition, hardware: &Hardware) -> Result<Table, StudyError> {
    let definition = study.table("misfit");
    let rows = pool::all(definition.rows.iter().collect(), |row| {
        let tasks = if row.label.starts_with("four") { 4 } else { 1 };
        Ok::<_, StudyError>(Row::new(definition, row, share_on_big(study, &row.arm, hardware, tasks)?))
    })?;
    Ok(Table { name: definition.name.clone(), title: definition.title.clone(), rows })
}

fn share_on_big(study: &StudyDefinition, arm: &str, hardware: &Hardware, tasks: u64) -> Result<Measured, StudyError> {
    let workload = rtapp::parse("misfit.json", &workload(tasks), rtapp::Options::for_cpus(8))
        .map_err(|error| StudyError::Measurement(error.to_string()))?;
    let mut places = Places::default();
    let setup = Run { hardware: hardware.clone(), workload, duration: DURATION, snapshot_every: None };
    run(study.arm(arm), setup, &mut places)?;
    for (_, cpu, since) in core::mem::take(&mut places.running) {
        places.add(cpu, since, START + DURATION);
    }
    let total = places.little + places.big;
    if total == Nanos::ZERO {
        return Err(StudyError::Measurement("the tasks of the misfit test did not run".to_owned()));
    }
    Ok(Measured::number(100.0 * places.big.0 as f64 / total.0 as f64))
}
