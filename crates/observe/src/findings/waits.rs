// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules `late-wakeup`, `starvation` and `throttled`: tasks that wait long for a CPU, after a wake-up or at any
//! time, or for runtime.

use super::rule::{EndedWait, FindingWait, Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, Limits, Severity, moment};
use crate::explain::Question;
use crate::plural::counted;
use fairlab_sched::units::Nanos;

#[derive(Debug)]
pub(super) struct Starvation {
    limit: Nanos,
    waits: ByFamily<FindingWait>,
}

impl Rule for Starvation {
    const INFO: RuleInfo = RuleInfo {
        name: "starvation",
        condition: "a task waited for a CPU longer than 500 ms (`--starvation`) at a time",
        severity: RuleSeverity::Fixed(Severity::High),
        is_for_traces: true,
        is_about_waits: true,
    };

    fn new(_nr_cpus: usize, limits: Limits) -> Self {
        Self { limit: limits.starvation, waits: ByFamily::new() }
    }

    #[inline]
    fn on_wait(&mut self, ended: &EndedWait<'_>) {
        let wait = ended.wait;
        if wait.until - wait.since > self.limit {
            self.waits.entry(wait.family).or_default().add(wait.until - wait.since, wait);
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        findings(&Self::INFO, &self.waits, about, &format!("waited for a CPU for more than {}", self.limit))
    }
}

#[derive(Debug)]
pub(super) struct LateWakeups {
    limit: Nanos,
    waits: ByFamily<FindingWait>,
}

impl Rule for LateWakeups {
    const INFO: RuleInfo = RuleInfo {
        name: "late-wakeup",
        condition: "a task waited more than 10 ms (`--latency`) for a CPU after its wake-up",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: true,
        is_about_waits: true,
    };

    fn new(_nr_cpus: usize, limits: Limits) -> Self {
        Self { limit: limits.latency, waits: ByFamily::new() }
    }

    #[inline]
    fn on_wait(&mut self, ended: &EndedWait<'_>) {
        let wait = ended.wait;
        if let Some(woken_at) = ended.woken_at.filter(|&woken_at| wait.until - woken_at > self.limit) {
            self.waits.entry(wait.family).or_default().add(wait.until - woken_at, wait);
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        findings(&Self::INFO, &self.waits, about, &format!("had a wake-up latency above {}", self.limit))
    }
}

#[derive(Debug)]
pub(super) struct ThrottledTasks {
    limit: Nanos,
    waits: ByFamily<FindingWait>,
}

impl Rule for ThrottledTasks {
    const INFO: RuleInfo = RuleInfo {
        name: "throttled",
        condition: "a runnable task waited more than 10 ms (`--latency`) for runtime of its group (a quota) or class",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: false,
        is_about_waits: true,
    };

    fn new(_nr_cpus: usize, limits: Limits) -> Self {
        Self { limit: limits.latency, waits: ByFamily::new() }
    }

    fn on_throttled(&mut self, wait: &FindingWait) {
        if wait.until - wait.since > self.limit {
            self.waits.entry(wait.family).or_default().add(wait.until - wait.since, *wait);
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let what = format!("waited for runtime of a group or class for more than {}", self.limit);
        findings(&Self::INFO, &self.waits, about, &what)
    }
}

fn findings(rule: &RuleInfo, waits: &ByFamily<FindingWait>, about: &FindingContext<'_>, what: &str) -> Vec<Finding> {
    let of_family = |(&family, tally): (&usize, &super::Occurrences<FindingWait>)| {
        let (time, wait) = tally.worst.as_ref()?;
        let name = (about.name)(wait.task);
        Some(Finding {
            rule: rule.name,
            severity: rule.severity.max(),
            sentence: format!(
                "{} {what} {}; worst: {name} for {time}",
                about.families[family],
                counted(tally.count, "time", "times")
            ),
            count: tally.count,
            total_ns: tally.total.0,
            worst_ns: time.0,
            // Just before the wait ends, so that the explanation covers all of it.
            at_ns: moment(wait.until).saturating_sub(1),
            question: Question::Task(name),
        })
    };
    waits.iter().filter_map(of_family).collect()
}
