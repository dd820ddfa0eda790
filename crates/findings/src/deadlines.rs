// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `deadline-missed`: deadline tasks that block later after a wake-up than their deadline.
//!
//! The work from a wake-up until the task blocks is a job. The deadline counts from the wake-up.

use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Evidence, Finding, FindingContext, Limits, Severity, moment};
use fairlab_explain::Question;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

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

    fn new(_nr_cpus: usize, _limits: Limits) -> Self {
        Self::default()
    }

    fn on_job(&mut self, now: Nanos, (task, family): (usize, usize), time: Nanos, deadline: Nanos) {
        *self.jobs.entry(family).or_default() += 1;
        if time > deadline {
            self.late.entry(family).or_default().add(now, time - deadline, LateJob { task, deadline, until: now });
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let of_family = |(&family, late): (&usize, &super::Occurrences<LateJob>)| {
            let (time, job) = late.worst.as_ref()?;
            let (name, jobs) = ((about.name)(job.task), self.jobs[&family]);
            let evidence = Evidence::MissedDeadline {
                family: about.families[family].clone(),
                task: name.clone(),
                nr_wakeups: jobs,
                deadline_ns: job.deadline.0,
            };
            Some(Finding {
                severity: Self::INFO.severity.of(late.count * JOBS_PER_MISS > jobs),
                count: late.count,
                total_ns: late.total.0,
                worst_ns: time.0,
                at_ns: moment(job.until).saturating_sub(1),
                last_ns: moment(late.last),
                ..Self::INFO.finding(evidence, Question::Task(name))
            })
        };
        self.late.iter().filter_map(of_family).collect()
    }
}
