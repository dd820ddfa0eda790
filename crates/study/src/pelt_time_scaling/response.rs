// SPDX-License-Identifier: GPL-2.0-or-later
//! Number of periods in which the utilisation of an always-running task rises from 0 to a value.
//!
//! The task first sleeps until its initial utilisation has decayed. From then on its average is read at the
//! end of each period of 1.048576 ms, updated to that time.

use crate::definition::{ArmDefinition, StudyDefinition};
use crate::error::StudyError;
use crate::report::{MeasuredFigure, ReportTable};
use crate::run::{FixedRun, run, single_cpu};
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::Machine;
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::units::{Capacity, Nanos, SCHED_CAPACITY_SCALE};
use fairlab_workload::scenario;

/// Period of load tracking: 1024 times 1024 ns.
pub(super) const PERIOD: Nanos = Nanos(1024 * 1024);
/// Number of periods before the task begins to run continuously.
const ASLEEP_PERIODS: u64 = 4000;
/// Number of periods that are measured after that.
const AWAKE_PERIODS: usize = 1000;

/// Records the utilisation of the only task at every snapshot.
#[derive(Default)]
struct UtilObserver {
    utils: Vec<u64>,
}

impl SchedObserver for UtilObserver {}

impl Observer for UtilObserver {
    fn snapshot(&mut self, machine: &Machine) {
        let util = machine.tasks()[0].id.map_or(0, |id| machine.sched().util_avg_at(id, machine.now()));
        self.utils.push(util);
    }
}

/// Returns the utilisation at the end of each period since the task began to run.
fn series(arm: &ArmDefinition, capacity: Capacity) -> Result<Vec<u64>, StudyError> {
    let asleep = Nanos(PERIOD.0 * ASLEEP_PERIODS);
    let text = format!("cpus 1\ntask t sleep {}ns loop run 1s\n", asleep.0);
    let scenario = scenario::parse("response.scn", &text, arm.kernel().series())?;
    let duration = Nanos(PERIOD.0 * (ASLEEP_PERIODS + AWAKE_PERIODS as u64));
    let mut observer = UtilObserver::default();
    let hardware = single_cpu(capacity);
    run(
        arm,
        FixedRun { hardware, workload: scenario.workload, duration, snapshot_every: Some(PERIOD) },
        &mut observer,
    )?;
    Ok(observer.utils.split_off(ASLEEP_PERIODS as usize))
}

/// Parses the utilisation and the CPU's capacity from the label of a row.
pub(super) fn parse_label(label: &str) -> Option<(u64, Capacity)> {
    let rest = label.strip_prefix("util_avg ")?;
    let (util, capacity) = rest.split_once(", ")?;
    let capacity = match capacity {
        "full capacity" => SCHED_CAPACITY_SCALE,
        "half capacity" => SCHED_CAPACITY_SCALE / 2,
        _ => return None,
    };
    Some((util.parse().ok()?, capacity))
}

pub(super) fn table(study: &StudyDefinition) -> Result<ReportTable, StudyError> {
    let mut error = None;
    let table = ReportTable::fill(study.table("response"), |row| {
        let measure = || {
            let named = parse_label(&row.label);
            let (target, capacity) =
                named.ok_or_else(|| StudyError::measurement(format!("row {} names no value", row.label)))?;
            let utils = series(study.arm(&row.arm), capacity)?;
            Ok(match utils.iter().position(|&util| util >= target) {
                // The first reading is at the end of the first period.
                Some(place) => MeasuredFigure::number(place as f64 + 1.0),
                None => MeasuredFigure::text("unreachable").with_remark(format!(
                    "at the most {} in {AWAKE_PERIODS} periods",
                    utils.iter().max().expect("there are readings")
                )),
            })
        };
        measure().unwrap_or_else(|failure: StudyError| {
            error.get_or_insert(failure);
            MeasuredFigure::text("failed")
        })
    });
    error.map_or(Ok(table), Err)
}
