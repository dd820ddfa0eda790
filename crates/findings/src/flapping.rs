// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `overutilized-flapping`: a machine frequently becomes over-utilised and recovers, which switches
//! energy-aware placement off and on.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, Severity, moment};
use fairlab_explain::Question;
use fairlab_measure::eas::EasStatus;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Evidence of a machine that frequently became over-utilised.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct FlappingEvidence {
    pub cpu: u32,
    pub measured_ns: u64,
}

impl Sentence for FlappingEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (times, total, worst) = (finding.times(), finding.total(), finding.worst());
        let (cpu, measured) = (self.cpu, Nanos(self.measured_ns));
        write!(
            f,
            "the machine became over-utilised {times}, for {total} of {measured} in total, which disables energy-aware \
             placement; longest: {worst} after CPU {cpu} exceeded its capacity"
        )
    }
}

/// Minimum number of episodes for a finding.
const MIN_EPISODES: u64 = 10;
/// Number of episodes per second from which the machine is reported.
const PER_SECOND: u64 = 5;
/// Minimum share of the run, in percent, of both states: very short episodes are harmless.
const MIN_PERCENT: u64 = 5;

#[derive(Clone, Copy, Debug)]
struct OverutilizedPeriod {
    since: Nanos,
    /// CPU that exceeded its capacity when the period began.
    cpu: CpuId,
    length: Nanos,
}

#[derive(Debug, Default)]
pub(super) struct Flapping {
    /// Number of episodes, and their total time.
    episodes: u64,
    over: Nanos,
    /// End of the last episode.
    last: Nanos,
    now: Option<OverutilizedPeriod>,
    longest: Option<OverutilizedPeriod>,
}

impl Rule for Flapping {
    const INFO: RuleInfo = RuleInfo {
        name: "overutilized-flapping",
        condition: "with EAS, the machine became overutilized at least 10 times and 5 times per second, for 5 % to 95 % of \
                    the time",
        severity: RuleSeverity::Fixed(Severity::Low),
        is_for_traces: false,
    };

    fn on_overutilized(&mut self, now: Nanos, is_over: bool, cpu: CpuId) {
        if is_over {
            self.episodes += 1;
            self.now = Some(OverutilizedPeriod { since: now, cpu, length: Nanos::ZERO });
        } else if let Some(period) = self.now.take() {
            let period = OverutilizedPeriod { length: now - period.since, ..period };
            self.over += period.length;
            self.last = now;
            if self.longest.is_none_or(|longest| period.length > longest.length) {
                self.longest = Some(period);
            }
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let is_by_energy = about.machine.is_some_and(|machine| EasStatus::from_machine(machine).by_energy);
        self.findings_at(about.now, about.length_ns(), is_by_energy)
    }
}

impl Flapping {
    /// Returns the finding. Without energy-aware placement (`is_by_energy`) the state has no effect.
    fn findings_at(&self, now: Nanos, length: u64, is_by_energy: bool) -> Vec<Finding> {
        let over = self.over.0 + self.now.map_or(0, |period| now.saturating_since(period.since).0);
        let is_often = self.episodes >= MIN_EPISODES
            && u128::from(self.episodes) * 1_000_000_000 >= u128::from(PER_SECOND * length);
        let part = u128::from(length) * u128::from(MIN_PERCENT) / 100;
        let is_some_time = u128::from(over) >= part && u128::from(length - over.min(length)) >= part;
        let Some(longest) = self.longest.filter(|_| is_by_energy && is_often && is_some_time) else {
            return Vec::new();
        };
        let evidence = FlappingEvidence { cpu: longest.cpu.0, measured_ns: length };
        vec![Finding {
            count: self.episodes,
            total_ns: over,
            worst_ns: longest.length.0,
            at_ns: moment(longest.since),
            last_ns: moment(if self.now.is_some() { now } else { self.last }),
            ..Self::INFO.finding(evidence, Question::Cpu(longest.cpu.0))
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sentence;
    use fairlab_machine::sim::START;

    /// Returns a state after `periods` periods of `over` ms, which begin every 20 ms.
    fn after(periods: u64, over: u64) -> Flapping {
        let mut flapping = Flapping::default();
        let ms = Nanos::from_millis;
        for period in 0..periods {
            flapping.on_overutilized(START + ms(20 * period), true, CpuId(3));
            flapping.on_overutilized(START + ms(20 * period + over), false, CpuId(0));
        }
        flapping
    }

    impl Flapping {
        fn findings_in_run(&self, now: Nanos, is_by_energy: bool) -> Vec<Finding> {
            self.findings_at(now, (now - START).0, is_by_energy)
        }
    }

    #[test]
    fn many_periods_are_found_where_placement_goes_by_energy() {
        let (flapping, now) = (after(10, 5), START + Nanos::from_millis(200));
        let found = flapping.findings_in_run(now, true);
        let finding = found.first().expect("it flaps");
        assert_eq!((finding.count, finding.total_ns, finding.worst_ns), (10, 50_000_000, 5_000_000));
        assert_eq!(finding.question, Question::Cpu(3));
        assert!(
            flapping.findings_in_run(now, false).is_empty(),
            "without energy-aware placement the state has no effect"
        );
        assert!(flapping.findings_in_run(START + Nanos::from_secs(3), true).is_empty(), "three a second");
        let long = after(100, 5).findings_in_run(START + Nanos::from_secs(2), true);
        assert_eq!(long.first().map(|finding| finding.count), Some(100), "fifty a second");
    }

    #[test]
    fn the_longest_episode_is_named() {
        let mut flapping = after(10, 5);
        flapping.on_overutilized(START + Nanos::from_millis(220), true, CpuId(1));
        flapping.on_overutilized(START + Nanos::from_millis(229), false, CpuId(0));
        flapping.on_overutilized(START + Nanos::from_millis(240), true, CpuId(2));
        flapping.on_overutilized(START + Nanos::from_millis(247), false, CpuId(0));
        let found = flapping.findings_in_run(START + Nanos::from_millis(260), true);
        let finding = found.first().expect("it flaps");
        assert_eq!((finding.worst_ns, finding.at_ns, &finding.question), (9_000_000, 220_000_000, &Question::Cpu(1)));
    }

    #[test]
    fn what_is_over_at_once_or_hardly_ever_over_is_not_found() {
        let now = START + Nanos::from_millis(400);
        assert!(after(20, 0).findings_in_run(now, true).is_empty(), "no time");
        assert!(after(20, 20).findings_in_run(now, true).is_empty(), "all the time");
        assert!(!after(20, 19).findings_in_run(now, true).is_empty(), "95 % of it");
    }

    #[test]
    fn a_flapping_machine_is_printed_with_the_cpu_of_the_longest_period() {
        assert_eq!(
            sentence(FlappingEvidence { cpu: 3, measured_ns: 9_000_000 }),
            "the machine became over-utilised 2 times, for 3ms of 9ms in total, which disables energy-aware placement; longest: 2ms \
             after CPU 3 exceeded its capacity"
        );
    }
}
