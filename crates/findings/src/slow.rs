// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `frequency-low`: a CPU's frequency is too low for its utilisation, although higher ones exist.
//! Detected by samples.
//!
//! The required frequency is that of schedutil: 1.25 times the utilisation. A frequency that follows within
//! milliseconds is not reported; one that a governor, a limit or a slow driver holds down is.

use super::periods::ConditionPeriods;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Evidence, Finding, FindingContext, FindingTasks, Limits, Severity};
use fairlab_machine::sim::Machine;
use fairlab_sched::units::{Nanos, SCHED_CAPACITY_SCALE};

#[derive(Debug)]
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
            let figures = sched.snapshot(cpu);
            let is_slow = figures.freq_capacity < SCHED_CAPACITY_SCALE && {
                let has = capacity[cpu.index()] * figures.freq_capacity / SCHED_CAPACITY_SCALE;
                let wants = figures.cfs_avg.util_avg + figures.cfs_avg.util_avg / 4;
                wants > has && !sched.is_idle(cpu)
            };
            self.0.sample(at, cpu, is_slow);
        }
    }

    fn findings(&mut self, _about: &FindingContext<'_>) -> Vec<Finding> {
        self.0.findings(&Self::INFO, |cpu| Evidence::LowFrequency { cpu: cpu.0 })
    }
}
