// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `timer-missed`: tasks that arrive at their periodic timers after the expiry. The families' statistics
//! count them.

use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Evidence, Finding, FindingContext, Limits, Severity};
use fairlab_explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_measure::families::{FamilySummary, TimerSummary};

/// Number of timer periods of which one may be missed at the lower severity.
const PERIODS_PER_MISS: u64 = 20;

/// Rule without state of its own.
#[derive(Debug)]
pub(super) struct MissedTimers;

impl Rule for MissedTimers {
    const INFO: RuleInfo = RuleInfo {
        name: "timer-missed",
        condition: "tasks missed periods of their timers",
        severity: RuleSeverity::Raised { to: Severity::Medium, above: "5 % of periods", from: Severity::Low },
        is_for_traces: false,
    };

    fn new(_nr_cpus: usize, _limits: Limits) -> Self {
        Self
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let Some(machine) = about.machine else { return Vec::new() };
        about.summaries.iter().filter_map(|family| missed_timers(machine, family)).collect()
    }
}

const fn severity(timers: &TimerSummary) -> Severity {
    MissedTimers::INFO.severity.of(timers.missed * PERIODS_PER_MISS > timers.arrivals)
}

fn missed_timers(machine: &Machine, family: &FamilySummary) -> Option<Finding> {
    let timers = family.timers.as_ref().filter(|timers| timers.missed > 0)?;
    let specs = &machine.workload().tasks;
    let first = machine.tasks().iter().find(|task| task.id.is_some() && specs[task.spec].family == family.name)?;
    let evidence = Evidence::MissedTimers { family: family.name.clone(), nr_arrivals: timers.arrivals };
    Some(Finding {
        severity: severity(timers),
        count: timers.missed,
        ..MissedTimers::INFO.finding(evidence, Question::Task(first.name.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_of_twenty_periods_is_worse() {
        let of = |missed| severity(&TimerSummary { arrivals: 20, missed, ..TimerSummary::default() });
        assert_eq!((of(1), of(2)), (Severity::Low, Severity::Medium));
    }
}
