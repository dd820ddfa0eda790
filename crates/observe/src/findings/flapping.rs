// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine that goes over-utilised and back all the time: placement by energy is switched off and on with it. Seen by looks.

use super::{Finding, Severity, moment};
use crate::explain::Question;
use fairlab_machine::engine::{Machine, START};
use fairlab_sched::units::Nanos;

/// Fewer changes are nothing to speak of.
const LEAST: u64 = 20;
/// So many changes a second are too many.
const PER_SECOND: u64 = 10;

/// What was seen of the root domain.
#[derive(Debug, Default)]
pub(super) struct Flapping {
    changes: u64,
    over: Nanos,
    was: Option<(Nanos, bool)>,
    last: Nanos,
}

impl Flapping {
    pub(super) fn look(&mut self, machine: &Machine) {
        self.see(machine.now(), machine.sched().domains().root.overutilized);
    }

    fn see(&mut self, now: Nanos, is_over: bool) {
        if let Some((at, was)) = self.was.replace((now, is_over)) {
            if was {
                self.over += now - at;
            }
            if was != is_over {
                self.changes += 1;
                self.last = now;
            }
        }
    }

    /// `is_by_energy`: whether placement by energy is on, without which nothing comes of it.
    pub(super) fn findings(&self, now: Nanos, is_by_energy: bool) -> Vec<Finding> {
        let length = now.saturating_since(START).0.max(1);
        let is_often =
            self.changes >= LEAST && u128::from(self.changes) * 1_000_000_000 > u128::from(PER_SECOND * length);
        if !is_by_energy || !is_often {
            return Vec::new();
        }
        vec![Finding {
            rule: "overutilized-flapping",
            severity: Severity::Low,
            sentence: format!(
                "the machine went over-utilised and back {} times, and was so for {} of {}: placement by energy is off then",
                self.changes,
                self.over,
                Nanos(length)
            ),
            count: self.changes,
            total_ns: self.over.0,
            worst_ns: 0,
            at_ns: moment(self.last),
            question: Question::Cpu(0),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_changes_are_found_where_placement_goes_by_energy() {
        let mut flapping = Flapping::default();
        for step in 0..=20_u64 {
            flapping.see(START + Nanos::from_millis(10 * step), step % 2 == 1);
        }
        let now = START + Nanos::from_millis(200);
        assert_eq!(
            flapping.findings(now, true).first().map(|finding| (finding.count, finding.total_ns)),
            Some((20, 100_000_000))
        );
        assert!(flapping.findings(now, false).is_empty());
        assert!(flapping.findings(START + Nanos::from_secs(3), true).is_empty(), "seven a second");
    }
}
