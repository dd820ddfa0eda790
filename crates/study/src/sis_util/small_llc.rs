// SPDX-License-Identifier: GPL-2.0-or-later
//! hackbench on caches of 16 CPUs, with and without the proposed boost of searches on them
//! (`small_llc_scan`).
//!
//! Only a direction was published: a slight regression after the change. Each value is therefore the mean of
//! several runs at different phases relative to the tick, and counts as changed if the difference is larger
//! than the sum of both spreads.

use super::case::{UPTIME, add_daemons};
use crate::definition::StudyDefinition;
use crate::error::StudyError;
use crate::progress::ProgressSum;
use crate::report::{MeasuredFigure, ReportTable};
use crate::run::machine;
use crate::window::{WindowCounts, WindowSpan, run_window};
use fairlab_experiment::pool;
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::hackbench::{Hackbench, LOOP};
use std::collections::BTreeMap;

/// Name of the table in the study's data.
pub(super) const TABLE: &str = "small caches";
/// Labels of the table's rows.
pub(super) const LABELS: &[&str] = &[
    "pipe, messages/us",
    "pipe, se_eff, %",
    "pipe, success_rate, %",
    "pipe, beside before",
    "pipe, beside after",
    "sockets, messages/us",
    "sockets, se_eff, %",
    "sockets, success_rate, %",
    "sockets, beside before",
    "sockets, beside after",
];
/// Fraction of the study's progress that the table takes.
const PROGRESS_SHARE: f64 = 0.17;
/// Number of groups, and of senders in each.
const GROUPS: u32 = 16;
const FDS: u32 = 20;
/// Machine with last-level caches of 16 CPUs.
const MACHINE: &str = "epyc-16llc";
/// Additional start time of each run; not a divisor of the tick period.
const PHASE: Nanos = Nanos(1_300_000);

/// Number of runs of each arm.
const RUNS: u64 = 2;
/// Warm-up and window of a run with pipes, and with sockets. Runs with pipes reach their steady state before
/// 100 ms. Sockets transfer messages in long series, so that limits and utilisation take three times as long
/// to settle.
const PIPES: WindowSpan = WindowSpan { warm_up: Nanos::from_millis(150), window: Nanos::from_millis(20) };
const SOCKETS: WindowSpan = WindowSpan { warm_up: Nanos::from_millis(300), window: Nanos::from_millis(20) };
/// Largest change, in percent, that is called slight.
const SLIGHT: f64 = 10.0;

/// Runs hackbench with pipes or sockets under an arm.
fn run(study: &StudyDefinition, arm: &str, pipe: bool, phase: u64) -> Result<WindowCounts, StudyError> {
    let hardware = machine(MACHINE);
    let bench =
        Hackbench { groups: GROUPS, fds: FDS, loops: 1_000_000, pipe, start_signal: true, ..Hackbench::default() };
    let mut workload = bench.workload();
    workload.tasks[0].start_at = Some(UPTIME + Nanos(phase * PHASE.0));
    add_daemons(&hardware, &mut workload);
    let span = if pipe { PIPES } else { SOCKETS };
    run_window(study.arm(arm), hardware, workload, WindowSpan { warm_up: UPTIME + span.warm_up, ..span }, 0)
}

/// Returns the number of messages per microsecond.
fn messages_per_us(seen: &WindowCounts) -> f64 {
    let loops = seen.marks.get(&LOOP).copied().unwrap_or(0);
    loops as f64 * f64::from(FDS) * 1e3 / seen.window.0 as f64
}

/// Describes a change as text: no difference, or slightly or much slower or faster.
fn direction(before: &MeasuredFigure, after: &MeasuredFigure) -> MeasuredFigure {
    let (Some(from), Some(to)) = (before.value.number(), after.value.number()) else {
        return MeasuredFigure::text("none");
    };
    let percent = 100.0 * (to - from) / from;
    let words = if (to - from).abs() <= before.spread + after.spread {
        "no difference"
    } else {
        match (percent < 0.0, percent.abs() <= SLIGHT) {
            (true, true) => "slightly slower",
            (true, false) => "much slower",
            (false, true) => "slightly faster",
            (false, false) => "much faster",
        }
    };
    MeasuredFigure::text(words).with_remark(format!("{percent:+.1} %"))
}

/// Returns the note on the method for the report.
pub(super) fn note() -> String {
    format!(
        "Small caches: machine {MACHINE} with its costs, {} after {} with pipes, after {} with sockets, means of {RUNS} runs.",
        PIPES.window, PIPES.warm_up, SOCKETS.warm_up
    )
}

pub(super) fn table(study: &StudyDefinition, tally: &ProgressSum<'_>) -> Result<ReportTable, StudyError> {
    let arms = ["before", "after", "boost"];
    let cases = arms.iter().flat_map(|arm| [true, false].map(|pipe| (*arm, pipe)));
    let cases: Vec<_> = cases.flat_map(|case| (0..RUNS).map(move |phase| (case, phase))).collect();
    let part = PROGRESS_SHARE / cases.len() as f64;
    let runs = pool::all(cases, |((arm, pipe), phase)| {
        let seen = run(study, arm, pipe, phase)?;
        tally.add("small caches", part);
        Ok::<_, StudyError>(((arm, pipe), seen))
    })?;
    let mut seen: BTreeMap<(&str, bool), Vec<WindowCounts>> = BTreeMap::new();
    for (case, run) in runs {
        seen.entry(case).or_default().push(run);
    }
    Ok(ReportTable::fill(study.table(TABLE), |row| {
        let (kind, what) = row.label.split_once(", ").unwrap_or((&row.label, ""));
        let mean = |arm: &str, what: fn(&WindowCounts) -> f64| {
            MeasuredFigure::mean_of_runs(seen[&(arm, kind == "pipe")].iter().map(what).collect())
        };
        match what {
            "messages/us" => mean(&row.arm, messages_per_us),
            "se_eff, %" => mean(&row.arm, |seen| seen.search.ratios().se_eff),
            "success_rate, %" => mean(&row.arm, |seen| seen.search.ratios().success_rate),
            "beside before" => direction(&mean("before", messages_per_us), &mean(&row.arm, messages_per_us)),
            "beside after" => direction(&mean("after", messages_per_us), &mean(&row.arm, messages_per_us)),
            _ => MeasuredFigure::text("not measured"),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_a_word_if_it_is_larger_than_what_runs_differ_by() {
        let words = |before: [f64; 2], after: [f64; 2]| {
            let [before, after] = [before, after].map(|runs| MeasuredFigure::mean_of_runs(runs.to_vec()));
            direction(&before, &after).value.to_string()
        };
        assert_eq!(words([100.0, 100.0], [96.0, 98.0]), "slightly slower");
        assert_eq!(words([100.0, 100.0], [50.0, 50.0]), "much slower");
        assert_eq!(words([98.0, 102.0], [96.0, 99.0]), "no difference");
        assert_eq!(words([50.0, 50.0], [51.0, 51.0]), "slightly faster");
        assert_eq!(words([50.0, 50.0], [60.0, 60.0]), "much faster");
    }
}
