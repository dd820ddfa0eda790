// SPDX-License-Identifier: GPL-2.0-or-later
//! Problems of the kernels besides their metrics: warnings, lost wake-ups, kernels that do not return. A problem that
//! only the patched kernel has makes the patch worse.

use crate::execution::trial::TrialResult;
use crate::execution::trial_arms::DOES_NOT_END;
use crate::output::figures::counted;
use crate::values::error::CliError;
use fairlab_machine::sim::START;
use fairlab_measure::summary::{KernelLogLine, UncommonCall};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Names of the two kernels.
pub(crate) const KERNEL_NAMES: [&str; 2] = ["base", "patched"];

/// Largest number of callers that are printed.
const MAX_TRACE: usize = 12;

/// Kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProblemKind {
    /// The kernel crashed, panicked or did not return, or a benchmark did not end.
    NoReturn,
    /// The kernel accepted a wake-up and did not queue the task, or no task can continue.
    LostWakeup,
    /// A WARN of the kernel.
    Warning,
}

impl ProblemKind {
    const fn title(self) -> &'static str {
        match self {
            Self::NoReturn => "NO RETURN",
            Self::LostWakeup => "LOST WAKE-UP",
            Self::Warning => "WARNING",
        }
    }
}

/// Problem of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub(crate) struct KernelProblem {
    pub(crate) kind: ProblemKind,
    /// Kernels that have it: `base`, `patched`.
    pub(crate) kernels: BTreeSet<&'static str>,
    /// Message of the kernel or of the machine.
    pub(crate) text: String,
    /// Callers of a warning with their positions in the sources, innermost first.
    pub(crate) trace: Vec<String>,
    /// Cases in which it occurs: machine and workload.
    pub(crate) cases: Vec<String>,
    /// Seed of the first run with it.
    pub(crate) seed: u64,
    /// CPU of the first occurrence.
    pub(crate) cpu: Option<u32>,
    /// Time of the first occurrence in that run, in nanoseconds.
    pub(crate) at_ns: Option<u64>,
}

/// Counted function that only one of the kernels has, over all cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub(crate) struct UncommonCost {
    pub(crate) function: String,
    /// Kernels that have it: `base`, `patched`.
    pub(crate) kernels: BTreeSet<&'static str>,
    /// Operation as which it is counted.
    pub(crate) operation: String,
    /// Function that pays for it in both kernels, once per call; null if nothing is charged.
    pub(crate) charged_to: Option<String>,
    pub(crate) calls: u64,
    /// Smallest cost of a call among the machines with costs, in picoseconds; 0 if there is none.
    pub(crate) min_cost_ps: u64,
    /// Largest cost of a call among the machines, in picoseconds.
    pub(crate) max_cost_ps: u64,
    /// Time that the calls would take, in nanoseconds.
    pub(crate) ns: u64,
    /// Time of all kernel code of the same runs, in nanoseconds.
    pub(crate) kernel_ns: u64,
}

/// Problems and uncommon costs of the runs of one or of all cases.
#[derive(Clone, Debug, Default)]
pub(super) struct RunLog {
    problems: BTreeMap<(ProblemKind, String), KernelProblem>,
    uncommon: BTreeMap<(String, String), UncommonCost>,
}

impl RunLog {
    /// Adds a run of a case with the base kernel (0) or the patched one (1).
    pub(super) fn add(&mut self, arm: usize, seed: u64, case: &str, result: Result<&TrialResult, &CliError>) {
        let problem = |kind, text: String| KernelProblem {
            kind,
            kernels: BTreeSet::from([KERNEL_NAMES[arm]]),
            text,
            trace: Vec::new(),
            cases: vec![case.to_owned()],
            seed,
            cpu: None,
            at_ns: None,
        };
        let summary = match result {
            Ok(result) => &result.summary,
            Err(CliError::Run(report)) => {
                return self.add_problem(problem(ProblemKind::NoReturn, failure_text(&report.to_string())));
            }
            Err(_) => return,
        };
        for lost in &summary.standstill.lost_wakeups {
            let text = format!("{} is on no runqueue after its wake-up", lost.task);
            self.add_problem(KernelProblem { at_ns: Some(lost.at_ns), ..problem(ProblemKind::LostWakeup, text) });
        }
        for stuck in &summary.standstill.stuck {
            let text = format!("{} waits for {}, and no task can wake it", stuck.task, stuck.waits_for);
            self.add_problem(KernelProblem { at_ns: Some(stuck.since_ns), ..problem(ProblemKind::LostWakeup, text) });
        }
        let Some(engine) = &summary.engine else { return };
        for warning in warnings(&engine.log) {
            let first = &warning[0];
            let text = warning.iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(": ");
            self.add_problem(KernelProblem {
                trace: warning.last().map(|line| line.trace.clone()).unwrap_or_default(),
                cpu: Some(first.cpu),
                at_ns: Some(first.at_ns.saturating_sub(START.0)),
                ..problem(ProblemKind::Warning, text.trim_start_matches("WARNING: ").to_owned())
            });
        }
        for uncommon in &engine.uncommon {
            self.add_uncommon(arm, uncommon, summary.totals.kernel_ns);
        }
    }

