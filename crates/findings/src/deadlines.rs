// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `deadline-missed`: deadline tasks that block later after a wake-up than their deadline.
//!
//! The work from a wake-up until the task blocks is a job. The deadline counts from the wake-up.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, Severity, moment};
use fairlab_explain::Question;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Evidence of deadline tasks that blocked later after a wake-up than their deadline.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct MissedDeadlineEvidence {
    pub family: String,
    pub task: String,
    pub nr_wakeups: u64,
    pub deadline_ns: u64,
}

impl Sentence for MissedDeadlineEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, nr_wakeups, deadline_ns } = self;
        let (count, worst, deadline) = (finding.count, finding.worst(), Nanos(*deadline_ns));
        write!(
            f,
            "{family} missed the deadline after {count} of {nr_wakeups} wake-ups; worst: {task} by {worst} (deadline \
             {deadline})"
        )
    }
}

/// Number of jobs of which one may be late at the lower severity.
const JOBS_PER_MISS: u64 = 20;

/// Late job of a task: its deadline and its end.
#[derive(Clone, Copy, Debug)]
struct LateJob {
    task: usize,
    deadline: Nanos,
    until: Nanos,
}

#[derive(Debug, Default)]
pub(super) struct MissedDeadlines {
    /// Number of jobs by family.
    jobs: BTreeMap<usize, u64>,
    late: ByFamily<LateJob>,
}

impl Rule for MissedDeadlines {
    const INFO: RuleInfo = RuleInfo {
        name: "deadline-missed",
        condition: "deadline tasks blocked later after a wake-up than their deadline",
        severity: RuleSeverity::Raised { to: Severity::Medium, above: "5 % of wake-ups", from: Severity::Low },
        is_for_traces: false,
    };

    fn on_job(&mut self, now: Nanos, (task, family): (usize, usize), time: Nanos, deadline: Nanos) {
        *self.jobs.entry(family).or_default() += 1;
        if time > deadline {
            self.late.entry(family).or_default().add(now, time - deadline, LateJob { task, deadline, until: now });
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let of_family = |(&family, late): (&usize, &super::Occurrences<LateJob>)| {
            let (_, job) = late.worst.as_ref()?;
            let (name, jobs) = ((about.name)(job.task), self.jobs[&family]);
            let evidence = MissedDeadlineEvidence {
                family: about.families[family].clone(),
                task: name.clone(),
                nr_wakeups: jobs,
                deadline_ns: job.deadline.0,
            };
            Some(Finding {
                severity: Self::INFO.severity.of(late.count * JOBS_PER_MISS > jobs),
                at_ns: moment(job.until).saturating_sub(1),
                ..late.in_finding(Self::INFO.finding(evidence, Question::Task(name)))
            })
        };
        self.late.iter().filter_map(of_family).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{family_and_task, sentence};

    #[test]
    fn a_missed_deadline_is_printed_with_its_length_and_the_number_of_wake_ups() {
        let (family, task) = family_and_task();
        assert_eq!(
            sentence(MissedDeadlineEvidence { family, task, nr_wakeups: 9, deadline_ns: 7_000_000 }),
            "f missed the deadline after 2 of 9 wake-ups; worst: f0 by 2ms (deadline 7ms)"
        );
    }
}
