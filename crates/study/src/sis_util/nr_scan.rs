// SPDX-License-Identifier: GPL-2.0-or-later
//! Limit of a search for an idle CPU (`nr_idle_scan`), on simulated machines of a given utilisation.
//!
//! A utilisation of P percent consists of CPUs with a task that never sleeps, and one CPU with a task that
//! runs part of the time. Periodic load balancing computes `nr_idle_scan` from the resulting utilisation.
//! Kernel code takes no time.

use super::SERIES;
use crate::definition::StudyDefinition;
use crate::error::StudyError;
use crate::report::{MeasuredFigure, ReportRow, ReportTable};
use fairlab_experiment::pool;
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_run::drive::drive_through;
use fairlab_sched::ids::CpuId;
use fairlab_workload::scenario;
use std::fmt::Write;

/// `util_avg` of a CPU that is always busy; the rounding of its sums keeps it below 1024.
const BUSY: u64 = 1023;

/// Returns the scenario of a cache domain with `llc_weight` CPUs, next to a second one, so that there is a
/// domain level above.
fn scenario(llc_weight: u64, percent: u64) -> String {
    // The sum is slightly higher than requested, so that rounding does not lead to a lower value.
    let wanted = if percent == 0 { 0 } else { (llc_weight * percent * 1024).div_ceil(100) + 4 };
    let (full, part) = (wanted / BUSY, wanted % BUSY);
    let mut text = format!("cpus {}\ntopo llc={llc_weight} pkg={llc_weight}\nlevels MP\nend 2s\n", 2 * llc_weight);
    for cpu in 0..full {
        writeln!(text, "task hog{cpu} mask={cpu}-{cpu} cpu={cpu} run 10s").expect("text can be written");
    }
    // The period is not a divisor of the tick period, so that some ticks find the task running and the CPU
    // balances.
    let (run, sleep) = (part * 101, (1024 - part) * 101);
    if part > 0 {
        writeln!(text, "task part mask={full}-{full} cpu={full} run {run}ns sleep {sleep}ns").expect("as above");
    }
    if percent == 0 {
        // A task that runs at one tick in eight and has negligible utilisation makes the CPU balance.
        writeln!(text, "task light mask=0-0 run 10us sleep 31990us").expect("as above");
    }
    text
}

/// Returns `nr_idle_scan` of the first cache domain at the end, and the sum of its CPUs' `util_avg`.
fn nr_idle_scan(llc_weight: u64, percent: u64) -> Result<(i32, u64), StudyError> {
    let text = scenario(llc_weight, percent);
    let scenario = scenario::parse("nr_scan", &text, SERIES)?;
    let mut machine = Machine::new(Setup::from_scenario(scenario))?;
    drive_through(&mut machine, &mut NoObserver)?;
    let sched = machine.sched();
    let shared = sched.domains().cpus[CpuId(0)].sd_llc_shared.expect("the first CPU has a cache domain");
    let util = (0..llc_weight).map(|cpu| sched.snapshot(CpuId(cpu as u32)).cfs_avg.util_avg).sum();
    Ok((sched.domains().shared[shared].nr_idle_scan, util))
}

/// Parses a label such as `25 % of 112 CPUs` into the number of CPUs and the percentage.
pub(super) fn parse_label(label: &str) -> Option<(u64, u64)> {
    let (percent, rest) = label.split_once(" % of ")?;
    Some((rest.strip_suffix(" CPUs")?.parse().ok()?, percent.parse().ok()?))
}

pub(super) fn table(study: &StudyDefinition) -> Result<ReportTable, StudyError> {
    let definition = study.table("nr_scan");
    let rows = pool::all(definition.rows.iter().collect(), |row| {
        let (llc_weight, percent) = parse_label(&row.label)
            .ok_or_else(|| StudyError::measurement(format!("row {} names no cache", row.label)))?;
        let (nr, util) = nr_idle_scan(llc_weight, percent)?;
        let measured = MeasuredFigure::number(f64::from(nr)).with_remark(format!("sum of util_avg {util}"));
        Ok::<_, StudyError>(ReportRow::new(definition, row, measured))
    })?;
    Ok(ReportTable { name: definition.name.clone(), title: definition.title.clone(), rows })
}
