// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `frequency-low`: a CPU's frequency is too low for its utilisation, although higher ones exist.
//! Detected by samples.
//!
//! The required frequency is that of schedutil: 1.25 times the utilisation. A frequency that follows within
//! milliseconds is not reported; one that a governor, a limit or a slow driver holds down is.

use super::evidence::Sentence;
use super::periods::ConditionPeriods;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, FindingTasks, Limits, Severity};
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};
use serde::Serialize;
use std::fmt;

/// Evidence of busy CPUs whose frequency was too low for their utilisation.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct LowFrequencyEvidence {
    /// CPU of the longest time.
    pub cpu: u32,
}

impl Sentence for LowFrequencyEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (times, worst, cpu) = (finding.times_and_total(), finding.worst(), self.cpu);
        write!(
            f,
            "{times} the frequency of a busy CPU was too low for its utilisation, although it has higher ones; worst: CPU \
             {cpu} for about {worst}"
        )
    }
}

#[derive(Debug, Default)]
pub(super) struct SlowCpus(ConditionPeriods);

impl Rule for SlowCpus {
    const INFO: RuleInfo = RuleInfo {
        name: "frequency-low",
        condition: "for 20 ms a busy CPU's frequency was below 125 % of its utilisation, although higher ones exist",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: false,
    };

    fn new(nr_cpus: usize, limits: Limits) -> Self {
        Self(ConditionPeriods::new(nr_cpus, limits.misfit))
    }

    fn sample(&mut self, machine: &Machine, _tasks: &FindingTasks, at: Nanos) {
        let (sched, capacity) = (machine.sched(), &machine.hardware().topology.capacity);
        for cpu in sched.cpu_ids() {
            let freq_capacity = sched.freq_capacity(cpu);
            let is_slow = freq_capacity < SCHED_CAPACITY_SCALE && !sched.is_idle(cpu) && {
                let has = capacity[cpu.index()] * freq_capacity / SCHED_CAPACITY_SCALE;
                let util_avg = sched.snapshot(cpu).cfs_avg.util_avg;
                util_avg + util_avg / 4 > has
            };
            self.0.sample(at, cpu, is_slow);
        }
    }

    fn findings(&mut self, _about: &FindingContext<'_>) -> Vec<Finding> {
        self.0.findings(&Self::INFO, |cpu| LowFrequencyEvidence { cpu: cpu.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{found, of, sentence};

    #[test]
    fn a_low_frequency_is_printed_with_the_cpu_of_the_longest_time() {
        assert_eq!(
            sentence(LowFrequencyEvidence { cpu: 3 }),
            "2 times (3ms in total) the frequency of a busy CPU was too low for its utilisation, although it has higher ones; worst: \
             CPU 3 for about 2ms"
        );
    }

    #[test]
    fn a_frequency_that_is_held_down_is_found() {
        let board = "cpus 2\nfdom 0-1 500000 1000000\nend 400ms\ntask hog cpu=0 run 10s\n";
        let findings = found(&format!("{board}maxfreq 0 0-1 512\n"));
        let finding = of(&findings, "frequency-low").unwrap_or_else(|| panic!("{findings:?}"));
        assert!(finding.worst_ns > 200_000_000, "{finding:?}");
        assert!(of(&found(board), "frequency-low").is_none(), "schedutil follows");
    }
}
