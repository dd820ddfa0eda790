// SPDX-License-Identifier: GPL-2.0-or-later
//! Time that schedutil needs to raise an always-running task from zero utilisation to the highest OPP.
//!
//! The task first runs for a few microseconds in each of many periods, until its initial utilisation and its
//! estimated utilisation (UTIL_EST) have decayed and the governor has selected the lowest OPP. Then it runs
//! continuously.

use crate::definition::{ArmDefinition, StudyDefinition};
use crate::error::StudyError;
use crate::report::{MeasuredFigure, ReportTable};
use crate::run::{FixedRun, machine, run};
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::START;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};
use fairlab_workload::rtapp;

/// Length of the first phase, in which the task hardly runs.
const LIGHT: Nanos = Nanos::from_secs(4);
/// Workload as an rt-app file: 250 periods of 16 ms, then always running.
const WORKLOAD: &str = r#"{ "tasks": { "ramp": { "loop": 1, "phases": {
    "light": { "loop": 250, "run": 10, "timer": { "ref": "unique", "period": 16000 } },
    "heavy": { "loop": -1, "run": 100000 }
} } } }"#;

/// Records the lowest capacity before the task runs continuously, and the time at which its CPU has the
/// highest frequency.
#[derive(Default)]
struct RampObserver {
    lowest: Option<u64>,
    at_the_top: Option<Nanos>,
}

impl SchedObserver for RampObserver {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let Event::Frequency { capacity, .. } = *event else { return };
        if now < START + LIGHT {
            self.lowest = Some(capacity);
        } else if capacity == SCHED_CAPACITY_SCALE {
            self.at_the_top.get_or_insert(now);
        }
    }
}

impl Observer for RampObserver {}

fn time_to_the_top(arm: &ArmDefinition) -> Result<MeasuredFigure, StudyError> {
    let workload = rtapp::parse("ramp.json", WORKLOAD, rtapp::RtAppOptions::for_cpus(arm.kernel().series(), 8))?;
    let mut observer = RampObserver::default();
    let duration = LIGHT + Nanos::from_secs(1);
    let mut hardware = machine("hikey");
    hardware.costs = fairlab_machine::costs::CostModel::zero_cost();
    run(arm, FixedRun { hardware, workload, duration, snapshot_every: None }, &mut observer)?;
    let Some(at) = observer.at_the_top else {
        return Ok(MeasuredFigure::text("never").with_remark("the highest OPP was not reached within a second"));
    };
    let start = observer.lowest.map_or_else(|| "the highest one".to_owned(), |lowest| format!("{lowest} / 1024"));
    Ok(MeasuredFigure::number((at - START - LIGHT).0 as f64 / 1e6).with_remark(format!("from a frequency of {start}")))
}

pub(super) fn table(study: &StudyDefinition) -> Result<ReportTable, StudyError> {
    let mut error = None;
    let table = ReportTable::fill(study.table("ramp"), |row| {
        time_to_the_top(study.arm(&row.arm)).unwrap_or_else(|failure| {
            error.get_or_insert(failure);
            MeasuredFigure::text("failed")
        })
    });
    error.map_or(Ok(table), Err)
}
