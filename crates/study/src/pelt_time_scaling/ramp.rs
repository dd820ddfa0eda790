// SPDX-License-Identifier: GPL-2.0-or-later
//! How long schedutil takes to get an always-running task from zero utilisation to the highest OPP.
//!
//! The task first sleeps until nothing is left of the utilisation that a new task is given; the machine is idle meanwhile, and the
//! governor has no reason to leave the frequency that the last look gave. So a second, short task runs once just before, which
//! makes the governor look: utilisation is about zero then, and it takes the lowest OPP.

use crate::StudyError;
use crate::definition::{ArmDefinition, StudyDefinition};
use crate::report::{Measured, Table};
use crate::run::{Run, machine, run};
use fairlab_machine::engine::START;
use fairlab_machine::observer::Observer;
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::{CAPACITY_FULL, Nanos};
use fairlab_workload::scn;

/// For how long the task sleeps first.
const ASLEEP: Nanos = Nanos::from_secs(4);

/// Notes when the task begins to run, and when its CPU then has the highest frequency.
#[derive(Default)]
struct Ramp {
    lowest: Option<u64>,
    at_the_top: Option<Nanos>,
}

impl Probe for Ramp {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let Event::Frequency { capacity, .. } = *event else { return };
        if now < START + ASLEEP {
            self.lowest = Some(capacity);
        } else if capacity == CAPACITY_FULL {
            self.at_the_top.get_or_insert(now);
        }
    }
}

impl Observer for Ramp {}

fn time_to_the_top(arm: &ArmDefinition) -> Result<Measured, StudyError> {
    let text = format!(
        "cpus 8\ntask t mask=0 sleep {}ns loop run 1s\ntask look mask=0 sleep {}ns run 200us exit\n",
        ASLEEP.0,
        ASLEEP.0 - 50_000_000
    );
    let scenario = scn::parse("ramp.scn", &text).map_err(|error| StudyError::Measurement(error.to_string()))?;
    let mut observer = Ramp::default();
    let duration = ASLEEP + Nanos::from_secs(1);
    let mut hardware = machine("hikey");
    hardware.prices = fairlab_machine::prices::Prices::free();
    run(arm, Run { hardware, workload: scenario.workload, duration, snapshot_every: None }, &mut observer)?;
    let Some(at) = observer.at_the_top else {
        return Ok(Measured::text("never").because("the highest OPP was not reached within a second"));
    };
    let start = observer.lowest.map_or("the highest one".to_owned(), |lowest| format!("{lowest} / 1024"));
    Ok(Measured::number((at - START - ASLEEP).0 as f64 / 1e6).because(format!("from a frequency of {start}")))
}

pub(super) fn table(study: &StudyDefinition) -> Result<Table, StudyError> {
    let mut error = None;
    let table = Table::fill(study.table("ramp"), |row| {
        time_to_the_top(study.arm(&row.arm)).unwrap_or_else(|failure| {
            error.get_or_insert(failure);
            Measured::text("failed")
        })
    });
    error.map_or(Ok(table), Err)
}
