// SPDX-License-Identifier: GPL-2.0-or-later
//! Report of a fleet: a table in the format of kernel mailing lists, improvements and regressions, and first
//! differences.

use super::divergence::Divergence;
use super::problems::{KernelProblem, UncommonCost};
use super::{Budget, CaseFailure, CaseResult};
use crate::execution::worker::state::TaskState;
use crate::output::figures::counted;
use fairlab_experiment::comparison::{ChangeVerdict, Comparison, MetricRow};
use fairlab_experiment::metrics::MetricDirection;
use fairlab_kernel::coverage::{ChangeKind, Coverage, CoverageLine};
use fairlab_kernel::store::StoreEntry;
use serde::{Serialize, Serializer};
use std::fmt::Write as _;
use std::time::Duration;

/// Report of `fairlab patch`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct PatchReport<'a> {
    /// Name and version of this format.
    pub(crate) schema: &'static str,
    /// Base kernel and patched kernel.
    pub(crate) kernels: &'a [StoreEntry; 2],
    /// Warnings, lost wake-ups, and kernels that did not return; those of the patched kernel alone first.
    pub(crate) problems: Vec<KernelProblem>,
    /// Counted functions that only one of the kernels has.
    pub(crate) uncommon_costs: Vec<UncommonCost>,
    /// Number of cases that were requested.
    pub(crate) nr_cases: usize,
    /// Whether a signal has ended the command; then some cases are missing or have fewer repetitions.
    pub(crate) is_stopped: bool,
    pub(crate) outcomes: Vec<CaseResult>,
    /// Changed statements that runs have reached, if coverage was measured.
    pub(crate) coverage: Option<Coverage>,
    /// Repetitions that fit into the budget, if there was one.
    pub(crate) budget: Option<Budget>,
    /// Wall-clock time of building, in seconds.
    #[serde(rename = "built_s", serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub(crate) built: Duration,
    /// Wall-clock time of the whole command, in seconds.
    #[serde(rename = "took_s", serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub(crate) took: Duration,
}

pub(super) fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

/// Returns the rows to print for a case: its main metric, and each metric with a difference.
fn reported_rows(comparison: &Comparison) -> impl Iterator<Item = &MetricRow> {
    let judged = comparison.rows.iter().filter(|row| row.metric.better != MetricDirection::Neither);
    let is_found = |row: &MetricRow| matches!(row.changes[0].verdict, ChangeVerdict::Better | ChangeVerdict::Worse);
    judged.enumerate().filter(move |(place, row)| *place == 0 || is_found(row)).map(|(_, row)| row)
}