    fn add_problem(&mut self, problem: KernelProblem) {
        let key = (problem.kind, common_text(&problem));
        match self.problems.get_mut(&key) {
            Some(known) => {
                known.kernels.extend(problem.kernels);
                known
                    .cases
                    .extend(problem.cases.into_iter().filter(|case| !known.cases.contains(case)).collect::<Vec<_>>());
            }
            None => {
                self.problems.insert(key, problem);
            }
        }
    }

    fn add_uncommon(&mut self, arm: usize, call: &UncommonCall, kernel_ns: u64) {
        let key = (call.function.clone(), call.operation.clone());
        let cost = self.uncommon.entry(key).or_insert_with(|| UncommonCost {
            function: call.function.clone(),
            operation: call.operation.clone(),
            charged_to: call.charged_to.clone(),
            ..UncommonCost::default()
        });
        cost.add_cost(call.cost_ps, call.cost_ps);
        // The other kernel reports no calls.
        if call.calls > 0 {
            cost.kernels.insert(KERNEL_NAMES[arm]);
            cost.calls += call.calls;
            cost.ns += call.calls * call.cost_ps / 1000;
            cost.kernel_ns += kernel_ns;
        }
    }

    /// Adds the runs of a further case.
    pub(super) fn extend(&mut self, other: Self) {
        other.problems.into_values().for_each(|problem| self.add_problem(problem));
        for (key, cost) in other.uncommon {
            let known = self.uncommon.entry(key).or_insert_with(|| UncommonCost {
                calls: 0,
                ns: 0,
                kernel_ns: 0,
                ..cost.clone()
            });
            known.kernels.extend(cost.kernels);
            known.calls += cost.calls;
            known.add_cost(cost.min_cost_ps, cost.max_cost_ps);
            known.ns += cost.ns;
            known.kernel_ns += cost.kernel_ns;
        }
    }

    /// Returns the problems, those of the patched kernel alone first.
    pub(super) fn problems(&self) -> Vec<KernelProblem> {
        let mut problems: Vec<KernelProblem> = self.problems.values().cloned().collect();
        problems.sort_by_key(|problem| !problem.is_of_patch());
        problems
    }

    /// Returns the counted functions that only one kernel has.
    pub(super) fn uncommon(&self) -> Vec<UncommonCost> {
        self.uncommon.values().cloned().collect()
    }

    /// Returns the seed of a run with this kernel that did not return.
    pub(super) fn failed_at(&self, arm: usize) -> Option<u64> {
        let is_it = |problem: &&KernelProblem| {
            problem.kind == ProblemKind::NoReturn && problem.kernels.contains(KERNEL_NAMES[arm])
        };
        self.problems.values().find(is_it).map(|problem| problem.seed)
    }
}

/// Returns the part of a report that does not depend on the name of the engine.
fn failure_text(report: &str) -> String {
    let first = report.lines().next().unwrap_or_default();
    let without_name =
        first.strip_prefix("kernel:").and_then(|rest| rest.split_once(": ")).map_or(first, |(_, text)| text);
    without_name.to_owned()
}

