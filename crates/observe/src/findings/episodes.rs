// SPDX-License-Identifier: GPL-2.0-or-later
//! Episodes of a bad state of a CPU, detected by samples. Only episodes of at least a given length count; the
//! longest one is kept.

use super::rule::RuleInfo;
use super::{Finding, FindingContext, moment};
use crate::explain::Question;
use crate::plural::counted;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

#[derive(Debug)]
pub(super) struct Episodes {
    /// Shortest episode that counts.
    limit: Nanos,
    /// Start of the current episode of each CPU.
    since: Vec<Option<Nanos>>,
    count: u64,
    total: Nanos,
    worst: Option<(Nanos, CpuId, Nanos)>,
}

impl Episodes {
    pub(super) fn new(nr_cpus: usize, limit: Nanos) -> Self {
        Self { limit, since: vec![None; nr_cpus], count: 0, total: Nanos::ZERO, worst: None }
    }

    pub(super) fn sample(&mut self, now: Nanos, cpu: CpuId, is_wrong: bool) {
        if is_wrong {
            self.since[cpu.index()].get_or_insert(now);
        } else {
            self.end_episode(now, cpu);
        }
    }

    fn end_episode(&mut self, now: Nanos, cpu: CpuId) {
        let Some(time) = self.since[cpu.index()].take().map(|since| now - since) else { return };
        if time < self.limit {
            return;
        }
        self.count += 1;
        self.total += time;
        if self.worst.is_none_or(|(worst, ..)| time > worst) {
            self.worst = Some((time, cpu, now));
        }
    }

    /// Ends all episodes and returns the finding. `what` has the description of the state, and the noun
    /// before the number of the worst CPU.
    pub(super) fn findings(&mut self, about: &FindingContext<'_>, rule: &RuleInfo, what: (&str, &str)) -> Vec<Finding> {
        (0..self.since.len()).for_each(|cpu| self.end_episode(about.now, CpuId::from_index(cpu)));
        let found = self.worst.map(|(time, cpu, until)| Finding {
            rule: rule.name,
            severity: rule.severity.max(),
            sentence: format!(
                "{} ({} in total) {}; worst: {} {} for about {time}",
                counted(self.count, "time", "times"),
                self.total,
                what.0,
                what.1,
                cpu.0
            ),
            count: self.count,
            total_ns: self.total.0,
            worst_ns: time.0,
            at_ns: moment(until).saturating_sub(time.0 / 2),
            question: Question::Cpu(cpu.0),
        });
        found.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_machine::sim::START;

    #[test]
    fn what_lasts_as_long_as_the_limit_counts_and_the_worst_is_kept() {
        let ms = Nanos::from_millis;
        let mut spells = Episodes::new(2, ms(20));
        for (cpu, from, to) in [(0, 100, 119), (0, 200, 220), (1, 300, 390), (0, 400, 430)] {
            spells.since[cpu as usize] = Some(ms(from));
            spells.end_episode(ms(to), CpuId(cpu));
        }
        assert_eq!((spells.count, spells.total), (3, ms(20 + 90 + 30)));
        assert_eq!(spells.worst, Some((ms(90), CpuId(1), ms(390))));
        let now = START + ms(500);
        let about = FindingContext {
            name: &|_| String::new(),
            families: &[],
            summaries: &[],
            machine: None,
            since: START,
            now,
        };
        let mut spells = Episodes::new(2, ms(20));
        spells.since[1] = Some(START + ms(100));
        spells.end_episode(START + ms(190), CpuId(1));
        let found = spells.findings(&about, RuleInfo::from_name("misfit-left").expect("a rule"), ("x", "CPU"));
        assert_eq!(found[0].at_ns, 145_000_000, "the middle of the worst episode");
    }
}
