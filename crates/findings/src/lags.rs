// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule `lag-limited`: a task leaves the runqueue with its lag far beyond the limit again and again (6.12).
//!
//! A task keeps its lag while it sleeps or moves, up to two slices and at least a tick. The rest is forgotten: a positive
//! lag is service that the task was due and never gets, a negative one is service that it got too much and never gives
//! back. The excess counts in CPU time by the weight of the task.
//!
//! A task that sleeps often and waits for the end of others' slices collects lag up to the limit, without harm: it has
//! no use for more. Therefore a lag counts only if the limit takes more than half of it.

use super::evidence::Sentence;
use super::rule::{Rule, RuleInfo, RuleSeverity};
use super::{ByFamily, Finding, FindingContext, Occurrences, Severity, moment};
use fairlab_explain::Question;
use fairlab_sched::interface::eevdf::LimitedLag;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Evidence of tasks that left the runqueue with much more lag than they may keep.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct LimitedLagEvidence {
    pub family: String,
    pub task: String,
    pub kept_ns: i64,
    pub lag_ns: i64,
}

impl Sentence for LimitedLagEvidence {
    fn write(&self, finding: &Finding, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, task, kept_ns, lag_ns } = self;
        let (times, total) = (finding.times(), finding.total());
        let (effect, sign) = match lag_ns {
            0.. => (format!("so that they never get {total} of service that they were due"), '+'),
            _ => (format!("so that they need not give back {total} of service that they got too much"), '-'),
        };
        let (kept, lag) = (Nanos(kept_ns.unsigned_abs()), Nanos(lag_ns.unsigned_abs()));
        write!(
            f,
            "{family} left the runqueue {times} with more than twice the lag that they may keep, {effect}; worst: {task} kept \
             {kept} of a lag of {sign}{lag}"
        )
    }
}

/// Number of departures per second above which tasks are reported.
const PER_SECOND: u64 = 5;
/// Minimum number of departures that is reported.
const MIN_DEPARTURES: u64 = 20;
/// Weight of a task with nice value 0, in whose time lags count.
const NICE_0_WEIGHT: u64 = 1024;

/// Departures with a lag of more than twice the limit, by family: tasks that were due service, and tasks that got too much.
#[derive(Debug, Default)]
pub(super) struct LimitedLags {
    due: ByFamily<WorstLag>,
    ahead: ByFamily<WorstLag>,
}

#[derive(Clone, Copy, Debug)]
struct WorstLag {
    task: usize,
    at: Nanos,
    lag: LimitedLag,
}

impl Rule for LimitedLags {
    const INFO: RuleInfo = RuleInfo {
        name: "lag-limited",
        condition: "in 6.12, tasks of a family left the runqueue with a lag of more than twice the limit, more than 5 times \
                    per second and at least 20 times",
        severity: RuleSeverity::Fixed(Severity::Low),
        is_for_traces: false,
    };

    fn on_limited_lag(&mut self, now: Nanos, (task, family): (usize, usize), lag: &LimitedLag) {
        if lag.lag.unsigned_abs() <= 2 * lag.kept.unsigned_abs() {
            return;
        }
        let found = if lag.lag > 0 { &mut self.due } else { &mut self.ahead };
        found.entry(family).or_default().add(now, service(lag), WorstLag { task, at: now, lag: *lag });
    }

    fn findings(&mut self, about: &FindingContext<'_>) -> Vec<Finding> {
        findings(about, &self.due).chain(findings(about, &self.ahead)).collect()
    }
}

/// Returns the CPU time that the limit takes from a lag.
const fn service(lag: &LimitedLag) -> Nanos {
    let excess = lag.lag.abs_diff(lag.kept) as u128 * lag.weight as u128 / NICE_0_WEIGHT as u128;
    Nanos(excess as u64)
}

/// Returns the findings about lags of one sign.
fn findings<'a>(about: &'a FindingContext<'_>, found: &'a ByFamily<WorstLag>) -> impl Iterator<Item = Finding> + 'a {
    let length_ns = about.length_ns();
    let is_often = move |found: &Occurrences<WorstLag>| {
        found.count >= MIN_DEPARTURES
            && u128::from(found.count) * 1_000_000_000 > u128::from(PER_SECOND) * u128::from(length_ns)
    };
    found.iter().filter(move |(_, found)| is_often(found)).filter_map(move |(&family, found)| {
        let (_, WorstLag { task, at, lag }) = found.worst.as_ref()?;
        let name = (about.name)(*task);
        let evidence = LimitedLagEvidence {
            family: about.families[family].clone(),
            task: name.clone(),
            kept_ns: lag.kept,
            lag_ns: lag.lag,
        };
        Some(Finding {
            at_ns: moment(*at),
            ..found.in_finding(LimitedLags::INFO.finding(evidence, Question::Task(name)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{family_and_task, found_in_6_12, of, sentence};

    #[test]
    fn a_limited_lag_is_printed_with_its_sign_and_its_effect() {
        let of = |kept_ns, lag_ns| {
            let (family, task) = family_and_task();
            sentence(LimitedLagEvidence { family, task, kept_ns, lag_ns })
        };
        let start = "f left the runqueue 2 times with more than twice the lag that they may keep, so that they ";
        assert_eq!(
            of(1_000_000, 4_000_000),
            format!("{start}never get 3ms of service that they were due; worst: f0 kept 1ms of a lag of +4ms")
        );
        assert_eq!(
            of(-1_000_000, -4_000_000),
            format!(
                "{start}need not give back 3ms of service that they got too much; worst: f0 kept 1ms of a lag of -4ms"
            )
        );
    }

    #[test]
    fn a_task_that_loses_service_at_the_limit_of_its_lag_is_found() {
        // A batch task does not preempt, so it waits for the end of the long slice; it keeps only a tick of its lag.
        let scenario = |slice: &str| {
            format!(
                "cpus 1\nend 4s\ntask hog slice={slice} cpu=0 run 10s\ntask poor batch slice=100us cpu=0 loop run 50us sleep 1ms\n"
            )
        };
        let findings = found_in_6_12(&scenario("100ms"));
        let finding = of(&findings, "lag-limited").unwrap_or_else(|| panic!("{findings:?}"));
        assert!(finding.count >= 30 && finding.question == Question::Task("poor".to_owned()), "{finding:?}");
        assert!(
            finding.sentence.contains("so that they never get") && finding.sentence.contains("kept 4ms"),
            "{finding:?}"
        );
        assert!((40_000_000..60_000_000).contains(&finding.worst_ns), "about half of the slice: {finding:?}");
        assert!(of(&found_in_6_12(&scenario("3ms")), "lag-limited").is_none(), "its lag is within the limit");
    }
}
