// SPDX-License-Identifier: GPL-2.0-or-later
//! What a fleet amounts to: a table in the form of mailing lists, what became better and worse, and where the two first differ.

use super::Outcome;
use super::first::First;
use fairlab_kernel::coverage::{Coverage, Line};
use fairlab_kernel::store::Entry;
use fairlab_study::experiment::comparison::{Comparison, Row, Verdict};
use fairlab_study::experiment::metrics::Better;
use serde::{Serialize, Serializer};
use std::fmt::Write as _;
use std::time::Duration;

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    /// Before and after.
    pub(crate) kernels: &'a [Entry; 2],
    pub(crate) outcomes: Vec<Outcome>,
    /// Lines of the patch that runs have reached, if that was asked.
    pub(crate) coverage: Option<Coverage>,
    /// How long building took.
    #[serde(rename = "built_s", serialize_with = "seconds")]
    pub(crate) built: Duration,
    /// How long all took.
    #[serde(rename = "took_s", serialize_with = "seconds")]
    pub(crate) took: Duration,
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

/// Rows that are told of a case: its main figure, and each of which a difference was found.
fn told(comparison: &Comparison) -> impl Iterator<Item = &Row> {
    let judged = comparison.rows.iter().filter(|row| row.metric.better != Better::Neither);
    let is_found = |row: &Row| matches!(row.changes[0].verdict, Verdict::Better | Verdict::Worse);
    judged.enumerate().filter(move |(place, row)| *place == 0 || is_found(row)).map(|(_, row)| row)
}

/// A change for the better is positive.
fn gain(row: &Row) -> f64 {
    let [before, after] = [row.arms[0].value, row.arms[1].value];
    let percent = if before == 0.0 { 0.0 } else { 100.0 * (after / before - 1.0) };
    (if row.metric.better == Better::Less { -percent } else { percent }) + 0.0
}

fn deviation(row: &Row, arm: usize) -> f64 {
    let arm = &row.arms[arm];
    if arm.value == 0.0 { 0.0 } else { 100.0 * arm.deviation / arm.value.abs() }
}

impl Report<'_> {
    /// Whether anything became worse, or one kernel did not come back.
    pub(crate) fn is_worse(&self) -> bool {
        self.outcomes.iter().any(|outcome| {
            let rows = outcome.comparison.iter().flat_map(|comparison| &comparison.rows);
            outcome.failure.is_some() || rows.into_iter().any(|row| row.changes[0].verdict == Verdict::Worse)
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a string takes text");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        for (what, kernel) in ["base    ", "patched "].iter().zip(self.kernels) {
            let patches =
                if kernel.patches.is_empty() { String::new() } else { format!(" + {}", kernel.patches.join(" + ")) };
            writeln!(text, "{what} kernel:{}: Linux {}, {}{patches}", kernel.name, kernel.version, kernel.source)?;
        }
        writeln!(
            text,
            "\ncase            load                                 metric            baseline(std%)  compare%( std%)"
        )?;
        for outcome in &self.outcomes {
            let Outcome { machine, load, comparison, failure, .. } = outcome;
            if let Some(failure) = failure {
                writeln!(text, "{machine:<15} {load:<36} DID NOT COME BACK")?;
                for line in failure.lines() {
                    writeln!(text, "    {line}")?;
                }
            }
            if let Some(why) = &outcome.left_out {
                writeln!(text, "{machine:<15} {load:<36} left out: {why}")?;
            }
            let Some(comparison) = comparison else { continue };
            if comparison.identical[0] {
                writeln!(text, "{machine:<15} {load:<36} identical in every event")?;
                continue;
            }
            for row in told(comparison) {
                let verdict = match row.changes[0].verdict {
                    Verdict::Better => "  better",
                    Verdict::Worse => "  WORSE",
                    Verdict::TooFew => "  too few",
                    _ => "",
                };
                let (before, after) = (deviation(row, 0), deviation(row, 1));
                let name = &row.metric.name;
                writeln!(
                    text,
                    "{machine:<15} {load:<36} {name:<17} 1.00 ({before:6.2})  {:+8.2} ({after:6.2}){verdict}",
                    gain(row)
                )?;
            }
        }
        self.write_summary(text)?;
        if let Some(coverage) = &self.coverage {
            write_coverage(text, coverage)?;
        }
        for outcome in &self.outcomes {
            if let Some(first) = &outcome.first {
                write_first(text, outcome, first)?;
            }
        }
        let mut warnings: Vec<&String> = self.outcomes.iter().flat_map(|outcome| &outcome.warnings).collect();
        warnings.sort();
        warnings.dedup();
        for warning in warnings {
            writeln!(text, "warning: {warning}")?;
        }
        Ok(())
    }

    fn write_summary(&self, text: &mut String) -> std::fmt::Result {
        let count = |wanted: Verdict| {
            let rows = self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref()).flat_map(|one| &one.rows);
            rows.filter(|row| row.changes[0].verdict == wanted).count()
        };
        let of = |is: fn(&Outcome) -> bool| self.outcomes.iter().filter(|outcome| is(outcome)).count();
        let identical = of(|outcome| outcome.comparison.as_ref().is_some_and(|one| one.identical[0]));
        let lost = of(|outcome| outcome.failure.is_some());
        let runs =
            self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref()).map(|one| one.repetitions).min();
        writeln!(
            text,
            "\n{} cases, {} repetitions or more of each; {identical} identical in every event; {} figures better, {} worse; {lost} did not come \
             back{}\nA positive change is one for the better. Verdicts: Wilcoxon's signed ranks of pairs, 5 % for the whole fleet.\nbuilding {:.0} s, all {:.0} s",
            self.outcomes.len(),
            runs.unwrap_or(0),
            count(Verdict::Better),
            count(Verdict::Worse),
            if count(Verdict::TooFew) > 0 {
                "\ntoo few: so few repetitions can find no difference in so many cases, however large it is"
            } else {
                ""
            },
            self.built.as_secs_f64(),
            self.took.as_secs_f64()
        )
    }
}

