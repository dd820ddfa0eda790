// SPDX-License-Identifier: GPL-2.0-or-later
//! Cache lines of the scheduler's shared data: the cost of an access depends on which CPU has written the line last.
//!
//! A runqueue's counters and flags are modelled as one cache line, and so is the load of a task group
//! (`tg->load_avg`), with a protocol like MESI. Rules:
//! 1. A CPU that has read the present version reads it at no cost. For other CPUs the line is transferred:
//!    within the last-level cache if a CPU there has it, else from the CPU that wrote it last.
//! 2. A write creates a new version, which only the writer has. If others have read the old version, or
//!    another CPU owned it, the write needs a transfer too.
//! 3. A transfer that changes who may write, that is the first read after a write and every write, occupies the line;
//!    others wait. That makes a hot line expensive.
//! 4. A read of a line that a CPU of the same cache has read since the last write waits for a transfer in progress, but
//!    does not occupy the line: the cache serves such reads side by side.
//!
//! The time of a runqueue's line overlaps with other work. That of a group's load does not: it is changed by an
//! atomic operation, and read by the division that follows.
//!
//! A transfer takes the same wall time on slow and fast CPUs, because the interconnect determines it. The
//! accesses of a phase are spread evenly over its other work. The model is off on a machine whose transfers
//! have no cost.

use crate::hardware::Hardware;
use fairlab_board::{ByDistance, Distance};
use fairlab_sched::ids::CpuId;
use fairlab_sched::topology::CpuPlace;
use fairlab_sched::work::{Access, SharedData, Touch};
use std::collections::VecDeque;

/// A cache line. Times are in picoseconds.
#[derive(Clone, Debug)]
struct Line {
    version: u32,
    /// CPU that wrote the line last.
    owner: u32,
    /// Whether another CPU has read the present version.
    is_shared: bool,
    /// Bit mask of the last-level caches that have the line, by number modulo 64.
    caches: u64,
    /// Time ranges of transfers in progress or planned: ascending, disjoint, and with gaps between them.
    transfers: VecDeque<(u64, u64)>,
}

/// Number of separate time ranges of transfers for which a line has room from the start, so that steady runs do not
/// allocate.
const ROOM_FOR_TRANSFERS: usize = 16;

/// Line of a task group's load.
#[derive(Clone, Debug)]
struct GroupLine {
    line: Line,
    /// Version that each CPU has read last.
    seen: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SharedLines {
    /// Cost of the transfer that a read of a few fields or a write needs.
    ps: ByDistance<u64>,
    /// Cost of the transfers that a scan for an idle CPU needs.
    scan_ps: ByDistance<u64>,
    /// Cost of the transfers that load-balance statistics need.
    statistics_ps: ByDistance<u64>,
    /// Cost of the transfer of a group's load.
    group_ps: ByDistance<u64>,
    /// Lines of runqueues, by CPU.
    lines: Vec<Line>,
    /// Version that a CPU has read last, for each pair of CPU and runqueue; one row for each CPU.
    seen: Vec<u32>,
    /// Lines of task groups, as far as they have been used.
    groups: Vec<GroupLine>,
    /// Units of each CPU.
    places: Vec<CpuPlace>,
}

/// Cost of the line accesses of a phase, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransferCosts {
    /// Time of the transfers.
    pub(crate) ps: u64,
    /// Time in which the CPU waited for transfers to other CPUs.
    pub(crate) waited_ps: u64,
    /// Number of transfers to the CPU.
    pub(crate) count: u64,
}

/// Transfer of a line to a CPU.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    /// Duration in picoseconds.
    ps: u64,
    /// Whether the cache has a copy that it serves to several readers at once.
    is_copy: bool,
}

impl SharedLines {
    /// Returns the lines of a machine; empty if transfers have no cost.
    pub(crate) fn new(hardware: &Hardware) -> Self {
        let costs = &hardware.costs;
        let ps = costs.line_transfer_ps();
        if ps == ByDistance::default() {
            return Self::default();
        }
        let of_cpus = Self::without_costs(&hardware.topology.cpus);
        Self {
            ps,
            scan_ps: costs.scan_lines_ps(),
            statistics_ps: costs.statistics_lines_ps(),
            group_ps: costs.group_line_ps(),
            ..of_cpus
        }
    }

    /// Returns the lines of CPUs at these places, with transfers that take no time.
    fn without_costs(places: &[CpuPlace]) -> Self {
        let line = |(cpu, place): (usize, &CpuPlace)| Line::new(cpu as u32, cache_bit(place.llc));
        Self {
            lines: places.iter().enumerate().map(line).collect(),
            seen: vec![0; places.len() * places.len()],
            places: places.to_vec(),
            ..Self::default()
        }
    }

