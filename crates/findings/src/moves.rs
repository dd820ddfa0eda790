// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `ping-pong`: tasks that return to the CPU from which they came, soon after they left it.

use super::evidence::Sentence;
use super::rule::{FindingMigration, Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, Limits, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::START;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Evidence of tasks that migrated to another CPU and soon back.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct PingPongEvidence {
    pub family: String,
    pub task: String,
    pub within_ns: u64,
}

impl Sentence for PingPongEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, within_ns } = self;
        let (within, times) = (Nanos(*within_ns), finding.times());
        write!(f, "{family} migrated to another CPU and back within {within} {times}, most recently {task}")
    }
}

/// Number of returns per second above which a task is reported.
const PER_SECOND: u64 = 50;
/// Minimum number of returns that is reported.
const MIN_RETURNS: u64 = 20;

/// Last migration of a task, and its number of quick returns.
#[derive(Clone, Copy, Debug)]
struct PingPong {
    family: usize,
    at: Nanos,
    from: CpuId,
    back: u64,
    last_back: Nanos,
}

/// Migrations of all tasks, by task index.
#[derive(Debug)]
pub(super) struct Moves {
    back_within: Nanos,
    tasks: BTreeMap<usize, PingPong>,
}

impl Rule for Moves {
    const INFO: RuleInfo = RuleInfo {
        name: "ping-pong",
        condition: "tasks of a family migrated away and back within 1 ms, more than 50 times per second and at least \
                    20 times",
        severity: RuleSeverity::Fixed(Severity::Low),
        is_for_traces: true,
    };

    fn new(_nr_cpus: usize, limits: Limits) -> Self {
        Self { back_within: limits.back_within, tasks: BTreeMap::new() }
    }

    fn on_migrate(&mut self, now: Nanos, migration: FindingMigration) {
        let FindingMigration { task, family, from, to } = migration;
        let moved = self.tasks.entry(task).or_insert(PingPong { family, at: START, from, back: 0, last_back: START });
        if moved.from == to && now - moved.at <= self.back_within {
            moved.back += 1;
            moved.last_back = now;
        }
        (moved.at, moved.from) = (now, from);
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let length = about.length_ns();
        let is_often =
            |back: u64| back >= MIN_RETURNS && u128::from(back) * 1_000_000_000 > u128::from(PER_SECOND * length);
        let mut found: BTreeMap<usize, Finding> = BTreeMap::new();
        for (&task, moved) in self.tasks.iter().filter(|(_, moved)| is_often(moved.back)) {
            let count = moved.back + found.get(&moved.family).map_or(0, |finding| finding.count);
            let at_ns = moment(moved.last_back);
            // The finding is about the task that returned most recently.
            if found.get(&moved.family).is_none_or(|finding| finding.at_ns < at_ns) {
                let name = (about.name)(task);
                let evidence = evidence(about, self.back_within, moved.family, &name);
                let finding = Self::INFO.finding(evidence, Question::Task(name));
                found.insert(moved.family, Finding { at_ns, last_ns: at_ns, ..finding });
            }
            if let Some(finding) = found.get_mut(&moved.family) {
                finding.count = count;
            }
        }
        found.into_values().collect()
    }
}

fn evidence(about: &FindingContext<'_>, within: Nanos, family: usize, task: &str) -> PingPongEvidence {
    PingPongEvidence { family: about.families[family].clone(), task: task.to_owned(), within_ns: within.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{family_and_task, sentence};

    #[test]
    fn quick_returns_are_printed_with_the_task_of_the_last_one() {
        let (family, task) = family_and_task();
        assert_eq!(
            sentence(PingPongEvidence { family, task, within_ns: 1_000_000 }),
            "f migrated to another CPU and back within 1ms 2 times, most recently f0"
        );
    }
}
