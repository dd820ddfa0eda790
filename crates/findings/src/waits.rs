// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules `late-wakeup`, `starvation` and `throttled`: tasks that wait long for a CPU, after a wake-up or at any
//! time, or for runtime. Waits that have not ended count with what they have lasted.

use super::evidence::Sentence;
use super::rule::{FindingWait, Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, Limits, Severity, moment};
use crate::occupancy::RunClass;
use fairlab_explain::Question;
use fairlab_measure::episodes::WaitReason;
use fairlab_measure::families::RuntimeWaits;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Class of the tasks that ran most of the time on the CPUs of a waiting task.
#[expect(missing_docs, reason = "the variant names describe their content")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitedBehind {
    IdleTask,
    RealTime,
    Deadline,
}

/// Kind of a long wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitMeasure {
    /// A single wait for a CPU.
    Cpu,
    /// Time on the runqueue after a wake-up.
    WakeupLatency,
    /// As `wakeup-latency`; the limit is the deadline of a deadline task.
    WakeupLatencyOfDeadline,
    /// A single wait for runtime.
    Runtime,
}

/// Evidence of tasks that waited longer than a limit.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct WaitEvidence {
    pub family: String,
    pub task: String,
    pub measure: WaitMeasure,
    pub limit_ns: u64,
    pub behind: Option<WaitedBehind>,
}

impl Sentence for WaitEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, .. } = self;
        let (limit, worst) = (Nanos(self.limit_ns), finding.worst());
        let awaited = finding.awaited.as_deref().unwrap_or("a CPU");
        let lasted = if finding.is_open { format!("at least {worst}, not ended") } else { worst.to_string() };
        let condition = match self.measure {
            WaitMeasure::Cpu => format!("waited for a CPU for more than {limit}"),
            WaitMeasure::Runtime => format!("waited for {awaited} for more than {limit}"),
            WaitMeasure::WakeupLatency => format!("had a wake-up latency above {limit}"),
            WaitMeasure::WakeupLatencyOfDeadline => format!("had a wake-up latency above the deadline of {limit}"),
        };
        let behind = match self.behind {
            Some(WaitedBehind::IdleTask) => ", although its CPU idled",
            Some(WaitedBehind::RealTime) => ", behind real-time tasks",
            Some(WaitedBehind::Deadline) => ", behind deadline tasks",
            None => "",
        };
        write!(f, "{family} {condition} {}; worst: {task} for {lasted}{behind}", finding.times())
    }
}

#[derive(Debug, Default)]
pub(super) struct Starvation {
    limit: Nanos,
    waits: ByFamily<FindingWait>,
}

impl Rule for Starvation {
    const INFO: RuleInfo = RuleInfo {
        name: "starvation",
        condition: "a task waited for a CPU longer than 500 ms (`--starvation`) at a time",
        severity: RuleSeverity::Fixed(Severity::High),
        is_for_traces: true,
    };

    fn new(_nr_cpus: usize, limits: Limits) -> Self {
        Self { limit: limits.starvation, waits: ByFamily::new() }
    }

    #[inline]
    fn on_wait(&mut self, wait: &FindingWait, _allowed: Option<&CpuMask>) {
        let time = wait.episode.length();
        if time > self.limit && is_for_cpu(wait) {
            self.waits.entry(wait.family).or_default().add(wait.episode.until, time, *wait);
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        findings(&Self::INFO, &self.waits, about, |_| (WaitMeasure::Cpu, self.limit))
    }
}

#[derive(Debug, Default)]
pub(super) struct LateWakeups {
    limit: Nanos,
    waits: ByFamily<FindingWait>,
}

impl Rule for LateWakeups {
    const INFO: RuleInfo = RuleInfo {
        name: "late-wakeup",
        condition: "a task waited more than 10 ms (`--latency`) for a CPU after its wake-up, or a deadline task longer than \
                    its deadline",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: true,
    };

    fn new(_nr_cpus: usize, limits: Limits) -> Self {
        Self { limit: limits.latency, waits: ByFamily::new() }
    }

