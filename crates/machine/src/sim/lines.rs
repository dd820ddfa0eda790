// SPDX-License-Identifier: GPL-2.0-or-later
//! Cache lines of runqueues: what a look at a runqueue costs depends on who has written it since the last one.
//!
//! A runqueue's counters and flags are taken for one line, which is in the manner of MESI in the caches of those who have seen
//! its present version. Rules:
//! 1. Who has seen the present version reads for nothing. Others have it sent: a transfer within the last-level cache if some
//!    CPU there has it, and from another one if not.
//! 2. Who writes has it for itself afterwards: a new version. If others have seen the old one, or it was another's, that takes
//!    a transfer too.
//! 3. One line is transferred to one CPU at a time; others wait. That is what makes a hot line dear.
//!
//! A transfer takes as long as the interconnect takes, on slow CPUs as on fast ones. The touches of a phase are spread evenly
//! over its other work. Nothing of this exists on a machine whose transfers are free.

use crate::hardware::Hardware;
use fairlab_sched::ids::CpuId;
use fairlab_sched::work::Touch;
use std::collections::VecDeque;

/// The line of a runqueue. Times are in picoseconds.
#[derive(Clone, Debug, Default)]
struct Line {
    version: u32,
    /// Who wrote it last.
    owner: u32,
    /// Somebody else has seen what was written.
    is_shared: bool,
    /// The last-level caches that have it, by number modulo 64.
    caches: u64,
    /// When it is or will be on its way, in ascending order: ranges that do not touch each other.
    transfers: VecDeque<(u64, u64)>,
}

/// The lines of all runqueues.
#[derive(Clone, Debug, Default)]
pub(crate) struct RqLines {
    local_ps: u64,
    remote_ps: u64,
    lines: Vec<Line>,
    /// The version that a CPU has seen last, for each pair of CPU and runqueue: a row for each CPU.
    seen: Vec<u32>,
    /// Last-level cache of each CPU.
    cache_of: Vec<u32>,
}

/// What the touches of a phase have cost, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transfers {
    /// Time in which lines were on their way.
    pub(crate) ps: u64,
    /// Time in which the CPU waited for others to get them first.
    pub(crate) waited_ps: u64,
    /// How many lines.
    pub(crate) count: u64,
}

impl RqLines {
    /// The lines of a machine; none if their transfers are free.
    pub(super) fn new(hardware: &Hardware) -> Self {
        let (local_ps, remote_ps) = hardware.prices.line_transfer_ps();
        if local_ps == 0 && remote_ps == 0 {
            return Self::default();
        }
        let nr_cpus = hardware.nr_cpus();
        let cache_of: Vec<u32> = hardware.topology.cpus.iter().map(|place| place.llc).collect();
        let line = |cpu| Line { version: 1, owner: cpu as u32, caches: bit(cache_of[cpu]), ..Line::default() };
        Self {
            local_ps,
            remote_ps,
            lines: (0..nr_cpus).map(line).collect(),
            seen: vec![0; nr_cpus * nr_cpus],
            cache_of,
        }
    }

