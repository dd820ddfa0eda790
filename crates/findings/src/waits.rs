// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules `late-wakeup`, `starvation` and `throttled`: tasks that wait long for a CPU, after a wake-up or at any
//! time, or for runtime. Waits that have not ended count with what they have lasted.

use super::rule::{FindingWait, Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Evidence, Finding, FindingContext, Limits, Severity, WaitMeasure, WaitedBehind, moment};
use crate::occupancy::RunClass;
use fairlab_explain::Question;
use fairlab_measure::episodes::WaitReason;
use fairlab_measure::families::RuntimeWaits;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::units::Nanos;

#[derive(Debug)]
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

#[derive(Debug)]
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

#[derive(Debug)]
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
        let (time, wait) = waits.worst.as_ref()?;
        let name = (about.name)(wait.task);
        let (measure, limit) = measure(wait);
        let evidence = Evidence::Wait {
            family: about.families[family].clone(),
            task: name.clone(),
            measure,
            limit_ns: limit.0,
            behind: behind(wait),
        };
        Some(Finding {
            count: waits.count,
            total_ns: waits.total.0,
            worst_ns: time.0,
            is_open: wait.episode.is_open,
            awaited: Some(awaited(about, wait.episode.reason)),
            // Just before the wait ends, so that the explanation covers all of it.
            at_ns: moment(wait.episode.until).saturating_sub(1),
            last_ns: moment(waits.last),
            ..rule.finding(evidence, Question::Task(name))
        })
    };
    waits.iter().filter_map(of_family).collect()
}
