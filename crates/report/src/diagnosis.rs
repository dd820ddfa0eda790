// SPDX-License-Identifier: GPL-2.0-or-later
//! Findings of a run, its longest waits, and the sentences that explain both on the page.
//!
//! Explanations need the state of the machine at the moment in question. The run is therefore simulated once more, with a
//! [`History`] as observer, and stopped at each moment in ascending order.

use super::PageRun;
use fairlab_explain::{History, Question, explain};
use fairlab_findings::Finding;
use fairlab_machine::sim::{Machine, RunError, START};
use fairlab_measure::families::RuntimeWaits;
use fairlab_sched::probe::RuntimeLimit;
use fairlab_sched::units::Nanos;
use serde::Serialize;

const MAX_EXPLAINED_FINDINGS: usize = 20;
pub(super) const MAX_WAITS: usize = 20;

/// Finding with its short form and its explanation.
#[derive(Debug, Serialize)]
pub struct PageFinding {
    #[serde(flatten)]
    finding: Finding,
    /// Short form of the sentence, for the verdict.
    headline: String,
    /// Sentences of `fairlab explain`; none in a page that can ask.
    explanation: Vec<String>,
}

/// Wait for a CPU or for runtime. Times are from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Wait {
    /// Length of the wait; of an open one, the time that it has lasted. The first field, because waits are ordered by
    /// length.
    pub(super) length_ns: u64,
    pub(super) since_ns: u64,
    /// Index into the page's list of threads.
    pub(super) thread: usize,
    /// CPU of the task at the end of the wait.
    pub(super) cpu: usize,
    pub(super) is_open: bool,
    #[serde(skip)]
    pub(super) limit: Option<RuntimeLimit>,
}

/// Long wait with its explanation.
#[derive(Debug, Serialize)]
pub struct PageWait {
    #[serde(flatten)]
    pub(super) wait: Wait,
    /// Object of the wait: `a CPU`, `the quota of g`.
    awaited: String,
    question: Question,
    explanation: Vec<String>,
}

impl Wait {
    /// Returns the last moment of the wait, at which all of it can be explained.
    const fn last_moment_ns(self) -> u64 {
        self.since_ns + self.length_ns - 1
    }
}

impl PageWait {
    /// Creates a wait of the task with this pid, without an explanation. `groups` are the names of the task groups.
    pub(super) fn new(wait: Wait, pid: i32, groups: &[String]) -> Self {
        let awaited =
            wait.limit.map_or_else(|| "a CPU".to_owned(), |limit| RuntimeWaits::of(limit, groups).description());
        Self { wait, awaited, question: Question::Task(pid.to_string()), explanation: Vec::new() }
    }
}

impl From<Finding> for PageFinding {
    fn from(finding: Finding) -> Self {
        Self { headline: headline(&finding), finding, explanation: Vec::new() }
    }
}

/// Returns the short form of a finding: the longest wait of rules about waits, the main clause of the sentence of all others.
fn headline(finding: &Finding) -> String {
    match (&finding.question, &finding.awaited) {
        (Question::Task(name), Some(awaited)) => {
            let (at_least, not_ended) = if finding.is_open { ("at least ", ", not ended") } else { ("", "") };
            format!("{name} waited {at_least}{} for {awaited}{not_ended}", rounded(finding.worst_ns))
        }
        _ => finding.sentence.split(';').next().unwrap_or_default().to_owned(),
    }
}

/// Formats a duration with three digits, in its largest unit.
fn rounded(ns: u64) -> String {
    let (unit, size) = match ns {
        1_000_000_000.. => ("s", 1e9),
        1_000_000.. => ("ms", 1e6),
        _ => ("\u{b5}s", 1e3),
    };
    let value = ns as f64 / size;
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

impl PageRun {
    /// Adds findings, and explains them and the longest waits. `machine` is a copy of the run that has not begun. `advance` starts
    /// it and simulates it up to each moment that is explained, in ascending order.
    ///
    /// # Errors
    /// If a program makes no progress.
    pub fn diagnose(
        &mut self,
        findings: &[Finding],
        machine: &mut Machine,
        advance: &mut dyn FnMut(&mut Machine, &mut History, Nanos) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut page_findings: Vec<PageFinding> = findings.iter().cloned().map(PageFinding::from).collect();
        let of_findings = page_findings
            .iter_mut()
            .take(MAX_EXPLAINED_FINDINGS)
            .filter(|PageFinding { finding, .. }| finding.at_ns > 0)
            .map(|PageFinding { finding, explanation, .. }| (finding.at_ns, finding.question.clone(), explanation));
        let of_waits =
            self.details.waits.iter_mut().map(|PageWait { wait, question, explanation, .. }| {
                (wait.last_moment_ns(), question.clone(), explanation)
            });
        let mut moments: Vec<_> = of_findings.chain(of_waits).collect();
        moments.sort_by_key(|(at_ns, ..)| *at_ns);
        let mut history = History::new(machine);
        for (at_ns, question, explanation) in moments {
            let now = Nanos(START.0 + at_ns);
            advance(machine, &mut history, now)?;
            // A question about a task that does not exist at that moment has no explanation.
            if let Ok(answer) = explain(machine, &history, &question, now) {
                *explanation = answer.sentences().map(str::to_owned).collect();
            }
        }
        self.findings = Some(page_findings);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_in_their_largest_unit() {
        let texts = [1_500, 12_345, 999_000, 1_000_000, 123_456_789, 1_000_000_000, 61_250_000_000].map(rounded);
        assert_eq!(texts, ["1.50 µs", "12.3 µs", "999 µs", "1.00 ms", "123 ms", "1.00 s", "61.2 s"]);
    }
}
