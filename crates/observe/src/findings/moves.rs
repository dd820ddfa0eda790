// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `ping-pong`: tasks that return to the CPU from which they came, soon after they left it.

use super::{Finding, FindingContext, Limits, Severity, moment};
use crate::explain::Question;
use crate::plural::counted;
use fairlab_machine::sim::START;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

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
pub(super) struct Moves(BTreeMap<usize, PingPong>);

impl Moves {
    pub(super) fn on_migrate(
        &mut self,
        now: Nanos,
        task: usize,
        family: usize,
        from: CpuId,
        to: CpuId,
        back_within: Nanos,
    ) {
        let moved = self.0.entry(task).or_insert(PingPong { family, at: START, from, back: 0, last_back: START });
        if moved.from == to && now - moved.at <= back_within {
            moved.back += 1;
            moved.last_back = now;
        }
        (moved.at, moved.from) = (now, from);
    }

    pub(super) fn findings(&self, about: &FindingContext<'_>, limits: Limits) -> Vec<Finding> {
        let length = about.now.saturating_since(START).0.max(1);
        let is_often =
            |back: u64| back >= MIN_RETURNS && u128::from(back) * 1_000_000_000 > u128::from(PER_SECOND * length);
        let mut found: BTreeMap<usize, Finding> = BTreeMap::new();
        for (&task, moved) in self.0.iter().filter(|(_, moved)| is_often(moved.back)) {
            let name = (about.name)(task);
            let finding = found.entry(moved.family).or_insert_with(|| Finding {
                rule: "ping-pong",
                severity: Severity::Low,
                sentence: String::new(),
                count: 0,
                total_ns: 0,
                worst_ns: 0,
                at_ns: moment(moved.last_back),
                question: Question::Task(name.clone()),
            });
            finding.count += moved.back;
            finding.sentence = format!(
                "{} migrated to another CPU and back within {} {}, most recently {name}",
                about.families[moved.family],
                limits.back_within,
                counted(finding.count, "time", "times")
            );
        }
        found.into_values().collect()
    }
}
