// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine that goes over-utilised and back all the time: placement by energy is switched off and on with it.

use super::{Finding, Severity, moment};
use crate::explain::Question;
use fairlab_machine::sim::START;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

/// Fewer spells are nothing to speak of.
const MIN_EPISODES: u64 = 10;
/// So many in a second are too many.
const PER_SECOND: u64 = 5;
/// It is over-utilised for this part of the time at the least, and is not for as much, in percent: what is always so does not flap, and spells
/// that are over at once do no harm.
const MIN_PERCENT: u64 = 5;

/// A time in which the machine was over-utilised.
#[derive(Clone, Copy, Debug)]
struct Episode {
    since: Nanos,
    /// The CPU that had too little room when it began.
    cpu: CpuId,
    length: Nanos,
}

/// What the root domain has told.
#[derive(Debug, Default)]
pub(super) struct Flapping {
    /// How often it became over-utilised, and for how long in all.
    episodes: u64,
    over: Nanos,
    /// The spell that goes on.
    now: Option<Episode>,
    longest: Option<Episode>,
}

impl Flapping {
    pub(super) fn on_overutilized(&mut self, now: Nanos, is_over: bool, cpu: CpuId) {
        if is_over {
            self.episodes += 1;
            self.now = Some(Episode { since: now, cpu, length: Nanos::ZERO });
        } else if let Some(spell) = self.now.take() {
            let spell = Episode { length: now - spell.since, ..spell };
            self.over += spell.length;
            if self.longest.is_none_or(|longest| spell.length > longest.length) {
                self.longest = Some(spell);
            }
        }
    }

    /// `is_by_energy`: whether placement by energy is on, without which nothing comes of it.
    pub(super) fn findings(&self, now: Nanos, is_by_energy: bool) -> Vec<Finding> {
        let length = now.saturating_since(START).0.max(1);
        let over = self.over.0 + self.now.map_or(0, |spell| now.saturating_since(spell.since).0);
        let is_often = self.episodes >= MIN_EPISODES
            && u128::from(self.episodes) * 1_000_000_000 >= u128::from(PER_SECOND * length);
        let part = u128::from(length) * u128::from(MIN_PERCENT) / 100;
        let is_some_time = u128::from(over) >= part && u128::from(length - over.min(length)) >= part;
        let Some(longest) = self.longest.filter(|_| is_by_energy && is_often && is_some_time) else {
            return Vec::new();
        };
        vec![Finding {
            rule: "overutilized-flapping",
            severity: Severity::Low,
            sentence: format!(
                "the machine became over-utilised {} times, the longest time for {} since CPU {} had too little room, and was so for {} of {}: \
                 placement by energy is off then",
                self.episodes,
                longest.length,
                longest.cpu.0,
                Nanos(over),
                Nanos(length)
            ),
            count: self.episodes,
            total_ns: over,
            worst_ns: longest.length.0,
            at_ns: moment(longest.since),
            question: Question::Cpu(longest.cpu.0),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many spells of `over` ms, each followed by as much as makes it 20 ms.
    fn after(spells: u64, over: u64) -> Flapping {
        let mut flapping = Flapping::default();
        let ms = Nanos::from_millis;
        for spell in 0..spells {
            flapping.on_overutilized(START + ms(20 * spell), true, CpuId(3));
            flapping.on_overutilized(START + ms(20 * spell + over), false, CpuId(0));
        }
        flapping
    }

    #[test]
    fn many_spells_are_found_where_placement_goes_by_energy() {
        let (flapping, now) = (after(10, 5), START + Nanos::from_millis(200));
        let found = flapping.findings(now, true);
        let finding = found.first().expect("it flaps");
        assert_eq!((finding.count, finding.total_ns, finding.worst_ns), (10, 50_000_000, 5_000_000));
        assert_eq!(finding.question, Question::Cpu(3));
        assert!(flapping.findings(now, false).is_empty(), "nothing comes of it");
        assert!(flapping.findings(START + Nanos::from_secs(3), true).is_empty(), "three a second");
    }

    #[test]
    fn what_is_over_at_once_or_hardly_ever_over_is_not_found() {
        let now = START + Nanos::from_millis(400);
        assert!(after(20, 0).findings(now, true).is_empty(), "no time");
        assert!(after(20, 20).findings(now, true).is_empty(), "all the time");
        assert!(!after(20, 19).findings(now, true).is_empty(), "95 % of it");
    }
}
