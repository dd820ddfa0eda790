// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `vain-kicks`: an idle CPU is kicked to balance for the tickless CPUs, and no task moves.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, Limits, Severity, moment};
use fairlab_explain::Question;
use fairlab_measure::plural::counted;
use fairlab_sched::ids::CpuId;
use fairlab_sched::interface::balance::NOHZ_BALANCE_KICK;
use fairlab_sched::probe::{BalanceDecision, KickDecision};
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Evidence of kicks of idle CPUs after which hardly any task moved.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct WastedKicksEvidence {
    pub nr_kicks: u64,
    pub nr_with_moves: u64,
}

impl Sentence for WastedKicksEvidence {
    fn write(&self, _finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kicked, nr_with_moves) = (counted(self.nr_kicks, "time", "times"), self.nr_with_moves);
        write!(
            f,
            "idle CPUs were kicked {kicked} to balance for tickless CPUs; tasks moved after {nr_with_moves} of these kicks"
        )
    }
}

/// Minimum number of kicks for a finding.
const MIN_KICKS: u64 = 100;
/// Number of kicks of which at least one should have moved a task.
const PER_MOVE: u64 = 50;

#[derive(Debug, Default)]
pub(super) struct WastedKicks {
    /// Whether each CPU was kicked and has moved no task since.
    pending: Vec<bool>,
    kicks: u64,
    with_moves: u64,
    last: Option<(Nanos, CpuId)>,
}

impl Rule for WastedKicks {
    const INFO: RuleInfo = RuleInfo {
        name: "vain-kicks",
        condition: "of at least 100 kicks, fewer than one in 50 was followed by a migration",
        severity: RuleSeverity::Fixed(Severity::Low),
        is_for_traces: false,
    };

    fn new(nr_cpus: usize, _limits: Limits) -> Self {
        Self { pending: vec![false; nr_cpus], kicks: 0, with_moves: 0, last: None }
    }

    #[inline]
    fn on_kick(&mut self, now: Nanos, decision: &KickDecision) {
        if decision.kicked
            && decision.flags & NOHZ_BALANCE_KICK != 0
            && let Some(target) = decision.target
        {
            self.kicks += 1;
            self.pending[target.index()] = true;
            self.last = Some((now, target));
        }
    }

    /// Counts a pass that a kicked CPU executes, for itself or for another CPU.
    #[inline]
    fn on_balance(&mut self, _now: Nanos, decision: &BalanceDecision) {
        if decision.nr_moved > 0 && std::mem::take(&mut self.pending[decision.on.index()]) {
            self.with_moves += 1;
        }
    }

    fn findings(&mut self, _about: &FindingContext<'_>) -> Vec<Finding> {
        let is_vain = self.kicks >= MIN_KICKS && self.with_moves * PER_MOVE < self.kicks;
        let found = self.last.filter(|_| is_vain).map(|(at, target)| {
            let evidence = WastedKicksEvidence { nr_kicks: self.kicks, nr_with_moves: self.with_moves };
            let finding = Self::INFO.finding(evidence, Question::Balance(target.0));
            Finding { count: self.kicks - self.with_moves, at_ns: moment(at), last_ns: moment(at), ..finding }
        });
        found.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{context, sentence};
    use fairlab_machine::sim::START;
    use fairlab_sched::probe::KickReason;

    #[test]
    fn wasted_kicks_are_printed_with_all_kicks_and_those_that_moved_tasks() {
        assert_eq!(
            sentence(WastedKicksEvidence { nr_kicks: 100, nr_with_moves: 1 }),
            "idle CPUs were kicked 100 times to balance for tickless CPUs; tasks moved after 1 of these kicks"
        );
    }

    #[test]
    fn kicks_after_which_nothing_moves_are_found_if_they_are_many() {
        let mut kicks = WastedKicks::new(2, Limits::of_tick(Nanos::from_millis(4)));
        let kick = KickDecision {
            cpu: CpuId(0),
            reason: KickReason::ManyTasks,
            flags: NOHZ_BALANCE_KICK,
            target: Some(CpuId(1)),
            kicked: true,
        };
        for at in 0..99 {
            kicks.on_kick(START + Nanos(at), &kick);
        }
        assert!(kicks.findings(&context(START)).is_empty());
        kicks.on_kick(START + Nanos(99), &kick);
        assert_eq!(
            kicks.findings(&context(START)).first().map(|finding| (finding.count, finding.at_ns)),
            Some((100, 99))
        );
    }
}
