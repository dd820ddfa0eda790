// SPDX-License-Identifier: GPL-2.0-or-later
//! Range of the utilisation of a periodic task, compared with a formula.
//!
//! A task that runs r of every p periods has a maximum of U (1 - y^r) / (1 - y^p) at the end of its run, and
//! a minimum of that value times y^i after i idle periods. On a CPU of half capacity it runs for twice as
//! long. Before the change, the result was also multiplied by the capacity. Since the change it equals that
//! of the full capacity: the task's clock runs at half speed while it runs, and catches up while it sleeps.

use super::response::PERIOD;
use crate::definition::{FigureValue, RowDefinition, StudyDefinition, TableDefinition, VerdictRule};
use crate::error::StudyError;
use crate::evidence::Evidence;
use crate::report::{MeasuredFigure, ReportRow, ReportTable};
use crate::run::{FixedRun, run, single_cpu};
use fairlab_machine::observer::Observer;
use fairlab_machine::sim::Machine;
use fairlab_sched::probe::SchedObserver;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};
use fairlab_workload::scenario;

/// Work and period of the tasks, in periods of load tracking.
const TASKS: [(u32, u32); 4] = [(1, 8), (4, 16), (8, 32), (12, 64)];
/// Largest accepted difference of an extreme from the formula.
const WITHIN: f64 = 2.0;
/// Interval of readings: an eighth of a period.
const SAMPLE_EVERY: Nanos = Nanos(PERIOD.0 / 8);
/// Readings before this time are ignored.
const WARM_UP: Nanos = Nanos::from_secs(3);

/// Extremes of the only task's utilisation, which is read several times in each period.
struct ExtremesObserver {
    least: u64,
    most: u64,
}

impl SchedObserver for ExtremesObserver {}

impl Observer for ExtremesObserver {
    fn snapshot(&mut self, machine: &Machine) {
        if machine.elapsed() < WARM_UP {
            return;
        }
        if let Some(id) = machine.tasks()[0].id {
            let util = machine.sched().util_avg_at(id, machine.now());
            self.least = self.least.min(util);
            self.most = self.most.max(util);
        }
    }
}

/// Returns the minimum and maximum of the formula.
fn formula(work: u32, period: u32, capacity: f64, is_contribution_scaled: bool) -> (f64, f64) {
    let y = 0.5_f64.powf(1.0 / 32.0);
    // Before the change, the contribution is scaled and the task runs for longer; since then, its clock
    // compensates for that.
    let (run, scale) =
        if is_contribution_scaled { (f64::from(work) / capacity, capacity) } else { (f64::from(work), 1.0) };
    let period = f64::from(period);
    let most = SCHED_CAPACITY_SCALE as f64 * scale * (1.0 - y.powf(run)) / (1.0 - y.powf(period));
    (most * y.powf(period - run), most)
}

pub(super) fn table(study: &StudyDefinition) -> Result<ReportTable, StudyError> {
    let definition = TableDefinition {
        name: "ranges".to_owned(),
        title: "util_avg of periodic tasks against the formulas".to_owned(),
        metric: "util_avg".to_owned(),
        unit: "of 1024".to_owned(),
        verdict: VerdictRule { within: Some(WITHIN), ..VerdictRule::default() },
        ..TableDefinition::default()
    };
    let mut rows = Vec::new();
    for (capacity_name, capacity) in [("full", SCHED_CAPACITY_SCALE), ("half", SCHED_CAPACITY_SCALE / 2)] {
        for arm in &study.arms {
            for (work, period) in TASKS {
                let text = format!(
                    "cpus 1\ntask t loop run {}ns sleep {}ns\n",
                    PERIOD.0 * u64::from(work),
                    PERIOD.0 * (u64::from(period) - u64::from(work) * SCHED_CAPACITY_SCALE / capacity)
                );
                let scenario = scenario::parse("ranges.scn", &text, arm.kernel().series())?;
                let mut extremes = ExtremesObserver { least: u64::MAX, most: 0 };
                let duration = WARM_UP + WARM_UP;
                let hardware = single_cpu(capacity);
                run(
                    arm,
                    FixedRun { hardware, workload: scenario.workload, duration, snapshot_every: Some(SAMPLE_EVERY) },
                    &mut extremes,
                )?;
                let is_contribution_scaled = arm.settings.tunables.contains_key("pelt_contribution");
                let fraction = capacity as f64 / SCHED_CAPACITY_SCALE as f64;
                let (least, most) = formula(work, period, fraction, is_contribution_scaled);
                for (which, simulated, expected) in [("least", extremes.least, least), ("most", extremes.most, most)] {
                    let label = format!("{work} of {period} periods, {capacity_name} capacity, {which}");
                    let row = RowDefinition {
                        published: Some(FigureValue::Number((expected * 10.0).round() / 10.0)),
                        evidence: Some(Evidence::Formula),
                        ..RowDefinition::unpublished(label, &arm.name)
                    };
                    rows.push(ReportRow::new(&definition, &row, MeasuredFigure::number(simulated as f64)));
                }
            }
        }
    }
    Ok(ReportTable { name: definition.name, title: definition.title, rows })
}