/// So many lines that nobody has reached are named.
const MOST_MISSED: usize = 40;

fn write_coverage(text: &mut String, coverage: &Coverage) -> std::fmt::Result {
    let Coverage { lines, missed } = coverage;
    match (lines, missed.len()) {
        (0, _) => {
            return writeln!(
                text,
                "\nof the patch's lines none became code: what it changes is data, or was left out by the configuration"
            );
        }
        (_, 0) => return writeln!(text, "\nthe {lines} lines of the patch that became code were all reached"),
        _ => {}
    }
    writeln!(
        text,
        "\n{} of the {lines} lines of the patch that became code were reached by no run, so nothing above is about them:",
        missed.len()
    )?;
    for Line { file, line, function, text: code } in missed.iter().take(MOST_MISSED) {
        writeln!(text, "    {file}:{line} in {function}(): {code}")?;
    }
    if missed.len() > MOST_MISSED {
        writeln!(text, "    and {} more: --json has all", missed.len() - MOST_MISSED)?;
    }
    Ok(())
}

fn write_first(text: &mut String, outcome: &Outcome, first: &First) -> std::fmt::Result {
    let First { at_ns, patched_at_ns, same_events, base, patched, cpus, hidden } = first;
    writeln!(
        text,
        "\n{}, {}: they first differ at {:.6} ms, after {same_events} equal events",
        outcome.machine,
        outcome.load,
        *at_ns as f64 / 1e6
    )?;
    let when = patched_at_ns.map_or_else(String::new, |at| format!(" (at {:.6} ms)", at as f64 / 1e6));
    writeln!(text, "  base:    {base}\n  patched: {patched}{when}\n  just before:")?;
    for cpu in cpus {
        writeln!(
            text,
            "    CPU {}: runs {}, nr_running {}, util_avg {}, load_avg {}, runnable_avg {}, cpu_capacity {}",
            cpu.cpu, cpu.curr, cpu.nr_running, cpu.util_avg, cpu.load_avg, cpu.runnable_avg, cpu.cpu_capacity
        )?;
    }
    if hidden.is_empty() {
        writeln!(text, "    all averages are the same in both")
    } else {
        writeln!(text, "    in base and patched not the same: {}", hidden.join("; "))
    }
}
