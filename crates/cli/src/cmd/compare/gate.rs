// SPDX-License-Identifier: GPL-2.0-or-later
//! `--fail-on`: what fails if a comparison found something.
//!
//! What passes must have been able to fail. So it is refused, before repetitions are made if that can be seen, where so few of them can find
//! nothing, however large it is, or where no metric is judged.

use crate::args::compare::{CompareArgs, FailOn};
use crate::output::figures::counted;
use crate::values::error::CliError;
use fairlab_experiment::Observation;
use fairlab_experiment::comparison::{ChangeVerdict, Comparison, ComparisonRules, compare};
use fairlab_experiment::rank::enough;
use fairlab_experiment::report::ComparisonReport;
use fairlab_workload::message::Message;

/// Refuses, after a first repetition, what could not fail. Without a gate there is no first repetition.
pub(super) fn refuse_undetectable(
    args: &CompareArgs,
    first: &[Vec<Observation>],
    rules: ComparisonRules,
) -> Result<(), CliError> {
    if first.is_empty() {
        return Ok(());
    }
    let comparison = compare(first, rules);
    refuse_unjudged(&comparison)?;
    // An arm that does the same has no test.
    let differing = comparison.identical.iter().filter(|is_same| !**is_same).count();
    let judged = comparison.rows.iter().filter(|row| row.metric.is_tested).count();
    let runs = args.experiment.runs.unwrap_or(1) as usize;
    let tests = judged * differing;
    let least = enough(tests, rules.level);
    if tests == 0 || runs >= least {
        return Ok(());
    }
    let help = format!("add --runs {least}, or look at fewer metrics (--metric NAME) or arms");
    Err(CliError::with_help(
        format!(
            "--fail-on would pass whatever happens: --runs {runs} cannot find any difference in {} at {} %",
            counted(tests, "test"),
            100.0 * rules.level
        ),
        help,
    ))
}

fn refuse_unjudged(comparison: &Comparison) -> Result<(), CliError> {
    if comparison.is_judged() {
        return Ok(());
    }
    let help = "look at another metric, or say which way is better: --metric totals.migrations:less";
    Err(CliError::with_help("--fail-on would pass whatever happens: no metric is judged", help))
}

/// Why a comparison that found nothing says nothing, if that is so.
fn untested_error(report: &ComparisonReport) -> Option<CliError> {
    let comparison = &report.comparison;
    let has =
        |verdict: ChangeVerdict| comparison.rows.iter().flat_map(|row| &row.changes).any(|one| one.verdict == verdict);
    let blind = |why: &str, help: &str| {
        Some(CliError::with_help(format!("--fail-on would have passed whatever happened: {why}"), help))
    };
    if let Err(unjudged) = refuse_unjudged(comparison) {
        return Some(unjudged);
    }
    if has(ChangeVerdict::TooFew) {
        let why = format!(
            "{} repetitions that differ are too few for {}",
            comparison.distinct,
            counted(comparison.tests, "test")
        );
        return blind(
            &why,
            &format!("at least {} could find a difference: add --runs, or --budget", comparison.enough),
        );
    }
    if has(ChangeVerdict::Untested) {
        return blind("only one repetition differs, and that is no test", "add --runs 20, without --hold-still");
    }
    None
}

/// Fails if the comparison found what it was to fail on.
pub(super) fn gate(args: &CompareArgs, report: &ComparisonReport) -> Result<(), CliError> {
    let Some(fail_on) = args.fail_on else { return Ok(()) };
    let least = args.at_least.unwrap_or(0.0);
    let mut found = Vec::new();
    for row in &report.comparison.rows {
        for (arm, change) in row.changes.iter().enumerate() {
            let is_meant = match change.verdict {
                ChangeVerdict::Worse => true,
                ChangeVerdict::Better => fail_on == FailOn::Difference,
                _ => false,
            };
            if is_meant && change.percent.is_none_or(|percent| percent.abs() >= least) {
                let by = change.percent.map_or_else(String::new, |percent| format!(" ({percent:+.1} %)"));
                found.push(format!("{} of `{}`{by}", row.metric.name, report.arms[arm + 1]));
            }
        }
    }
    if found.is_empty() {
        return untested_error(report).map_or(Ok(()), Err);
    }
    let what = if fail_on == FailOn::Worse { "worse" } else { "different" };
    Err(CliError::Gate(Message::new(format!("{what} than `{}`: {}", report.arms[0], found.join(", ")))))
}
