// SPDX-License-Identifier: GPL-2.0-or-later
//! How many CPUs a search for an idle one may look at, in machines that run.
//!
//! A utilisation of P percent is made of CPUs with a task that never stops and one CPU with a task that runs for a part of the
//! time. Periodic balancing computes `nr_idle_scan` from the utilisation that the machine then has. Kernel code is free.

use crate::StudyError;
use crate::definition::StudyDefinition;
use crate::pool;
use crate::report::{MeasuredFigure, ReportRow, ReportTable};
use fairlab_machine::observer::NoObserver;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_sched::ids::CpuId;
use fairlab_workload::scenario;
use std::fmt::Write;

/// `util_avg` of a CPU that is always busy: its sums are rounded down.
const BUSY: u64 = 1023;

/// A cache domain of so many CPUs, with a second one beside it so that there is a level above.
fn scenario(llc_weight: u64, percent: u64) -> String {
    // A little more than is wanted, so that rounding does not fall short.
    let wanted = if percent == 0 { 0 } else { (llc_weight * percent * 1024).div_ceil(100) + 4 };
    let (full, part) = (wanted / BUSY, wanted % BUSY);
    let mut text = format!("cpus {}\ntopo llc={llc_weight} pkg={llc_weight}\nlevels MP\nend 2s\n", 2 * llc_weight);
    for cpu in 0..full {
        writeln!(text, "task hog{cpu} mask={cpu}-{cpu} cpu={cpu} run 10s").expect("text can be written");
    }
    // Its period is no divisor of a tick's, so that ticks find it running now and then, and the CPU balances.
    let (run, sleep) = (part * 101, (1024 - part) * 101);
    if part > 0 {
        writeln!(text, "task part mask={full}-{full} cpu={full} run {run}ns sleep {sleep}ns").expect("as above");
    }
    if percent == 0 {
        // Someone has to balance: a task that is there at one tick in eight and leaves no utilisation worth counting.
        writeln!(text, "task light mask=0-0 run 10us sleep 31990us").expect("as above");
    }
    text
}

/// What the first cache domain's shared data hold at the end, and its utilisation, in parts of 1024 CPUs.
fn nr_idle_scan(llc_weight: u64, percent: u64) -> Result<(i32, u64), StudyError> {
    let text = scenario(llc_weight, percent);
    let scenario = scenario::parse("nr_scan", &text).map_err(|error| StudyError::Measurement(error.to_string()))?;
    let mut machine = Machine::new(Setup::from_scenario(scenario))?;
    machine.run(&mut NoObserver)?;
    let sched = machine.sched();
    let shared = sched.domains().cpus[0].sd_llc_shared.expect("the first CPU has a cache domain");
    let util = (0..llc_weight).map(|cpu| sched.snapshot(CpuId(cpu as u32)).cfs_avg.util_avg).sum();
    Ok((sched.domains().shared[shared].nr_idle_scan, util))
}

/// `25 % of 112 CPUs`.
pub(super) fn parse_label(label: &str) -> Option<(u64, u64)> {
    let (percent, rest) = label.split_once(" % of ")?;
    Some((rest.strip_suffix(" CPUs")?.parse().ok()?, percent.parse().ok()?))
}

pub(super) fn table(study: &StudyDefinition) -> Result<ReportTable, StudyError> {
    let definition = study.table("nr_scan");
    let rows = pool::all(definition.rows.iter().collect(), |row| {
        let (llc_weight, percent) = parse_label(&row.label)
            .ok_or_else(|| StudyError::Measurement(format!("row {} names no cache", row.label)))?;
        let (nr, util) = nr_idle_scan(llc_weight, percent)?;
        let measured = MeasuredFigure::number(f64::from(nr)).with_remark(format!("sum of util_avg {util}"));
        Ok::<_, StudyError>(ReportRow::new(definition, row, measured))
    })?;
    Ok(ReportTable { name: definition.name.clone(), title: definition.title.clone(), rows })
}