    #[inline]
    fn on_wait(&mut self, wait: &FindingWait, _allowed: Option<&CpuMask>) {
        let limit = wait.deadline.unwrap_or(self.limit);
        if let Some(queued) = wait.episode.queued.filter(|&queued| queued > limit && is_for_cpu(wait)) {
            self.waits.entry(wait.family).or_default().add(wait.episode.until, queued, *wait);
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        findings(&Self::INFO, &self.waits, about, |wait| match wait.deadline {
            Some(deadline) => (WaitMeasure::WakeupLatencyOfDeadline, deadline),
            None => (WaitMeasure::WakeupLatency, self.limit),
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct ThrottledTasks {
    limit: Nanos,
    waits: ByFamily<FindingWait>,
}

impl Rule for ThrottledTasks {
    const INFO: RuleInfo = RuleInfo {
        name: "throttled",
        condition: "a runnable task waited more than 10 ms (`--latency`) for runtime of a group (a quota) or class",
        severity: RuleSeverity::Fixed(Severity::Medium),
        is_for_traces: false,
    };

    fn new(_nr_cpus: usize, limits: Limits) -> Self {
        Self { limit: limits.latency, waits: ByFamily::new() }
    }

    fn on_wait(&mut self, wait: &FindingWait, _allowed: Option<&CpuMask>) {
        let time = wait.episode.length();
        if time > self.limit && !is_for_cpu(wait) {
            self.waits.entry(wait.family).or_default().add(wait.episode.until, time, *wait);
        }
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        findings(&Self::INFO, &self.waits, about, |_| (WaitMeasure::Runtime, self.limit))
    }
}

/// Whether a task waited for a CPU, as far as is known.
const fn is_for_cpu(wait: &FindingWait) -> bool {
    matches!(wait.episode.reason, WaitReason::Cpu | WaitReason::Unknown)
}

/// Describes what a task waited for.
fn awaited(about: &FindingContext<'_>, reason: WaitReason) -> String {
    match reason {
        WaitReason::Cpu => "a CPU".to_owned(),
        WaitReason::Unknown => "a CPU or runtime".to_owned(),
        WaitReason::Runtime(limit) => RuntimeWaits::of(limit, about.groups).description(),
    }
}

/// Returns the class that ran most of the time on the CPUs of a task that waited for one, if it is none of the fair tasks.
fn behind(wait: &FindingWait) -> Option<WaitedBehind> {
    match wait.ran.most().filter(|_| is_for_cpu(wait))? {
        RunClass::Idle => Some(WaitedBehind::IdleTask),
        RunClass::RealTime => Some(WaitedBehind::RealTime),
        RunClass::Deadline => Some(WaitedBehind::Deadline),
        RunClass::Fair | RunClass::Stop => None,
    }
}

/// Returns a finding for each family. `measure` returns what was measured of the longest wait, and its limit.
fn findings(
    rule: &RuleInfo,
    waits: &ByFamily<FindingWait>,
    about: &FindingContext<'_>,
    measure: impl Fn(&FindingWait) -> (WaitMeasure, Nanos),
) -> Vec<Finding> {
    let of_family = |(&family, waits): (&usize, &super::Occurrences<FindingWait>)| {
        let (_, wait) = waits.worst.as_ref()?;
        let name = (about.name)(wait.task);
        let (measure, limit) = measure(wait);
        let evidence = WaitEvidence {
            family: about.families[family].clone(),
            task: name.clone(),
            measure,
            limit_ns: limit.0,
            behind: behind(wait),
        };
        Some(Finding {
            is_open: wait.episode.is_open,
            awaited: Some(awaited(about, wait.episode.reason)),
            // Just before the wait ends, so that the explanation covers all of it.
            at_ns: moment(wait.episode.until).saturating_sub(1),
            ..waits.in_finding(rule.finding(evidence, Question::Task(name)))
        })
    };
    waits.iter().filter_map(of_family).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{family_and_task, found, of, printed, rules_and_families, sentence};

    #[test]
    fn a_long_wait_names_its_limit_its_object_and_the_class_that_ran_meanwhile() {
        let of = |measure, behind| {
            let (family, task) = family_and_task();
            WaitEvidence { family, task, measure, limit_ns: 1_000_000, behind }
        };
        assert_eq!(
            sentence(of(WaitMeasure::Cpu, Some(WaitedBehind::IdleTask))),
            "f waited for a CPU for more than 1ms 2 times; worst: f0 for 2ms, although its CPU idled"
        );
        assert_eq!(
            sentence(of(WaitMeasure::WakeupLatency, Some(WaitedBehind::RealTime))),
            "f had a wake-up latency above 1ms 2 times; worst: f0 for 2ms, behind real-time tasks"
        );
        assert_eq!(
            sentence(of(WaitMeasure::WakeupLatencyOfDeadline, Some(WaitedBehind::Deadline))),
            "f had a wake-up latency above the deadline of 1ms 2 times; worst: f0 for 2ms, behind deadline tasks"
        );
        let runtime = printed(of(WaitMeasure::Runtime, None));
        let runtime = Finding { is_open: true, awaited: Some("the quota of g".to_owned()), count: 1, ..runtime };
        assert_eq!(
            runtime.to_string(),
            "f waited for the quota of g for more than 1ms 1 time; worst: f0 for at least 2ms, not ended"
        );
    }

    #[test]
    fn a_task_that_gets_no_cpu_starves_and_one_that_gets_it_late_is_late() {
        let findings =
            found("cpus 1\nend 300ms\ntask hog fifo=10 cpu=0 run 10s\ntask poor cpu=0 loop run 100us sleep 1ms\n");
        let finding = of(&findings, "starvation").unwrap_or_else(|| panic!("{findings:?}"));
        assert_eq!((finding.severity, finding.question.clone()), (Severity::High, Question::Task("poor".to_owned())));
        assert!(finding.worst_ns > 250_000_000, "{finding:?}");
        let findings =
            found("cpus 1\nend 300ms\ntask hog cpu=0 run 10s\ntask late batch cpu=0 loop run 100us sleep 5ms\n");
        let finding = of(&findings, "late-wakeup").unwrap_or_else(|| panic!("{findings:?}"));
        assert!(finding.count > 5 && finding.worst_ns > 1_000_000, "{finding:?}");
    }

    #[test]
    fn a_task_waits_behind_the_class_that_the_running_task_has_then() {
        let behind = |policy: &str| {
            let text =
                format!("cpus 1\nend 300ms\ntask spin cpu=0 run 10s\ntask nap cpu=0 run 100us sleep 5ms\n{policy}");
            let findings = found(&text);
            of(&findings, "late-wakeup").map(|finding| finding.sentence.ends_with(", behind real-time tasks"))
        };
        assert_eq!(behind("policy 8ms spin fifo=5\n"), Some(true), "it became a real-time task while it ran");
        assert_eq!(behind("policy 8ms spin fifo=5\npolicy 60ms spin fair\n"), Some(true));
    }

    #[test]
    fn who_waits_for_the_quota_of_his_group_does_not_wait_for_a_cpu() {
        let scenario = |quota: &str| format!("cpus 2\nend 500ms\ngroup g {quota}\ntask a group=g n=2 cpu=0 run 10s\n");
        let findings = found(&scenario("quota=20ms period=100ms"));
        assert!(of(&findings, "starvation").is_none(), "{findings:?}");
        let idle = of(&findings, "idle-while-waiting").map_or(0, |finding| finding.worst_ns);
        assert!(idle < 20_000_000, "until load balancing separates the two: {findings:?}");
        assert!(of(&found(&scenario("quota=20ms period=100ms").replace("group=g", "")), "starvation").is_none());
        let hogged = scenario("quota=20ms period=100ms") + "task rt fifo=10 cpu=0 n=2 start=150ms run 10s\n";
        assert!(of(&found(&hogged), "starvation").is_some(), "the group has quota, so the tasks wait for a CPU");
    }

    #[test]
    fn a_deadline_task_beyond_its_runtime_is_throttled_and_waits_for_no_cpu() {
        let (rules, families) = rules_and_families("cpus 4\nend 2s\ntask dl dl=10ms/600ms/600ms cpu=0 run 10s\n");
        assert_eq!(rules, ["throttled"]);
        assert_eq!(families[0].wait_ns, 0);
        assert!(families[0].throttled_ns > 1_900_000_000, "{families:?}");
    }

    #[test]
    fn real_time_tasks_beyond_their_runtime_are_throttled() {
        // By default the class may use 950 ms of each second.
        let scenario = "cpus 4\nend 4s\nfeature RT_RUNTIME_SHARE 0\ntask rt fifo=5 cpu=0 mask=0-0 run 10s\n";
        let (rules, families) = rules_and_families(scenario);
        assert_eq!(rules, ["throttled"]);
        assert_eq!(families[0].wait_ns, 0);
        assert!((150_000_000..250_000_000).contains(&families[0].throttled_ns), "{families:?}");
    }

    #[test]
    fn a_container_that_waits_for_its_quota_is_found_and_one_that_does_not_wait_is_not() {
        let container = |quota: &str| {
            format!(
                "cpus 4\nend 2s\ngroup box quota={quota} period=200ms\ntask web group=box cpu=0 run 40ms sleep 60ms\n"
            )
        };
        let (rules, families) = rules_and_families(&container("30ms"));
        assert_eq!(rules, ["throttled"]);
        assert!(families[0].throttled_ns > 1_000_000_000 && families[0].wait_ns == 0, "{families:?}");
        let (rules, families) = rules_and_families(&container("200ms"));
        assert_eq!((rules.len(), families[0].throttled_ns), (0, 0), "{families:?}");
    }
}
