// SPDX-License-Identifier: GPL-2.0-or-later
//! Periods in which a condition holds on a CPU, detected by samples. A period begins and ends with a sample at which the
//! condition holds, so that it lasted at least that long. Only periods of at least a given length count; the longest one is
//! kept.

use super::rule::RuleInfo;
use super::{Evidence, Finding, Occurrences, moment};
use fairlab_explain::Question;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

#[derive(Debug, Default)]
pub(super) struct ConditionPeriods {
    /// Shortest period that counts.
    limit: Nanos,
    /// First and last sample of the current period of each CPU.
    current: Vec<Option<(Nanos, Nanos)>>,
    /// Periods that ended, the longest with its CPU and its end.
    ended: Occurrences<(CpuId, Nanos)>,
}

impl ConditionPeriods {
    pub(super) fn new(nr_cpus: usize, limit: Nanos) -> Self {
        Self { limit, current: vec![None; nr_cpus], ended: Occurrences::default() }
    }

    pub(super) fn sample(&mut self, now: Nanos, cpu: CpuId, holds: bool) {
        if holds {
            self.current[cpu.index()].get_or_insert((now, now)).1 = now;
        } else {
            self.end_period(cpu);
        }
    }

    fn end_period(&mut self, cpu: CpuId) {
        let Some((since, until)) = self.current[cpu.index()].take() else { return };
        let time = until - since;
        if time >= self.limit {
            self.ended.add(until, time, (cpu, until));
        }
    }

    /// Ends all periods and returns the finding. `evidence` is called with the CPU of the longest period.
    pub(super) fn findings<E>(&mut self, rule: &RuleInfo, evidence: impl Fn(CpuId) -> E) -> Vec<Finding>
    where
        E: Into<Evidence>,
    {
        (0..self.current.len()).for_each(|cpu| self.end_period(CpuId::from_index(cpu)));
        let found = self.ended.worst.map(|(time, (cpu, until))| Finding {
            at_ns: moment(until).saturating_sub(time.0 / 2),
            ..self.ended.in_finding(rule.finding(evidence(cpu), Question::Cpu(cpu.0)))
        });
        found.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MisfitEvidence;
    use fairlab_machine::sim::START;

    #[test]
    fn what_lasts_as_long_as_the_limit_counts_and_the_worst_is_kept() {
        let ms = Nanos::from_millis;
        let mut periods = ConditionPeriods::new(2, ms(20));
        for (cpu, from, to) in [(0, 100, 119), (0, 200, 220), (1, 300, 390), (0, 400, 430)] {
            periods.sample(ms(from), CpuId(cpu), true);
            periods.sample(ms(to), CpuId(cpu), true);
            periods.sample(ms(to + 1), CpuId(cpu), false);
        }
        assert_eq!((periods.ended.count, periods.ended.total), (3, ms(20 + 90 + 30)));
        assert_eq!(periods.ended.worst, Some((ms(90), (CpuId(1), ms(390)))));
        let mut periods = ConditionPeriods::new(2, ms(20));
        periods.sample(START + ms(100), CpuId(1), true);
        periods.sample(START + ms(190), CpuId(1), true);
        let found =
            periods.findings(RuleInfo::from_name("misfit-left").expect("a rule"), |cpu| MisfitEvidence { cpu: cpu.0 });
        assert_eq!(found[0].at_ns, 145_000_000, "the middle of the worst period");
    }
}
