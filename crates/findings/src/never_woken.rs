// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `never-woken`: tasks that can never run again, because no task can wake them any more or because the scheduler
//! has lost their wake-up. The machine knows both at the end of the run. Recorded tasks that wait at the end of their
//! recording are not reported, and benchmarks only with a deadlock.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Evidence, Finding, FindingContext, Occurrences, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::Machine;
use fairlab_measure::plural::counted;
use fairlab_measure::stall::blocked_on_text;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Evidence of tasks that wait for ever, because no task can wake them.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct NeverWokenEvidence {
    pub family: String,
    pub task: String,
    pub since_ns: u64,
    pub blocked_on: String,
}

impl Sentence for NeverWokenEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, blocked_on, .. } = self;
        let tasks = counted(finding.count, "task waits", "tasks wait");
        let them = if finding.count == 1 { "it" } else { "them" };
        let since = Nanos(self.since_ns);
        write!(
            f,
            "{family}: {tasks} for ever, because no task can wake {them} any more; first: {task} since {since}, for \
             {blocked_on}"
        )
    }
}

/// Evidence of tasks whose wake-up the scheduler has lost.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct LostWakeupEvidence {
    pub family: String,
    pub task: String,
    pub since_ns: u64,
}

impl Sentence for LostWakeupEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, since_ns } = self;
        let (tasks, at) = (counted(finding.count, "task", "tasks"), Nanos(*since_ns));
        write!(f, "{family}: the scheduler has lost the wake-up of {tasks}; first: {task} at {at}")
    }
}

/// Rule without state of its own.
#[derive(Debug, Default)]
pub(super) struct NeverWoken;

/// Tasks by name of the family: index of the task and start of the wait that began first.
type StuckTasks<'a> = BTreeMap<&'a str, Occurrences<(usize, Nanos)>>;

impl Rule for NeverWoken {
    const INFO: RuleInfo = RuleInfo {
        name: "never-woken",
        condition: "at the end of the run tasks wait for ever: no task can wake them any more, or their wake-up is lost",
        severity: RuleSeverity::Fixed(Severity::High),
        is_for_traces: false,
    };

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let Some(machine) = about.machine else { return Vec::new() };
        let mut blocked = machine.stuck();
        blocked.retain(|blocked| blocked.is_mistake());
        let stuck = by_family(about, machine, blocked.iter().map(|blocked| (blocked.task, blocked.since)));
        let lost = by_family(about, machine, machine.lost_wakeups().into_iter());
        let of_stuck = stuck.iter().filter_map(|(family, found)| {
            let (_, (task, since)) = found.worst?;
            let object = blocked.iter().find(|blocked| blocked.task == task)?;
            let evidence = Evidence::from(NeverWokenEvidence {
                family: (*family).to_owned(),
                task: machine.tasks()[task].name.clone(),
                since_ns: moment(since),
                blocked_on: blocked_on_text(machine, object),
            });
            Some((evidence, found))
        });
        let of_lost = lost.iter().filter_map(|(family, found)| {
            let (_, (task, since)) = found.worst?;
            let evidence = Evidence::from(LostWakeupEvidence {
                family: (*family).to_owned(),
                task: machine.tasks()[task].name.clone(),
                since_ns: moment(since),
            });
            Some((evidence, found))
        });
        of_stuck.chain(of_lost).filter_map(|(evidence, found)| finding(about, evidence, found)).collect()
    }
}

/// Returns the tasks by family. Only measured time counts.
fn by_family<'a>(
    about: &FindingContext<'_>,
    machine: &'a Machine,
    tasks: impl Iterator<Item = (usize, Nanos)>,
) -> StuckTasks<'a> {
    let mut families = StuckTasks::new();
    for (task, since) in tasks {
        let family = machine.workload().tasks[machine.tasks()[task].spec].family.as_str();
        let time = about.now.saturating_since(since.max(about.since));
        families.entry(family).or_default().add(about.now, time, (task, since));
    }
    families
}

fn finding(about: &FindingContext<'_>, evidence: Evidence, found: &Occurrences<(usize, Nanos)>) -> Option<Finding> {
    let (_, (task, _)) = found.worst?;
    Some(Finding {
        is_open: true,
        at_ns: moment(about.now).saturating_sub(1),
        ..found.in_finding(NeverWoken::INFO.finding(evidence, Question::Task((about.name)(task))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{family_and_task, found, of, printed, sentence};

    #[test]
    fn tasks_that_wait_for_ever_are_printed_with_the_first_one() {
        let (family, task) = family_and_task();
        let blocked_on = "the semaphore s".to_owned();
        let stuck = printed(NeverWokenEvidence { family, task, since_ns: 5_000_000, blocked_on });
        assert_eq!(
            stuck.to_string(),
            "f: 2 tasks wait for ever, because no task can wake them any more; first: f0 since 5ms, for the semaphore s"
        );
        let one = Finding { count: 1, ..stuck };
        assert!(one.to_string().starts_with("f: 1 task waits for ever, because no task can wake it any more"), "{one}");
        let (family, task) = family_and_task();
        assert_eq!(
            sentence(LostWakeupEvidence { family, task, since_ns: 5_000_000 }),
            "f: the scheduler has lost the wake-up of 2 tasks; first: f0 at 5ms"
        );
    }

    #[test]
    fn tasks_that_no_task_can_wake_are_found_with_what_they_wait_for() {
        let pair = "cpus 2\nend 100ms\ntask tick loop every 1ms run 20us\n";
        let findings = found(&format!("{pair}task a run 1ms wait run 1ms\ntask b run 1ms wait wake a\n"));
        let waiting: Vec<&Finding> = findings.iter().filter(|finding| finding.rule == "never-woken").collect();
        assert_eq!(waiting.len(), 2, "{findings:?}");
        let finding = waiting[0];
        assert_eq!(
            (finding.severity, finding.count, finding.question.clone()),
            (Severity::High, 1, Question::Task("a".into()))
        );
        assert!(
            finding.sentence.contains("a: 1 task waits for ever") && finding.sentence.contains("a task to wake it")
        );
        assert!((98_000_000..=99_000_000).contains(&finding.worst_ns), "{finding:?}");
        let findings = found(&format!("{pair}task a loop run 1ms wait\ntask b sleep 10s wake a\n"));
        assert!(of(&findings, "never-woken").is_none(), "b will wake it: {findings:?}");
    }
}