impl PatchReport<'_> {
    /// Whether any metric became worse, or only the patched kernel has a problem.
    pub(crate) fn is_worse(&self) -> bool {
        let comparisons = self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref());
        let mut rows = comparisons.flat_map(|comparison| &comparison.rows);
        self.problems.iter().any(KernelProblem::is_of_patch)
            || rows.any(|row| row.changes[0].verdict == ChangeVerdict::Worse)
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
            writeln!(text, "{what} kernel:{}: Linux {}, {}{patches}", kernel.name, kernel.version, kernel.origin())?;
        }
        if self.is_stopped {
            writeln!(text, "stopped after {} of {}", self.outcomes.len(), counted(self.nr_cases, "case"))?;
        }
        self.problems.iter().try_for_each(|problem| problem.write(text, self.outcomes.len()))?;
        self.uncommon_costs.iter().try_for_each(|cost| cost.write(text))?;
        let width =
            |of: fn(&CaseResult) -> &str| self.outcomes.iter().map(|outcome| of(outcome).len()).max().unwrap_or(0);
        let (machines, loads) = (width(|outcome| outcome.machine).max(4), width(|outcome| outcome.load).max(4));
        let head = |machine: &str, load: &str| format!("{machine:<machines$}  {load:<loads$}");
        writeln!(text, "\n{}  runs  metric             baseline(std%)  compare%( std%)", head("case", "load"))?;
        let mut reasons: Vec<(String, String)> = Vec::new();
        for outcome in &self.outcomes {
            let CaseResult { machine, load, comparison, failures, left_out, .. } = outcome;
            let head = head(machine, load);
            let failed: Vec<&str> = failures.iter().map(|failure| failure.kernel).collect();
            if !failed.is_empty() {
                writeln!(text, "{head}     -  NO RETURN: {}", failed.join(", "))?;
            }
            if left_out.is_some() {
                writeln!(text, "{head}     -  left out")?;
            }
            reasons.extend(failures.iter().map(|CaseFailure { kernel, report }| {
                (format!("{machine}, {load}: the {kernel} kernel did not return"), report.clone())
            }));
            reasons.extend(left_out.iter().map(|why| (format!("{machine}, {load}: left out"), why.clone())));
            let Some(comparison) = comparison else { continue };
            let runs = comparison.repetitions;
            if comparison.identical[0] {
                writeln!(text, "{head}  {runs:>4}  identical in every event")?;
                continue;
            }
            for row in reported_rows(comparison) {
                let verdict = match row.changes[0].verdict {
                    ChangeVerdict::Better => "  better",
                    ChangeVerdict::Worse => "  WORSE",
                    ChangeVerdict::TooFew | ChangeVerdict::Untested => "  too few",
                    _ => "",
                };
                // The deviation of a single run is undefined.
                let deviation = |arm: usize| match runs {
                    1 => "   -  ".to_owned(),
                    _ => format!("{:6.2}", row.arms[arm].deviation_percent()),
                };
                let (before, after, name) = (deviation(0), deviation(1), &row.metric.name);
                writeln!(
                    text,
                    "{head}  {runs:>4}  {name:<17}  1.00 ({before})  {:+8.2} ({after}){verdict}",
                    row.gain_percent(1)
                )?;
            }
        }
        self.write_summary(text)?;
        for (what, why) in &reasons {
            writeln!(text, "\n{what}")?;
            // Existing line breaks are kept.
            let lines: Vec<String> = why
                .split("help: ")
                .enumerate()
                .map(|(nr, part)| if nr == 0 { part.to_owned() } else { format!("help: {part}") })
                .collect();
            for line in lines.iter().flat_map(|part| part.lines()).filter(|line| !line.trim().is_empty()) {
                writeln!(text, "    {}", line.trim_end())?;
            }
        }
        if let Some(coverage) = &self.coverage {
            write_coverage(text, coverage)?;
        }
        for outcome in &self.outcomes {
            if let Some(first) = &outcome.first {
                write_divergence(text, outcome, first)?;
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

    /// Describes the number of repetitions of each case.
    fn repetitions(&self) -> String {
        let runs = self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref()).map(|one| one.repetitions);
        match (runs.clone().min(), runs.max()) {
            (None, _) | (_, None) => "none of which ran to its end".to_owned(),
            (Some(1), Some(1)) => "one run with each kernel".to_owned(),
            (Some(least), Some(most)) if least == most => format!("{least} repetitions of each"),
            (Some(least), Some(most)) => format!("{least} to {most} repetitions of each"),
        }
    }

    fn write_summary(&self, text: &mut String) -> std::fmt::Result {
        let count = |wanted: ChangeVerdict| {
            let rows = self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref()).flat_map(|one| &one.rows);
            rows.filter(|row| row.changes[0].verdict == wanted).count()
        };
        let of = |is: fn(&CaseResult) -> bool| self.outcomes.iter().filter(|outcome| is(outcome)).count();
        let identical = of(|outcome| outcome.comparison.as_ref().is_some_and(|one| one.identical[0]));
        let lost = of(|outcome| !outcome.failures.is_empty());
        let cases = counted(self.outcomes.len(), "case");
        writeln!(
            text,
            "\n{cases}, {}; {identical} identical in every event; {} metrics better, {} worse; {lost} without a return",
            self.repetitions(),
            count(ChangeVerdict::Better),
            count(ChangeVerdict::Worse),
        )?;
        writeln!(
            text,
            "A positive change is an improvement. Verdicts: Wilcoxon signed-rank test of pairs, 5 % for the whole fleet."
        )?;
        for outcome in &self.outcomes {
            if let Some(because) = &outcome.plain_because {
                writeln!(
                    text,
                    "{}, {}: simplified as with `--plain=priced` ({because})",
                    outcome.machine, outcome.load
                )?;
            }
        }
        let enough = self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref()).map(|one| one.enough).max();
        if count(ChangeVerdict::TooFew) + count(ChangeVerdict::Untested) > 0 {
            let enough = enough.unwrap_or(0);
            writeln!(
                text,
                "too few: with this number of repetitions no difference is significant in so many cases; use --runs {enough}"
            )?;
        }
        if let Some(budget) = &self.budget {
            writeln!(text, "{}", budget.sentence())?;
        }
        writeln!(text, "building {:.0} s, all {:.0} s", self.built.as_secs_f64(), self.took.as_secs_f64())
    }
}

/// Largest number of lines of a patch that are printed in a list.
const MAX_LINES: usize = 40;

