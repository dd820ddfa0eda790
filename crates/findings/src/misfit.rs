// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `misfit-left`: a task is too big for its CPU while a bigger CPU idles. Detected by samples, because
//! no event reports it.

use super::evidence::Sentence;
use super::periods::ConditionPeriods;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{Finding, FindingContext, FindingTasks, Limits, Severity};
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::state::snapshot::TaskFit;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Evidence of tasks that were too big for their CPU while a bigger one idled.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct MisfitEvidence {
    /// CPU of the longest time.
    pub cpu: u32,
}

impl Sentence for MisfitEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (times, worst, cpu) = (finding.times_and_total(), finding.worst(), self.cpu);
        write!(f, "{times} a task was too big for its CPU while a bigger one idled; worst: CPU {cpu} for about {worst}")
    }
}

#[derive(Debug, Default)]
pub(super) struct Misfits(ConditionPeriods);

impl Rule for Misfits {
    const INFO: RuleInfo = RuleInfo {
        name: "misfit-left",
        condition: "for 20 ms a task was too big for its CPU while a bigger allowed CPU idled",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: false,
    };

    fn new(nr_cpus: usize, limits: Limits) -> Self {
        Self(ConditionPeriods::new(nr_cpus, limits.misfit))
    }

    fn sample(&mut self, machine: &Machine, _tasks: &FindingTasks, at: Nanos) {
        let (sched, capacity) = (machine.sched(), &machine.hardware().topology.capacity);
        if capacity.iter().all(|one| *one == capacity[0]) {
            return;
        }
        for cpu in sched.cpu_ids() {
            // `rq->misfit_task_load` is not used: a scheduler that ignores misfit tasks does not set it.
            let curr = sched.curr(cpu);
            let is_too_big = !sched.is_idle(cpu) && machine.recorded_fit(curr) == TaskFit::TooSmall && {
                let allowed = &sched.task(curr).cpus_allowed;
                let bigger = |&other: &CpuId| {
                    let is_free = sched.is_online(other) && sched.is_idle(other);
                    is_free && capacity[other.index()] > capacity[cpu.index()]
                };
                allowed.iter().any(|other| bigger(&other))
            };
            self.0.sample(at, cpu, is_too_big);
        }
    }

    fn findings(&mut self, _about: &FindingContext<'_>) -> Vec<Finding> {
        self.0.findings(&Self::INFO, |cpu| MisfitEvidence { cpu: cpu.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{found_in, of, sentence};
    use fairlab_explain::Question;

    #[test]
    fn a_misfit_task_is_printed_with_the_cpu_of_the_longest_time() {
        assert_eq!(
            sentence(MisfitEvidence { cpu: 3 }),
            "2 times (3ms in total) a task was too big for its CPU while a bigger one idled; worst: CPU 3 for about 2ms"
        );
    }

    #[test]
    fn a_task_that_stays_on_a_small_cpu_is_found() {
        let big_little =
            "cpus 8\ntopo llc=4 pkg=8\nlevels MP\ncaps 446 446 446 446 1024 1024 1024 1024\nscale 1\nend 1s\n";
        let tasks = "task big cpu=0 mask=0-0 run 10s\naffinity 300ms big 0-7\n";
        let with = |tunables: &[&str]| found_in("misfit.scn", |_| format!("{big_little}{tasks}"), tunables);
        let findings = with(&["no_misfit"]);
        let finding = of(&findings, "misfit-left").unwrap_or_else(|| panic!("{findings:?}"));
        assert!(finding.worst_ns > 600_000_000 && finding.question == Question::Cpu(0), "{finding:?}");
        assert!(of(&with(&[]), "misfit-left").is_none(), "the kernel moves it");
        let busy = format!("{tasks}task hog n=4 cpu=4 mask=4-7 run 10s\n");
        let findings = found_in("misfit.scn", |_| format!("{big_little}{busy}"), &["no_misfit"]);
        assert!(of(&findings, "misfit-left").is_none(), "only small CPUs are idle: {findings:?}");
    }
}
