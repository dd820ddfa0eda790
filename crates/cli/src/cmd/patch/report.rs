// SPDX-License-Identifier: GPL-2.0-or-later
//! What a fleet amounts to: a table in the form of mailing lists, what became better and worse, and where the two first differ.

use super::divergence::Divergence;
use super::{Budget, CaseOutcome};
use crate::engine::look::TaskState;
use fairlab_kernel::coverage::{Coverage, CoverageLine};
use fairlab_kernel::store::StoreEntry;
use fairlab_study::experiment::comparison::{ChangeVerdict, Comparison, MetricRow};
use fairlab_study::experiment::metrics::MetricDirection;
use serde::{Serialize, Serializer};
use std::fmt::Write as _;
use std::time::Duration;

/// All of it.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct PatchReport<'a> {
    /// The form that this has.
    pub(crate) schema: &'static str,
    /// Before and after.
    pub(crate) kernels: &'a [StoreEntry; 2],
    pub(crate) outcomes: Vec<CaseOutcome>,
    /// Lines of the patch that runs have reached, if that was asked.
    pub(crate) coverage: Option<Coverage>,
    /// What the budget had room for, if there was one.
    pub(crate) budget: Option<Budget>,
    /// How long building took.
    #[serde(rename = "built_s", serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub(crate) built: Duration,
    /// How long all took.
    #[serde(rename = "took_s", serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub(crate) took: Duration,
}

pub(super) fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

/// Rows that are told of a case: its main figure, and each of which a difference was found.
fn outcome_text(comparison: &Comparison) -> impl Iterator<Item = &MetricRow> {
    let judged = comparison.rows.iter().filter(|row| row.metric.better != MetricDirection::Neither);
    let is_found = |row: &MetricRow| matches!(row.changes[0].verdict, ChangeVerdict::Better | ChangeVerdict::Worse);
    judged.enumerate().filter(move |(place, row)| *place == 0 || is_found(row)).map(|(_, row)| row)
}

/// A change for the better is positive.
fn gain(row: &MetricRow) -> f64 {
    let [before, after] = [row.arms[0].value, row.arms[1].value];
    let percent = if before == 0.0 { 0.0 } else { 100.0 * (after / before - 1.0) };
    (if row.metric.better == MetricDirection::Less { -percent } else { percent }) + 0.0
}

fn deviation(row: &MetricRow, arm: usize) -> f64 {
    let arm = &row.arms[arm];
    if arm.value == 0.0 { 0.0 } else { 100.0 * arm.deviation / arm.value.abs() }
}