fn write_coverage(text: &mut String, coverage: &Coverage) -> std::fmt::Result {
    let Coverage { statements, missed, not_compiled } = coverage;
    match (statements, missed.len()) {
        (0, _) => writeln!(text, "\nthe patch changes no compiled statement")?,
        (1, 0) => writeln!(text, "\nthe one changed statement was reached")?,
        (_, 0) => writeln!(text, "\nall {statements} changed statements were reached")?,
        (_, nr) => {
            let (of, were) = (counted(*statements, "changed statement"), if nr == 1 { "was" } else { "were" });
            writeln!(text, "\n{nr} of {of} {were} reached by no run, so no result covers:")?;
        }
    }
    write_lines(text, missed)?;
    if !not_compiled.is_empty() {
        writeln!(
            text,
            "{} not compiled:",
            if not_compiled.len() == 1 {
                "1 changed line is".to_owned()
            } else {
                format!("{} changed lines are", not_compiled.len())
            }
        )?;
    }
    write_lines(text, not_compiled)
}

fn write_lines(text: &mut String, lines: &[CoverageLine]) -> std::fmt::Result {
    for CoverageLine { file, line, change, function, text: code, why } in lines.iter().take(MAX_LINES) {
        let at = if function.is_empty() { String::new() } else { format!(" in {function}()") };
        let removed = if *change == ChangeKind::Removed { "removed: " } else { "" };
        let why = why.map_or_else(String::new, |why| format!(" ({})", why.text()));
        writeln!(text, "    {file}:{line}{at}: {removed}{code}{why}")?;
    }
    if lines.len() > MAX_LINES {
        writeln!(text, "    and {} more: --json has all", lines.len() - MAX_LINES)?;
    }
    Ok(())
}

fn write_divergence(text: &mut String, outcome: &CaseResult, first: &Divergence) -> std::fmt::Result {
    let Divergence {
        at_ns,
        patched_at_ns,
        same_events,
        before,
        decision,
        base,
        patched,
        then,
        cpus,
        tasks,
        fields,
        hidden,
    } = first;
    let ms = |ns: u64| format!("{:.6} ms", ns as f64 / 1e6);
    writeln!(
        text,
        "\n{}, {}: the kernels first differ at {}, after {same_events} equal events",
        outcome.machine,
        outcome.load,
        ms(*at_ns)
    )?;
    for event in before {
        writeln!(text, "  both:    {event}")?;
    }
    let when = patched_at_ns.map_or_else(String::new, |at| format!(" (at {})", ms(at)));
    writeln!(text, "  base:    {base}")?;
    then[0].iter().try_for_each(|event| writeln!(text, "           {event}"))?;
    writeln!(text, "  patched: {patched}{when}")?;
    then[1].iter().try_for_each(|event| writeln!(text, "           {event}"))?;
    if !fields.is_empty() {
        writeln!(text, "  different in base and patched: {}", fields.join("; "))?;
    }
    match decision {
        Some(decision) => {
            let when = decision.at_ns.map_or_else(String::new, |at| format!(" at {:.6} ms", at as f64 / 1e6));
            writeln!(text, "  first different decision{when}: {}", decision.sentence())?;
            writeln!(text, "  in the call: {}", decision.call)?;
            for line in decision.lines() {
                writeln!(text, "    {line}")?;
            }
        }
        None => writeln!(text, "  both enter equal functions at that time: only values differ")?,
    }
    writeln!(text, "  just before:")?;
    for cpu in cpus {
        let queued = if cpu.queued.is_empty() { "nothing".to_owned() } else { cpu.queued.join(", ") };
        writeln!(
            text,
            "    CPU {}: runs {}, nr_running {} ({queued}), util_avg {}, load_avg {}, runnable_avg {}, cpu_capacity {}, avg_idle {} ns",
            cpu.cpu,
            cpu.curr,
            cpu.nr_running,
            cpu.util_avg,
            cpu.load_avg,
            cpu.runnable_avg,
            cpu.cpu_capacity,
            cpu.avg_idle
        )?;
        for domain in &cpu.domains {
            writeln!(
                text,
                "      domain {} (level {}): nr_balance_failed {}, cache_nice_tries {}, imbalance_pct {}, balance_interval {}",
                domain.name,
                domain.level,
                domain.nr_balance_failed,
                domain.cache_nice_tries,
                domain.imbalance_pct,
                domain.balance_interval
            )?;
        }
    }
    for task in tasks {
        let TaskState { task, pid, cpu, util_avg, vruntime } = task;
        writeln!(text, "    {task} (pid {pid}) on CPU {cpu}: util_avg {util_avg}, vruntime {vruntime}")?;
    }
    if hidden.is_empty() {
        writeln!(text, "    all of this is equal in both")
    } else {
        writeln!(text, "    different in base and patched: {}", hidden.join("; "))
    }
}
