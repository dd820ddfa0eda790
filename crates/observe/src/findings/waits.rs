// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that wait for long: after a wake-up (late), or at any time (starvation).

use super::{ByFamily, Finding, FindingContext, Limits, Severity, moment};
use crate::explain::Question;
use fairlab_sched::units::Nanos;

/// A wait of a task that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct FindingWait {
    /// Place of the task among the machine's.
    pub(super) task: usize,
    pub(super) family: usize,
    pub(super) since: Nanos,
    pub(super) until: Nanos,
}

/// Waits that were too long.
#[derive(Debug, Default)]
pub(super) struct Waits {
    late: ByFamily<FindingWait>,
    starved: ByFamily<FindingWait>,
}

impl Waits {
    pub(super) fn record_late(&mut self, wait: FindingWait, by: Nanos) {
        self.late.entry(wait.family).or_default().add(by, wait);
    }

    pub(super) fn record_starved(&mut self, wait: FindingWait) {
        self.starved.entry(wait.family).or_default().add(wait.until - wait.since, wait);
    }

    pub(super) fn findings(&self, about: &FindingContext<'_>, limits: Limits) -> Vec<Finding> {
        let kinds = [
            ("starvation", Severity::High, &self.starved, limits.starvation, "waited without a CPU"),
            ("late-wakeup", Severity::Medium, &self.late, limits.latency, "ran late after a wake-up"),
        ];
        let found = kinds.into_iter().flat_map(|(rule, severity, tallies, limit, what)| {
            tallies.iter().filter_map(move |(&family, tally)| {
                let (time, wait) = tally.worst.as_ref()?;
                let name = (about.name)(wait.task);
                let times = tally.count;
                Some(Finding {
                    rule,
                    severity,
                    sentence: format!(
                        "{} {what} {times} times for more than {limit}; at the worst {name} for {time}",
                        about.families[family]
                    ),
                    count: times,
                    total_ns: tally.total.0,
                    worst_ns: time.0,
                    // Shortly before the wait ends, when all of it can be explained.
                    at_ns: moment(wait.until).saturating_sub(1),
                    question: Question::Task(name),
                })
            })
        });
        found.collect()
    }
}
