// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `fair-server`: fair tasks that got a CPU only because the CPU's fair server ran them (6.12).
//!
//! Real-time or deadline tasks keep the CPU until the server's remaining budget just fits before its deadline: with the
//! default server, 50 ms in each second, fair tasks starve for up to 950 ms. A wait that a pick of the server ends counts
//! if higher classes ran on the task's CPUs for more than half of it, and then with its whole length. Waits behind other
//! fair tasks in the time of the server do not count.

use super::evidence::Sentence;
use super::rule::{FindingWait, Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, Limits, Severity, moment};
use fairlab_explain::Question;
use fairlab_measure::episodes::WaitReason;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Evidence of waits behind tasks of higher classes that the fair server ended.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct FairServerEvidence {
    pub family: String,
    pub task: String,
    pub cpu: u32,
}

impl Sentence for FairServerEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, cpu } = self;
        let (times, worst) = (finding.times_and_total(), finding.worst());
        write!(
            f,
            "{family} starved behind real-time or deadline tasks until the fair server ran them, {times}; worst: {task} on \
             CPU {cpu} for {worst}"
        )
    }
}

/// Longest time between the pick of a server and the switch to the task.
const MAX_SWITCH: Nanos = Nanos::from_millis(1);

/// Waits that ended with a pick of a fair server.
#[derive(Debug, Default)]
pub(super) struct ServedTasks {
    limit: Nanos,
    starvation: Nanos,
    /// Last pick of each CPU's server, until a long wait ends there; empty before the first pick of any.
    picked: Vec<Option<Nanos>>,
    nr_cpus: usize,
    waits: ByFamily<FindingWait>,
}

impl Rule for ServedTasks {
    const INFO: RuleInfo = RuleInfo {
        name: "fair-server",
        condition: "in 6.12, a task waited more than 10 ms (`--latency`) behind real-time or deadline tasks until the fair \
                    server ran it",
        severity: RuleSeverity::Raised {
            to: Severity::High,
            above: "500 ms (`--starvation`) at a time",
            from: Severity::Medium,
        },
        is_for_traces: false,
    };

    fn new(nr_cpus: usize, limits: Limits) -> Self {
        let (limit, starvation) = (limits.latency, limits.starvation);
        Self { limit, starvation, picked: Vec::new(), nr_cpus, waits: ByFamily::new() }
    }

    fn on_server_pick(&mut self, now: Nanos, cpu: CpuId) {
        self.picked.resize(self.nr_cpus, None);
        self.picked[cpu.index()] = Some(now);
    }

    #[inline]
    fn on_wait(&mut self, wait: &FindingWait, _allowed: Option<&CpuMask>) {
        if self.picked.is_empty() {
            return;
        }
        let (episode, time) = (wait.episode, wait.episode.length());
        if episode.is_open || episode.reason != WaitReason::Cpu || time <= self.limit {
            return;
        }
        let picked = self.picked[episode.cpu.index()].take();
        let is_by_server = picked.is_some_and(|at| at >= episode.since && episode.until - at <= MAX_SWITCH);
        if is_by_server && wait.ran.of_higher_classes().0 * 2 > time.0 {
            self.waits.entry(wait.family).or_default().add(episode.until, time, *wait);
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        let of_family = |(&family, found): (&usize, &super::Occurrences<FindingWait>)| {
            let (time, wait) = found.worst.as_ref()?;
            let name = (about.name)(wait.task);
            let evidence = FairServerEvidence {
                family: about.families[family].clone(),
                task: name.clone(),
                cpu: wait.episode.cpu.0,
            };
            Some(Finding {
                severity: Self::INFO.severity.of(*time > self.starvation),
                awaited: Some("a CPU".to_owned()),
                // Just before the wait ends, so that the explanation covers all of it.
                at_ns: moment(wait.episode.until).saturating_sub(1),
                ..found.in_finding(Self::INFO.finding(evidence, Question::Task(name)))
            })
        };
        self.waits.iter().filter_map(of_family).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::ClassTimes;
    use crate::tests::{family_and_task, found_in_6_12, found_in_series, of, sentence};
    use fairlab_measure::episodes::{Episode, WaitCause};
    use fairlab_sched::series::KernelSeries;

    #[test]
    fn a_wait_ends_by_the_server_if_it_was_picked_in_the_wait_and_just_before_its_end() {
        let limits = Limits::of_tick(Nanos::from_millis(4));
        let counted = |picked_us: u64, higher_ms: u64| {
            let mut rule = ServedTasks::new(1, limits);
            rule.on_server_pick(Nanos::from_micros(picked_us), CpuId(0));
            let (since, until) = (Nanos::from_millis(1000), Nanos::from_millis(2000));
            let (cause, cpu) = (WaitCause::Woken, CpuId(0));
            let episode = Episode { since, until, is_open: false, reason: WaitReason::Cpu, cause, cpu, queued: None };
            let ran = ClassTimes::of_real_time(Nanos::from_millis(higher_ms));
            rule.on_wait(&FindingWait { task: 0, family: 0, episode, deadline: None, ran }, None);
            rule.waits.len()
        };
        assert_eq!(counted(2_000_000, 900), 1);
        assert_eq!(counted(999_000, 900), 0, "before the wait");
        assert_eq!(counted(1_500_000, 900), 0, "a real-time task ran afterwards");
        assert_eq!(counted(2_000_000, 500), 0, "it waited as long behind fair tasks");
    }

    #[test]
    fn waits_that_the_server_ended_are_printed_with_the_task_and_cpu_of_the_worst() {
        let (family, task) = family_and_task();
        assert_eq!(
            sentence(FairServerEvidence { family, task, cpu: 3 }),
            "f starved behind real-time or deadline tasks until the fair server ran them, 2 times (3ms in total); worst: f0 on CPU 3 \
             for 2ms"
        );
    }

    #[test]
    fn tasks_that_only_the_fair_server_runs_are_found() {
        let scenario = "cpus 1\nend 3s\ntask hog n=2 cpu=0 run 10s\ntask spin fifo=50 cpu=0 start=300ms run 10s\n";
        let findings = found_in_6_12(scenario);
        let finding = of(&findings, "fair-server").unwrap_or_else(|| panic!("{findings:?}"));
        assert_eq!((finding.severity, finding.count), (Severity::High, 4), "both tasks, twice: {finding:?}");
        assert!((900_000_000..1_100_000_000).contains(&finding.worst_ns), "{finding:?}");
        assert!(finding.sentence.starts_with("hog starved behind real-time or deadline tasks"), "{finding:?}");
        assert!(of(&found_in_series(KernelSeries::V6_1, scenario), "fair-server").is_none(), "6.1 has no fair server");
        let modest = scenario.replace("run 10s\n", "loop run 5ms sleep 5ms\n");
        assert!(of(&found_in_6_12(&modest), "fair-server").is_none(), "no task starves");
    }
}
