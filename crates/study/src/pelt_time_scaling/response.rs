// SPDX-License-Identifier: GPL-2.0-or-later
//! How many periods the utilisation of an always-running task needs to get from 0 to a value.
//!
//! The task first sleeps until nothing is left of the utilisation that every new task is given. From then on its average is
//! read at the end of each period of 1.048576 ms, advanced to that moment.

use crate::StudyError;
use crate::definition::{ArmDefinition, StudyDefinition};
use crate::report::{Measured, Table};
use crate::run::{Run, run, single_cpu};
use fairlab_machine::engine::Machine;
use fairlab_machine::observer::Observer;
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::{CAPACITY_FULL, Capacity, Nanos};
use fairlab_workload::scn;

/// A period of load tracking: 1024 times 1024 ns.
pub(super) const PERIOD: Nanos = Nanos(1024 * 1024);
/// Periods after which the task begins to run for ever.
const ASLEEP_PERIODS: u64 = 4000;
/// Periods that are looked at then.
const AWAKE_PERIODS: usize = 1000;

/// Reads the utilisation of the only task at every snapshot.
#[derive(Default)]
struct UtilSeries {
    utils: Vec<u64>,
}

impl Probe for UtilSeries {
    fn event(&mut self, _now: Nanos, _event: &Event<'_>) {}
}

impl Observer for UtilSeries {
    fn snapshot(&mut self, machine: &Machine) {
        let util = machine.tasks()[0].id.map_or(0, |id| machine.sched().util_avg_at(id, machine.now()));
        self.utils.push(util);
    }
}

/// Utilisation at the end of each period since the task began to run, from 0 on.
fn series(arm: &ArmDefinition, capacity: Capacity) -> Result<Vec<u64>, StudyError> {
    let asleep = Nanos(PERIOD.0 * ASLEEP_PERIODS);
    let text = format!("cpus 1\ntask t sleep {}ns loop run 1s\n", asleep.0);
    let scenario = scn::parse("response.scn", &text).map_err(|error| StudyError::Measurement(error.to_string()))?;
    let duration = Nanos(PERIOD.0 * (ASLEEP_PERIODS + AWAKE_PERIODS as u64));
    let mut observer = UtilSeries::default();
    let hardware = single_cpu(capacity);
    run(arm, Run { hardware, workload: scenario.workload, duration, snapshot_every: Some(PERIOD) }, &mut observer)?;
    Ok(observer.utils.split_off(ASLEEP_PERIODS as usize))
}

/// The value and the speed of the CPU that a row's label names.
pub(super) fn parse_label(label: &str) -> Option<(u64, Capacity)> {
    let rest = label.strip_prefix("util_avg ")?;
    let (util, capacity) = rest.split_once(", ")?;
    let capacity = match capacity {
        "full capacity" => CAPACITY_FULL,
        "half capacity" => CAPACITY_FULL / 2,
        _ => return None,
    };
    Some((util.parse().ok()?, capacity))
}

pub(super) fn table(study: &StudyDefinition) -> Result<Table, StudyError> {
    let mut error = None;
    let table = Table::fill(study.table("response"), |row| {
        let measure = || {
            let named = parse_label(&row.label);
            let (target, capacity) =
                named.ok_or_else(|| StudyError::Measurement(format!("row {} names no value", row.label)))?;
            let utils = series(study.arm(&row.arm), capacity)?;
            Ok(match utils.iter().position(|&util| util >= target) {
                // The first reading is at the end of the first period.
                Some(place) => Measured::number(place as f64 + 1.0),
                None => Measured::text("unreachable").because(format!(
                    "at the most {} in {AWAKE_PERIODS} periods",
                    utils.iter().max().expect("there are readings")
                )),
            })
        };
        measure().unwrap_or_else(|failure: StudyError| {
            error.get_or_insert(failure);
            Measured::text("failed")
        })
    });
    error.map_or(Ok(table), Err)
}