    /// Whether transfers have a cost.
    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Executes the accesses of a phase that begins at `now_ps` and has `other_ps` of other work.
    pub(crate) fn touch_all(&mut self, cpu: CpuId, touches: &[Touch], now_ps: u64, other_ps: u64) -> TransferCosts {
        let mut sum = TransferCosts::default();
        let gap = other_ps / (touches.len() as u64 + 1);
        let mut at = now_ps;
        for touch in touches {
            at += gap;
            let Some(transfer) = self.begin_transfer(cpu, touch) else { continue };
            let line = self.line_of(touch.data);
            let begins =
                if transfer.is_copy { line.free_at(now_ps, at) } else { line.reserve(now_ps, at, transfer.ps) };
            sum.waited_ps += begins - at;
            sum.ps += transfer.ps;
            sum.count += 1;
            at = begins + transfer.ps;
        }
        sum
    }

    /// Returns the transfer that an access needs; `None` if the CPU has the line or the transfer has no cost. Updates
    /// the state of the line.
    fn begin_transfer(&mut self, cpu: CpuId, touch: &Touch) -> Option<Transfer> {
        let nr_cpus = self.lines.len();
        let place = &self.places[cpu.index()];
        let own_cache = cache_bit(place.llc);
        let (line, seen, costs) = match touch.data {
            SharedData::Runqueue(of) => (
                &mut self.lines[of.index()],
                &mut self.seen[cpu.index() * nr_cpus + of.index()],
                match touch.access {
                    Access::Read | Access::Write => &self.ps,
                    Access::Scan => &self.scan_ps,
                    Access::Statistics => &self.statistics_ps,
                },
            ),
            SharedData::GroupLoad(group) => {
                while self.groups.len() <= group.index() {
                    let line = Line::new(cpu.0, own_cache);
                    self.groups.push(GroupLine { line, seen: vec![0; nr_cpus] });
                }
                let group = &mut self.groups[group.index()];
                (&mut group.line, &mut group.seen[cpu.index()], &self.group_ps)
            }
        };
        let (owner, is_owner, was_shared) = (line.owner, line.owner == cpu.0, line.is_shared);
        let (has_it, is_near) = if touch.access == Access::Write {
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
        if has_it {
            return None;
        }
        // The owner may be farther away than a cache with a copy, or nearer than one whose copy becomes invalid.
        let from_owner = Distance::between(&self.places[owner as usize], place);
        let distance = if is_near { from_owner.min(Distance::Cache) } else { from_owner.max(Distance::Package) };
        let is_copy = touch.access != Access::Write && was_shared && is_near;
        let ps = costs[distance];
        (ps > 0).then_some(Transfer { ps, is_copy })
    }

    fn line_of(&mut self, data: SharedData) -> &mut Line {
        match data {
            SharedData::Runqueue(cpu) => &mut self.lines[cpu.index()],
            SharedData::GroupLoad(group) => &mut self.groups[group.index()].line,
        }
    }
}

impl Line {
    /// Returns a line that only this CPU has.
    fn new(owner: u32, caches: u64) -> Self {
        Self { version: 1, owner, is_shared: false, caches, transfers: VecDeque::with_capacity(ROOM_FOR_TRANSFERS) }
    }

    /// Removes transfers that have ended at `now`, and returns the first time from `from` on at which the line is free
    /// for `length`, with the number of transfers before it.
    fn first_gap(&mut self, now: u64, mut from: u64, length: u64) -> (u64, usize) {
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
        (from, place)
    }

    /// Returns the first time from `from` on at which no transfer occupies the line.
    fn free_at(&mut self, now: u64, from: u64) -> u64 {
        self.first_gap(now, from, 1).0
    }

