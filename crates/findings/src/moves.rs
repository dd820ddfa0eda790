// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `ping-pong`: tasks that return to the CPU from which they came, soon after they left it.

use super::evidence::Sentence;
use super::rule::{FindingMigration, Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, Limits, Severity, moment};
use fairlab_explain::Question;
use fairlab_machine::sim::START;
use fairlab_measure::slot_mut;
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
#[derive(Debug, Default)]
pub(super) struct Moves {
    back_within: Nanos,
    tasks: Vec<Option<PingPong>>,
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
        Self { back_within: limits.back_within, tasks: Vec::new() }
    }

    fn on_migrate(&mut self, now: Nanos, migration: FindingMigration) {
        let FindingMigration { task, family, from, to } = migration;
        let new = || PingPong { family, at: START, from, back: 0, last_back: START };
        let moved = slot_mut(&mut self.tasks, task).get_or_insert_with(new);
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
        let tasks = self.tasks.iter().enumerate().filter_map(|(task, moved)| Some((task, moved.as_ref()?)));
        for (task, moved) in tasks.filter(|(_, moved)| is_often(moved.back)) {
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
    use crate::Evidence;
    use crate::tests::{context, family_and_task, machine, sentence};

    #[test]
    fn quick_returns_are_printed_with_the_task_of_the_last_one() {
        let (family, task) = family_and_task();
        assert_eq!(
            sentence(PingPongEvidence { family, task, within_ns: 1_000_000 }),
            "f migrated to another CPU and back within 1ms 2 times, most recently f0"
        );
    }

    #[test]
    fn a_task_that_goes_to_and_fro_is_found_if_it_does_so_often() {
        let mut machine = machine("cpus 2\nend 100ms\ntask a cpu=0 run 1ms\n");
        let limits = Limits::of(&machine);
        machine.run(&mut fairlab_machine::observer::NoObserver).expect("the tasks make progress");
        let moved = |every_us: u64| {
            let mut moves = Moves::new(2, limits);
            for step in 0..100_u64 {
                let (from, to) = (CpuId((step % 2) as u32), CpuId((step % 2) as u32 ^ 1));
                let migration = FindingMigration { task: 0, family: 0, from, to };
                moves.on_migrate(START + Nanos(every_us * 1000 * step), migration);
            }
            let name = |_: usize| "a".to_owned();
            let about = FindingContext { name: &name, families: &["a".to_owned()], ..context(machine.now()) };
            moves.findings(&about)
        };
        assert_eq!(moved(500).first().map(|finding| finding.count), Some(99));
        assert!(moved(2_000).is_empty(), "it stays for longer than the limit");
    }

    #[test]
    fn of_tasks_that_go_to_and_fro_the_one_that_did_so_last_is_named() {
        let names = ["a0".to_owned(), "a1".to_owned(), "a2".to_owned()];
        let of = |starts_ms: [u64; 3]| {
            let mut moves = Moves::new(2, Limits::of_tick(Nanos::from_millis(4)));
            for (task, start) in starts_ms.into_iter().enumerate() {
                for step in 0..100_u64 {
                    let (from, to) = (CpuId((step % 2) as u32), CpuId((step % 2) as u32 ^ 1));
                    let migration = FindingMigration { task, family: 0, from, to };
                    moves.on_migrate(START + Nanos::from_millis(start) + Nanos::from_micros(500 * step), migration);
                }
            }
            let name = |task: usize| names[task].clone();
            let end = START + Nanos::from_millis(500);
            let about = FindingContext { name: &name, families: &["a".to_owned()], ..context(end) };
            let finding = moves.findings(&about).pop().expect("it is found");
            let Evidence::PingPong(PingPongEvidence { task, .. }) = &finding.evidence else { panic!("{finding:?}") };
            assert_eq!((finding.count, finding.at_ns), (3 * 99, finding.last_ns));
            (task.clone(), finding.at_ns / 1_000_000)
        };
        assert_eq!(of([100, 200, 0]), ("a1".to_owned(), 249));
        assert_eq!(of([200, 100, 0]), ("a0".to_owned(), 249));
        assert_eq!(of([0, 100, 200]), ("a2".to_owned(), 249));
    }
}