impl PatchReport<'_> {
    /// Whether anything became worse, or one kernel did not come back.
    pub(crate) fn is_worse(&self) -> bool {
        self.outcomes.iter().any(|outcome| {
            let rows = outcome.comparison.iter().flat_map(|comparison| &comparison.rows);
            outcome.failure.is_some() || rows.into_iter().any(|row| row.changes[0].verdict == ChangeVerdict::Worse)
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
            writeln!(text, "{what} kernel:{}: Linux {}, {}{patches}", kernel.name, kernel.version, kernel.origin())?;
        }
        let width =
            |of: fn(&CaseOutcome) -> &str| self.outcomes.iter().map(|outcome| of(outcome).len()).max().unwrap_or(0);
        let (machines, loads) = (width(|outcome| outcome.machine).max(4), width(|outcome| outcome.load).max(4));
        let head = |machine: &str, load: &str| format!("{machine:<machines$}  {load:<loads$}");
        writeln!(text, "\n{}  runs  metric             baseline(std%)  compare%( std%)", head("case", "load"))?;
        let mut reasons: Vec<(String, String)> = Vec::new();
        for outcome in &self.outcomes {
            let CaseOutcome { machine, load, comparison, failure, left_out, .. } = outcome;
            let head = head(machine, load);
            if failure.is_some() {
                writeln!(text, "{head}     -  DID NOT COME BACK")?;
            }
            if left_out.is_some() {
                writeln!(text, "{head}     -  left out")?;
            }
            for (what, why) in [("did not come back", failure), ("left out", left_out)] {
                reasons.extend(why.iter().map(|why| (format!("{machine}, {load}: {what}"), why.clone())));
            }
            let Some(comparison) = comparison else { continue };
            let runs = comparison.repetitions;
            if comparison.identical[0] {
                writeln!(text, "{head}  {runs:>4}  identical in every event")?;
                continue;
            }
            for row in outcome_text(comparison) {
                let verdict = match row.changes[0].verdict {
                    ChangeVerdict::Better => "  better",
                    ChangeVerdict::Worse => "  WORSE",
                    ChangeVerdict::TooFew | ChangeVerdict::Untested => "  too few",
                    _ => "",
                };
                // One run has no deviation.
                let deviation = |arm: usize| match runs {
                    1 => "   -  ".to_owned(),
                    _ => format!("{:6.2}", deviation(row, arm)),
                };
                let (before, after, name) = (deviation(0), deviation(1), &row.metric.name);
                writeln!(
                    text,
                    "{head}  {runs:>4}  {name:<17}  1.00 ({before})  {:+8.2} ({after}){verdict}",
                    gain(row)
                )?;
            }
        }
        self.write_summary(text)?;
        for (what, why) in &reasons {
            writeln!(text, "\n{what}")?;
            // What was broken into lines stays so.
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

    /// How often each case was run.
    fn repetitions(&self) -> String {
        let runs = self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref()).map(|one| one.repetitions);
        match (runs.clone().min(), runs.max()) {
            (None, _) | (_, None) => "none of which was run to its end".to_owned(),
            (Some(1), Some(1)) => "one run each with either kernel".to_owned(),
            (Some(least), Some(most)) if least == most => format!("{least} repetitions of each"),
            (Some(least), Some(most)) => format!("{least} to {most} repetitions of each"),
        }
    }

    fn write_summary(&self, text: &mut String) -> std::fmt::Result {
        let count = |wanted: ChangeVerdict| {
            let rows = self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref()).flat_map(|one| &one.rows);
            rows.filter(|row| row.changes[0].verdict == wanted).count()
        };
        let of = |is: fn(&CaseOutcome) -> bool| self.outcomes.iter().filter(|outcome| is(outcome)).count();
        let identical = of(|outcome| outcome.comparison.as_ref().is_some_and(|one| one.identical[0]));
        let lost = of(|outcome| outcome.failure.is_some());
        let cases = if self.outcomes.len() == 1 { "1 case" } else { &format!("{} cases", self.outcomes.len()) };
        writeln!(
            text,
            "\n{cases}, {}; {identical} identical in every event; {} figures better, {} worse; {lost} did not come back",
            self.repetitions(),
            count(ChangeVerdict::Better),
            count(ChangeVerdict::Worse),
        )?;
        writeln!(
            text,
            "A positive change is one for the better. Verdicts: Wilcoxon's signed ranks of pairs, 5 % for the whole fleet."
        )?;
        for outcome in &self.outcomes {
            if let Some(because) = &outcome.plain_because {
                writeln!(text, "{}, {}: taken as with --plain=priced ({because})", outcome.machine, outcome.load)?;
            }
        }
        let enough = self.outcomes.iter().filter_map(|outcome| outcome.comparison.as_ref()).map(|one| one.enough).max();
        if count(ChangeVerdict::TooFew) + count(ChangeVerdict::Untested) > 0 {
            let enough = enough.unwrap_or(0);
            writeln!(
                text,
                "too few: so few repetitions can find no difference in so many cases, however large it is; --runs {enough} can"
            )?;
        }
        if let Some(budget) = &self.budget {
            writeln!(text, "{}", budget.sentence())?;
        }
        writeln!(text, "building {:.0} s, all {:.0} s", self.built.as_secs_f64(), self.took.as_secs_f64())
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
    for CoverageLine { file, line, function, text: code } in missed.iter().take(MOST_MISSED) {
        writeln!(text, "    {file}:{line} in {function}(): {code}")?;
    }
    if missed.len() > MOST_MISSED {
        writeln!(text, "    and {} more: --json has all", missed.len() - MOST_MISSED)?;
    }
    Ok(())
}

fn write_first(text: &mut String, outcome: &CaseOutcome, first: &Divergence) -> std::fmt::Result {
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
        "\n{}, {}: they first differ at {}, after {same_events} equal events",
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
        writeln!(text, "  in base and patched not the same: {}", fields.join("; "))?;
    }
    match decision {
        Some(decision) => {
            let when = decision.at_ns.map_or_else(String::new, |at| format!(" at {:.6} ms", at as f64 / 1e6));
            writeln!(text, "  decided otherwise{when}: {}", decision.sentence())?;
            writeln!(text, "  in the call: {}", decision.call)?;
            for line in decision.lines() {
                writeln!(text, "    {line}")?;
            }
        }
        None => writeln!(text, "  both enter the same functions then: what differs are figures")?,
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
        writeln!(text, "    all of that is the same in both")
    } else {
        writeln!(text, "    in base and patched not the same: {}", hidden.join("; "))
    }
}