    /// Reserves the line for a transfer: from `from` on, at the first time at which the line is free for
    /// `length`. Returns the start.
    fn reserve(&mut self, now: u64, from: u64, length: u64) -> u64 {
        let (from, place) = self.first_gap(now, from, length);
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

fn cache_bit(cache: u32) -> u64 {
    1 << (cache % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::ids::GroupId;

    /// Returns lines of two caches with two CPUs each. A transfer takes 100 ps within a cache and 300 ps
    /// between caches.
    fn lines() -> SharedLines {
        let place = |cpu: u32| CpuPlace { core: cpu, cluster: cpu, llc: cpu / 2, package: 0, node: 0 };
        let [ps, statistics_ps] = [(100, 300), (500, 1500)].map(|(near, far)| ByDistance::near_and_far(near, far));
        let group_ps = ByDistance::near_and_far(1000, 3000);
        let of_cpus = SharedLines::without_costs(&[0, 1, 2, 3].map(place));
        SharedLines { ps, scan_ps: ps, statistics_ps, group_ps, ..of_cpus }
    }

    fn touch(lines: &mut SharedLines, cpu: u32, of: u32, write: bool, now: u64) -> (u64, u64) {
        let access = if write { Access::Write } else { Access::Read };
        let sum = lines.touch_all(CpuId(cpu), &[Touch { data: SharedData::Runqueue(CpuId(of)), access }], now, 0);
        (sum.ps, sum.waited_ps)
    }

    #[test]
    fn a_line_is_read_once_until_it_is_written() {
        let mut lines = lines();
        assert_eq!(touch(&mut lines, 0, 0, false, 0), (0, 0), "its owner has it");
        assert_eq!(touch(&mut lines, 1, 0, false, 0), (100, 0), "the neighbour does not");
        assert_eq!(touch(&mut lines, 1, 0, false, 1000), (0, 0), "but from then on it does");
        assert_eq!(touch(&mut lines, 2, 0, false, 1000), (300, 0), "it comes from the other cache");
        assert_eq!(touch(&mut lines, 3, 0, false, 2000), (100, 0), "where it is now");
        assert_eq!(touch(&mut lines, 0, 0, true, 3000), (300, 0), "other copies are invalidated");
        assert_eq!(touch(&mut lines, 0, 0, true, 4000), (0, 0), "once");
        assert_eq!(touch(&mut lines, 1, 0, false, 5000), (100, 0), "all have to read it again");
        assert_eq!(touch(&mut lines, 1, 0, true, 6000), (100, 0), "writing takes it from its owner");
        assert_eq!(touch(&mut lines, 0, 0, false, 7000), (100, 0));
    }

    #[test]
    fn statistics_need_more_lines_than_a_few_fields() {
        let mut lines = lines();
        let touches = [1, 2].map(|cpu| Touch { data: SharedData::Runqueue(CpuId(cpu)), access: Access::Statistics });
        assert_eq!(lines.touch_all(CpuId(0), &touches, 0, 0).ps, 2000);
    }

    #[test]
    fn additions_to_a_groups_load_are_served_one_after_the_other() {
        let mut lines = lines();
        let mut add = |cpu: u32, group: u32, now: u64| {
            let touch = Touch { data: SharedData::GroupLoad(GroupId(group)), access: Access::Write };
            let sum = lines.touch_all(CpuId(cpu), &[touch], now, 0);
            (sum.ps, sum.waited_ps)
        };
        assert_eq!(add(0, 1, 0), (0, 0), "the first CPU that uses the line has it");
        assert_eq!(add(0, 1, 10), (0, 0));
        assert_eq!([1, 2, 3].map(|cpu| add(cpu, 1, 20)), [(1000, 0), (3000, 1000), (1000, 4000)]);
        assert_eq!(add(1, 2, 20), (0, 0), "each group has a line of its own");
        assert_eq!(add(0, 1, 9000), (3000, 0), "no transfer is left");
    }

    #[test]
    fn readers_wait_for_the_first_read_after_a_write_but_not_for_each_other() {
        let mut lines = lines();
        assert_eq!(touch(&mut lines, 2, 0, false, 0), (300, 0), "the first read, from the other cache");
        assert_eq!(touch(&mut lines, 1, 0, false, 50), (100, 250), "from 300 to 400");
        assert_eq!(touch(&mut lines, 3, 0, false, 60), (100, 240), "from 300 to 400, too");
        assert_eq!(touch(&mut lines, 0, 0, true, 350), (300, 0), "reads of copies do not occupy the line");
        assert_eq!(touch(&mut lines, 1, 0, false, 360), (100, 290), "the first read after the write, from 650 to 750");
        assert_eq!(
            touch(&mut lines, 3, 0, false, 370),
            (300, 380),
            "the first one of the other cache, from 750 to 1050"
        );
        assert_eq!(touch(&mut lines, 2, 0, false, 380), (100, 670), "from 1050 on, when its cache has the line");
    }

    #[test]
    fn a_transfer_that_is_to_come_leaves_room_before_it() {
        let mut line = Line::new(0, 1);
        assert_eq!(line.reserve(0, 1000, 100), 1000);
        assert_eq!(line.reserve(0, 0, 100), 0, "early enough");
        assert_eq!(line.reserve(0, 950, 100), 1100, "too long for what is left before");
        assert_eq!(line.reserve(0, 50, 900), 100, "fills the gap exactly");
        assert_eq!(line.transfers, [(0, 1200)]);
        assert_eq!(line.reserve(1300, 1300, 100), 1300);
        assert_eq!(line.transfers.len(), 1, "completed transfers are removed");
    }

    #[test]
    fn touches_are_spread_over_the_work_of_their_phase() {
        let mut lines = lines();
        let touches = [1, 2].map(|cpu| Touch { data: SharedData::Runqueue(CpuId(cpu)), access: Access::Read });
        // The line of CPU 1 is read at 1000 + 200, that of CPU 2 at 1000 + 200 + 100 + 200.
        let sum = lines.touch_all(CpuId(0), &touches, 1000, 600);
        assert_eq!(sum, TransferCosts { ps: 400, waited_ps: 0, count: 2 });
        assert_eq!(lines.lines[1].transfers, [(1200, 1300)]);
        assert_eq!(lines.lines[2].transfers, [(1500, 1800)]);
    }
}
