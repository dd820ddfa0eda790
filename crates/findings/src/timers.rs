// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `timer-missed`: tasks that arrive at their periodic timers after the expiry. The families' statistics
//! count them.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, Severity};
use fairlab_explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_measure::families::{FamilySummary, TimerSummary};
use serde::Serialize;
use std::fmt;

/// Evidence of tasks that missed periods of their timers.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct MissedTimersEvidence {
    pub family: String,
    pub nr_arrivals: u64,
}

impl Sentence for MissedTimersEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, nr_arrivals } = self;
        write!(f, "{family} missed {} of {nr_arrivals} timer periods", finding.count)
    }
}

/// Number of timer periods of which one may be missed at the lower severity.
const PERIODS_PER_MISS: u64 = 20;

/// Rule without state of its own.
#[derive(Debug, Default)]
pub(super) struct MissedTimers;

impl Rule for MissedTimers {
    const INFO: RuleInfo = RuleInfo {
        name: "timer-missed",
        condition: "tasks missed periods of their timers",
        severity: RuleSeverity::Raised { to: Severity::Medium, above: "5 % of periods", from: Severity::Low },
        is_for_traces: false,
    };

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
    let evidence = MissedTimersEvidence { family: family.name.clone(), nr_arrivals: timers.arrivals };
    Some(Finding {
        severity: severity(timers),
        count: timers.missed,
        ..MissedTimers::INFO.finding(evidence, Question::Task(first.name.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::tests::{find, of, sentence};
    use fairlab_board::preset;
    use fairlab_machine::hardware::Hardware;
    use fairlab_machine::sim::Setup;
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::{rtapp, scenario};

    #[test]
    fn more_than_one_of_twenty_periods_is_worse() {
        let of = |missed| severity(&TimerSummary { arrivals: 20, missed, ..TimerSummary::default() });
        assert_eq!((of(1), of(2)), (Severity::Low, Severity::Medium));
    }

    #[test]
    fn missed_timers_are_printed_with_the_number_of_periods() {
        let family = "f".to_owned();
        assert_eq!(sentence(MissedTimersEvidence { family, nr_arrivals: 8 }), "f missed 2 of 8 timer periods");
    }

    #[test]
    fn timers_that_are_missed_are_found() {
        let periodic = |tasks: u32| {
            let text = format!(
                r#"{{"tasks":{{"x":{{"instance":{tasks},"cpus":[0],"run":4000,"timer":{{"ref":"unique","period":10000}}}}}},
                    "global":{{"duration":1,"calibration":"CPU0"}}}}"#
            );
            let hardware = Hardware::from_description(&preset("laptop-8").expect("a preset"));
            let workload = rtapp::parse("x.json", &text, rtapp::RtAppOptions::for_cpus(KernelSeries::V6_1, 8))
                .expect("an rt-app file");
            let idle = scenario::parse("idle.scn", "cpus 8\nend 1s\n", KernelSeries::V6_1).expect("a scenario");
            let mut machine =
                Machine::new(Setup { workload, ..Setup::with_hardware(hardware, idle) }).expect("a possible machine");
            let limits = Limits::of(&machine);
            find(&mut machine, limits).0
        };
        let findings = periodic(3);
        assert!(of(&findings, "timer-missed").is_some_and(|finding| finding.count > 10), "{findings:?}");
        assert!(of(&periodic(2), "timer-missed").is_none(), "there is time for two");
    }
}
