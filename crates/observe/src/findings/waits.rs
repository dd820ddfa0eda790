// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules `late-wakeup` and `starvation`: tasks that wait long for a CPU, after a wake-up or at any time.

use super::{ByFamily, Finding, FindingContext, Limits, Severity, moment};
use crate::explain::Question;
use crate::plural::counted;
use fairlab_sched::units::Nanos;

/// Completed wait of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct FindingWait {
    /// Index among the machine's tasks.
    pub(super) task: usize,
    pub(super) family: usize,
    pub(super) since: Nanos,
    pub(super) until: Nanos,
}

/// Waits that exceeded a limit.
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
            ("starvation", Severity::High, &self.starved, limits.starvation, "waited for a CPU for more than"),
            ("late-wakeup", Severity::Medium, &self.late, limits.latency, "had a wake-up latency above"),
        ];
        let found = kinds.into_iter().flat_map(|(rule, severity, tallies, limit, what)| {
            tallies.iter().filter_map(move |(&family, tally)| {
                let (time, wait) = tally.worst.as_ref()?;
                let name = (about.name)(wait.task);
                Some(Finding {
                    rule,
                    severity,
                    sentence: format!(
                        "{} {what} {limit} {}; worst: {name} for {time}",
                        about.families[family],
                        counted(tally.count, "time", "times")
                    ),
                    count: tally.count,
                    total_ns: tally.total.0,
                    worst_ns: time.0,
                    // Just before the wait ends, so that the explanation covers all of it.
                    at_ns: moment(wait.until).saturating_sub(1),
                    question: Question::Task(name),
                })
            })
        });
        found.collect()
    }
}