/// Returns the warnings in a log: a line that begins one, up to the line with its trace.
fn warnings(log: &[KernelLogLine]) -> Vec<&[KernelLogLine]> {
    let begins = |line: &KernelLogLine| line.text.starts_with("WARNING: ");
    let mut found = Vec::new();
    let mut rest = log;
    while let Some(start) = rest.iter().position(begins) {
        rest = &rest[start..];
        let has_trace = rest.iter().position(|line| !line.trace.is_empty());
        let next = rest.iter().skip(1).position(begins).map(|at| at + 1);
        // After many warnings there are no traces.
        let end = match (has_trace, next) {
            (Some(last), Some(next)) if last < next => last + 1,
            (Some(last), None) => last + 1,
            _ => 1,
        };
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

/// Returns the part of a problem's text that its occurrences have in common: the tasks differ, and so do benchmarks.
fn common_text(problem: &KernelProblem) -> String {
    match (problem.kind, problem.text.split_once(DOES_NOT_END)) {
        (ProblemKind::LostWakeup, _) => String::new(),
        (ProblemKind::NoReturn, Some(_)) => DOES_NOT_END.to_owned(),
        _ => without_line_numbers(&problem.text),
    }
}

/// Returns a text without the line numbers of sources, which a patch moves.
fn without_line_numbers(text: &str) -> String {
    let mut kept = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        kept.push(letter);
        let is_number = letter == ':' && letters.peek().is_some_and(char::is_ascii_digit);
        while is_number && letters.peek().is_some_and(char::is_ascii_digit) {
            letters.next();
        }
    }
    kept
}

impl KernelProblem {
    /// Whether only the patched kernel has it.
    pub(crate) fn is_of_patch(&self) -> bool {
        !self.kernels.contains(KERNEL_NAMES[0])
    }

    pub(super) fn write(&self, text: &mut String, nr_cases: usize) -> std::fmt::Result {
        let kernels: Vec<&str> = self.kernels.iter().copied().collect();
        let kernel_names =
            if kernels.len() == 1 { format!("only in {}", kernels[0]) } else { "in both kernels".to_owned() };
        writeln!(text, "{} {kernel_names}: {}", self.kind.title(), self.text)?;
        for frame in self.trace.iter().take(MAX_TRACE) {
            writeln!(text, "    {frame}")?;
        }
        if self.trace.len() > MAX_TRACE {
            writeln!(text, "    and {}: --json has all", counted(self.trace.len() - MAX_TRACE, "caller"))?;
        }
        let cpu = self.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        let at = self.at_ns.map_or_else(String::new, |at| format!(", at {:.6} ms{cpu}", at as f64 / 1e6));
        writeln!(
            text,
            "  in {} of {}; first: {}, seed {}{at}",
            self.cases.len(),
            counted(nr_cases, "case"),
            self.cases[0],
            self.seed
        )
    }
}

impl UncommonCost {
    /// Extends the range of costs.
    fn add_cost(&mut self, min_ps: u64, max_ps: u64) {
        let known = [self.min_cost_ps, min_ps].into_iter().filter(|ps| *ps > 0);
        self.min_cost_ps = known.min().unwrap_or(0);
        self.max_cost_ps = self.max_cost_ps.max(max_ps);
    }

    pub(super) fn write(&self, text: &mut String) -> std::fmt::Result {
        let Self { function, kernels, operation, charged_to, min_cost_ps, max_cost_ps, .. } = self;
        let [min, max] = [min_cost_ps, max_cost_ps].map(|ps| format!("{:.1}", *ps as f64 / 1e3));
        let cost = if min == max { format!("{min} ns") } else { format!("{min} to {max} ns") };
        let kernels: Vec<&str> = kernels.iter().copied().collect();
        // A function that never ran is known, but not in which kernel.
        let kernel_names = if kernels.is_empty() { "one kernel".to_owned() } else { kernels.join(" and ") };
        writeln!(text, "costs: only {kernel_names} has {function}() ({operation}, {cost} per call);")?;
        match charged_to {
            Some(caller) => writeln!(text, "       both kernels pay it once per call of {caller}()"),
            None => {
                let share = 100.0 * self.ns as f64 / (self.kernel_ns + self.ns).max(1) as f64;
                writeln!(text, "       neither kernel pays it: {share:.2} % of its costs")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, trace: &[&str]) -> KernelLogLine {
        let trace = trace.iter().map(|frame| (*frame).to_owned()).collect();
        KernelLogLine { at_ns: START.0 + 5, cpu: 2, text: text.to_owned(), trace }
    }

    #[test]
    fn a_warning_ends_with_its_trace_or_before_the_next_one() {
        let log = [
            line("hello", &[]),
            line("WARNING: at a.c:5", &[]),
            line("rq is odd", &["f at a.c:5"]),
            line("bye", &[]),
            line("WARNING: at b.c:7", &[]),
            line("WARNING: at c.c:9", &["g at c.c:9"]),
        ];
        let lengths: Vec<usize> = warnings(&log).iter().map(|lines| lines.len()).collect();
        assert_eq!(lengths, [2, 1, 1]);
    }

    #[test]
    fn a_problem_of_both_kernels_is_none_of_the_patch_although_its_line_has_moved() {
        let problem = |kernel: &'static str, text: &str| KernelProblem {
            kind: ProblemKind::Warning,
            kernels: BTreeSet::from([kernel]),
            text: text.to_owned(),
            trace: Vec::new(),
            cases: vec![format!("{kernel}'s case")],
            seed: 1,
            cpu: None,
            at_ns: None,
        };
        let mut log = RunLog::default();
        log.add_problem(problem("base", "at a.c:5: x"));
        log.add_problem(problem("patched", "at a.c:61: x"));
        log.add_problem(problem("patched", "at b.c:7: y"));
        let found = log.problems();
        let of_patch: Vec<(&str, bool)> =
            found.iter().map(|problem| (problem.text.as_str(), problem.is_of_patch())).collect();
        assert_eq!(of_patch, [("at b.c:7: y", true), ("at a.c:5: x", false)]);
        assert_eq!(found[1].cases.len(), 2);
        let mut text = String::new();
        found[0].write(&mut text, 3).expect("a string takes text");
        assert_eq!(text, "WARNING only in patched: at b.c:7: y\n  in 1 of 3 cases; first: patched's case, seed 1\n");
    }
}