    /// Whether transfers have a price.
    #[inline]
    pub(super) fn are_priced(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The touches of a phase of a CPU that begins now and has so much other work.
    pub(super) fn touch_all(&mut self, cpu: CpuId, touches: &[Touch], now_ps: u64, other_ps: u64) -> Transfers {
        let mut sum = Transfers::default();
        let gap = other_ps / (touches.len() as u64 + 1);
        let mut at = now_ps;
        for touch in touches {
            at += gap;
            let Some(price) = self.price_of(cpu, touch) else { continue };
            let begins = self.lines[touch.cpu.index()].reserve(now_ps, at, price);
            sum.waited_ps += begins - at;
            sum.ps += price;
            sum.count += 1;
            at = begins + price;
        }
        sum
    }

    /// What it takes for a CPU to have a line for what it wants; nothing if it has it.
    fn price_of(&mut self, cpu: CpuId, touch: &Touch) -> Option<u64> {
        let nr_cpus = self.lines.len();
        let own_cache = bit(self.cache_of[cpu.index()]);
        let line = &mut self.lines[touch.cpu.index()];
        let seen = &mut self.seen[cpu.index() * nr_cpus + touch.cpu.index()];
        let is_owner = line.owner == cpu.0;
        let (has_it, is_near) = if touch.write {
            let had = (is_owner && !line.is_shared, line.caches == own_cache);
            if !had.0 {
                line.version = line.version.wrapping_add(1);
            }
            (line.owner, line.is_shared, line.caches) = (cpu.0, false, own_cache);
            had
        } else {
            let had = (is_owner || *seen == line.version, line.caches & own_cache != 0);
            line.is_shared |= !is_owner;
            line.caches |= own_cache;
            had
        };
        *seen = line.version;
        let price = if is_near { self.local_ps } else { self.remote_ps };
        (!has_it && price > 0).then_some(price)
    }
}

impl Line {
    /// Has the line transferred from some time on, at the first moment at which it is free for so long. Returns when that is.
    fn reserve(&mut self, now: u64, mut from: u64, length: u64) -> u64 {
        while self.transfers.front().is_some_and(|&(_, end)| end <= now) {
            self.transfers.pop_front();
        }
        let mut place = 0;
        while let Some(&(begin, end)) = self.transfers.get(place) {
            if from + length <= begin {
                break;
            }
            from = from.max(end);
            place += 1;
        }
        let follows = place.checked_sub(1).is_some_and(|before| self.transfers[before].1 == from);
        let precedes = self.transfers.get(place).is_some_and(|&(begin, _)| begin == from + length);
        match (follows, precedes) {
            (true, true) => {
                self.transfers[place - 1].1 = self.transfers[place].1;
                self.transfers.remove(place);
            }
            (true, false) => self.transfers[place - 1].1 = from + length,
            (false, true) => self.transfers[place].0 = from,
            (false, false) => self.transfers.insert(place, (from, from + length)),
        }
        from
    }
}

fn bit(cache: u32) -> u64 {
    1 << (cache % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two caches of two CPUs each; a transfer takes 100 within a cache and 300 between them.
    fn lines() -> RqLines {
        let cache_of = vec![0, 0, 1, 1];
        let line = |cpu: u32| Line { version: 1, owner: cpu, caches: bit(cpu / 2), ..Line::default() };
        RqLines { local_ps: 100, remote_ps: 300, lines: (0..4).map(line).collect(), seen: vec![0; 16], cache_of }
    }

    fn touch(lines: &mut RqLines, cpu: u32, of: u32, write: bool, now: u64) -> (u64, u64) {
        let sum = lines.touch_all(CpuId(cpu), &[Touch { cpu: CpuId(of), write }], now, 0);
        (sum.ps, sum.waited_ps)
    }

    #[test]
    fn a_line_is_read_once_until_somebody_writes_it() {
        let mut lines = lines();
        assert_eq!(touch(&mut lines, 0, 0, false, 0), (0, 0), "its owner has it");
        assert_eq!(touch(&mut lines, 1, 0, false, 0), (100, 0), "the neighbour does not");
        assert_eq!(touch(&mut lines, 1, 0, false, 1000), (0, 0), "but from then on it does");
        assert_eq!(touch(&mut lines, 2, 0, false, 1000), (300, 0), "it comes from the other cache");
        assert_eq!(touch(&mut lines, 3, 0, false, 2000), (100, 0), "where it is now");
        assert_eq!(touch(&mut lines, 0, 0, true, 3000), (300, 0), "copies elsewhere have to go");
        assert_eq!(touch(&mut lines, 0, 0, true, 4000), (0, 0), "once");
        assert_eq!(touch(&mut lines, 1, 0, false, 5000), (100, 0), "and all have to read anew");
        assert_eq!(touch(&mut lines, 1, 0, true, 6000), (100, 0), "writing takes it from its owner");
        assert_eq!(touch(&mut lines, 0, 0, false, 7000), (100, 0));
    }

    #[test]
    fn readers_of_a_hot_line_wait_for_each_other() {
        let mut lines = lines();
        assert_eq!(touch(&mut lines, 2, 0, false, 0), (300, 0));
        assert_eq!(touch(&mut lines, 1, 0, false, 50), (100, 250), "from 300 to 400");
        assert_eq!(touch(&mut lines, 3, 0, false, 60), (100, 340), "from 400 to 500");
        assert_eq!(touch(&mut lines, 0, 0, true, 1000), (300, 0), "nobody is left");
    }

    #[test]
    fn a_transfer_that_is_to_come_leaves_room_before_it() {
        let mut line = Line::default();
        assert_eq!(line.reserve(0, 1000, 100), 1000);
        assert_eq!(line.reserve(0, 0, 100), 0, "early enough");
        assert_eq!(line.reserve(0, 950, 100), 1100, "too long for what is left before");
        assert_eq!(line.reserve(0, 50, 900), 100, "fills the gap exactly");
        assert_eq!(line.transfers, [(0, 1200)]);
        assert_eq!(line.reserve(1300, 1300, 100), 1300);
        assert_eq!(line.transfers.len(), 1, "what is over is forgotten");
    }

    #[test]
    fn touches_are_spread_over_the_work_of_their_phase() {
        let mut lines = lines();
        let touches = [1, 2].map(|cpu| Touch { cpu: CpuId(cpu), write: false });
        // At 1000 + 200 the line of CPU 1, at 1000 + 200 + 100 + 200 that of CPU 2.
        let sum = lines.touch_all(CpuId(0), &touches, 1000, 600);
        assert_eq!(sum, Transfers { ps: 400, waited_ps: 0, count: 2 });
        assert_eq!(lines.lines[1].transfers, [(1200, 1300)]);
        assert_eq!(lines.lines[2].transfers, [(1500, 1800)]);
    }
}
