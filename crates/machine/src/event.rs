// SPDX-License-Identifier: GPL-2.0-or-later
//! The event queue: what will happen, in a total order.
//!
//! Events happen in the order of time, and at one instant in the order in which they were pushed.

mod slots;

use crate::streams::mix;
use fairlab_sched::ctx::IpiKind;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use slots::{NOTHING, Slots};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// When an event happens, relative to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// The time.
    pub at: Nanos,
    /// At one instant: the number of the push, or what a perturbation has made of it.
    pub seq: u64,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A jiffy begins.
    Jiffy(u64),
    /// The tick of a CPU.
    Tick(CpuId),
    /// An inter-processor interrupt arrives.
    Ipi(CpuId, IpiKind),
    /// The timer of a CPU expires, unless it has been programmed anew (version).
    Timer(CpuId, u32),
    /// The work of a task is done, unless something has come between (version).
    Completion(CpuId, u32, u32),
    /// A sleep is over, unless the task was woken before (version). On the CPU on which it began.
    SleepEnd(CpuId, u32, u32),
    /// A task is forked.
    Fork(CpuId, u32),
    /// The frequency of a CPU changes, as the scenario says.
    Frequency(CpuId, u32),
    /// Somebody changes something, as the workload says.
    Change(u32),
    /// An interrupt has taken time.
    Interrupt(u32),
    /// Packets arrive from outside, as the workload says.
    Packets(u32),
    /// The interrupt of a network device for which packets wait.
    NetRx(CpuId),
    /// A phase of the kernel's code on a CPU is over, unless it was lengthened (version).
    KernelDone(CpuId, u32),
    /// A tick that has waited for its CPU to come out of an idle state.
    LateTick(CpuId),
    /// An idle CPU has polled for as long as it may, unless it has been woken meanwhile.
    PollLimit(CpuId),
    /// The hardware looks which frequency a package may have.
    Turbo(u32),
    /// A frequency governor's interrupt of a CPU itself, which wakes the thread of a frequency domain.
    GovernorWork(CpuId, u32),
    /// A driver that was told at once has switched a CPU to this part of 1024 of its highest frequency, unless it was told another one
    /// meanwhile (version).
    Switched(CpuId, u16, u32),
    /// Observers look at the state.
    Snapshot,
}

/// An event with its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub key: EventKey,
    /// What.
    pub kind: EventKind,
}

/// An event in the queue. The key is one number, so that two of them are compared at once.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u128,
    kind: EventKind,
}

impl Entry {
    fn new(key: EventKey, kind: EventKind) -> Self {
        Self { key: u128::from(key.at.0) << 64 | u128::from(key.seq), kind }
    }

    fn at(&self) -> Nanos {
        time_of(self.key)
    }

    fn event(self) -> Event {
        Event { key: EventKey { at: self.at(), seq: self.key as u64 }, kind: self.kind }
    }
}

/// The time in a key.
const fn time_of(key: u128) -> Nanos {
    Nanos((key >> 64) as u64)
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The heap has its greatest entry first, the queue the earliest event: an earlier event is the greater entry.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// Events that come a fixed time after they were pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// What comes again with each tick.
    Ticks,
    /// Interrupts between CPUs.
    Ipis,
}

/// Number of lanes.
const NR_LANES: usize = 2;

/// Events that have not happened yet.
///
/// Events that come a fixed time after they are pushed, the same for all of a [`Lane`], are pushed in the order in which they
/// will happen. They wait in that lane: first in, first out. So the ticks of many CPUs make no other event dearer. The end of a
/// CPU's work has a place of its own, where a new one replaces the old one. What comes first of all is the same as if all
/// waited in one heap.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Entry>,
    /// Each in ascending order.
    lanes: [VecDeque<Entry>; NR_LANES],
    /// Ends of work, by CPU.
    completions: Slots,
    pushed: u64,
    /// Permutes events of one instant, if set.
    perturbation: Option<u64>,
}

impl EventQueue {
    /// An empty queue with room for so many events before it has to grow.
    pub fn with_capacity(events: usize, in_lane: usize) -> Self {
        let lanes = core::array::from_fn(|_| VecDeque::with_capacity(in_lane));
        Self { heap: BinaryHeap::with_capacity(events), lanes, ..Self::default() }
    }

    /// Lets events of one instant happen in another order, a different one for each number.
    pub fn perturb(&mut self, by: u64) {
        self.perturbation = Some(by);
    }

    /// Number of events, stale ones among them.
    pub fn len(&self) -> usize {
        self.heap.len() + self.lanes.iter().map(VecDeque::len).sum::<usize>() + self.completions.len()
    }

    /// Whether nothing will happen any more.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: Nanos, kind: EventKind) {
        let entry = self.number(at, kind);
        self.heap.push(entry);
    }

    /// Adds an event that probably comes after all others of its lane. What comes is the same as with [`EventQueue::push`].
    #[inline]
    pub fn push_in_turn(&mut self, lane: Lane, at: Nanos, kind: EventKind) {
        let entry = self.number(at, kind);
        let lane = &mut self.lanes[lane as usize];
        if lane.back().is_none_or(|last| last.key < entry.key) {
            lane.push_back(entry);
        } else {
            self.heap.push(entry);
        }
    }

    /// Adds the end of the work of a CPU. Only the one that was added last counts; the one before is forgotten, and its time
    /// returned.
    #[inline]
    pub fn push_completion(&mut self, cpu: CpuId, at: Nanos, kind: EventKind) -> Option<Nanos> {
        let entry = self.number(at, kind);
        self.completions.replace(cpu.index(), entry).map(|before| before.at())
    }

    /// When the first event comes.
    pub fn next_at(&mut self) -> Option<Nanos> {
        let in_heap = self.heap.peek().map_or(NOTHING, |entry| entry.key);
        let [ticks, ipis] = [0, 1].map(|lane| self.lanes[lane].front().map_or(NOTHING, |entry| entry.key));
        let first = in_heap.min(ticks).min(ipis).min(self.completions.first_key());
        (first != NOTHING).then(|| time_of(first))
    }

    /// The first event, unless it lies after `end`.
    #[inline]
    pub fn pop_until(&mut self, end: Nanos) -> Option<Event> {
        let in_heap = self.heap.peek().map_or(NOTHING, |entry| entry.key);
        let [ticks, ipis] = [0, 1].map(|lane| self.lanes[lane].front().map_or(NOTHING, |entry| entry.key));
        let completion = self.completions.first_key();
        let first = in_heap.min(ticks).min(ipis).min(completion);
        if first == NOTHING || time_of(first) > end {
            return None;
        }
        let entry = if first == completion {
            self.completions.take_first()
        } else if first == in_heap {
            self.heap.pop()
        } else {
            self.lanes[usize::from(first != ticks)].pop_front()
        };
        entry.map(Entry::event)
    }

    #[inline]
    fn number(&mut self, at: Nanos, kind: EventKind) -> Entry {
        let mut seq = self.pushed;
        self.pushed += 1;
        if let Some(by) = self.perturbation {
            seq = mix(seq ^ by);
        }
        Entry::new(EventKey { at, seq }, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_time_and_then_of_pushing() {
        let mut queue = EventQueue::default();
        let times = [5, 3, 9, 3, 1, 5, 5, 0, 3, 9, 2, 2, 2, 7];
        for (index, &at) in times.iter().enumerate() {
            queue.push(Nanos(at), EventKind::Jiffy(index as u64));
        }
        let mut expected: Vec<(u64, u64)> = times.iter().zip(0..).map(|(&at, index)| (at, index)).collect();
        expected.sort();
        let mut came = Vec::new();
        while let Some(event) = queue.pop_until(Nanos(9)) {
            let EventKind::Jiffy(index) = event.kind else { unreachable!("only jiffies were pushed") };
            came.push((event.key.at.0, index));
        }
        assert_eq!(came, expected);
    }

    #[test]
    fn periodic_events_keep_their_place_among_the_others() {
        for perturbation in [None, Some(1), Some(2)] {
            let (mut plain, mut with_lane) = (EventQueue::default(), EventQueue::default());
            if let Some(by) = perturbation {
                plain.perturb(by);
                with_lane.perturb(by);
            }
            // Periodic ones at 4, 8, 12, ... and, out of their order, at 3; others before, at and after the same times.
            for step in 0..200 {
                let (at, kind) = (Nanos(mix(step) % 64), EventKind::Jiffy(step));
                plain.push(at, kind);
                with_lane.push(at, kind);
                let (at, kind) = (Nanos(if step % 7 == 0 { 3 } else { 4 * (step / 5) }), EventKind::Jiffy(1000 + step));
                plain.push(at, kind);
                with_lane.push_in_turn(Lane::Ticks, at, kind);
            }
            assert!(with_lane.lanes[0].len() > 20, "{} in the lane", with_lane.lanes[0].len());
            for end in [0, 3, 4, 30, 100, u64::MAX] {
                while let Some(event) = plain.pop_until(Nanos(end)) {
                    assert_eq!(with_lane.pop_until(Nanos(end)), Some(event));
                }
                assert_eq!(with_lane.pop_until(Nanos(end)), None);
            }
            assert!(plain.is_empty() && with_lane.is_empty());
        }
    }

    #[test]
    fn the_last_completion_of_a_cpu_replaces_the_one_before_and_keeps_its_place_among_the_others() {
        let (mut plain, mut with_slots) = (EventQueue::default(), EventQueue::default());
        let mut last = [None; 20];
        for step in 0..500 {
            let (at, kind) = (Nanos(mix(step) % 64), EventKind::Jiffy(step));
            plain.push(at, kind);
            with_slots.push(at, kind);
            let cpu = CpuId((mix(step + 1000) % 20) as u32);
            let (at, kind) = (Nanos(mix(step + 2000) % 64), EventKind::Completion(cpu, step as u32, 0));
            plain.push(at, kind);
            let before = with_slots.push_completion(cpu, at, kind);
            assert_eq!(before, last[cpu.index()].replace((at, kind)).map(|(at, _)| at));
            if step % 3 == 0 {
                // What was replaced is skipped.
                let mut expected = plain.pop_until(Nanos(40));
                while let Some(Event { kind: kind @ EventKind::Completion(cpu, ..), .. }) = expected {
                    if last[cpu.index()].is_some_and(|(_, last)| last == kind) {
                        last[cpu.index()] = None;
                        break;
                    }
                    expected = plain.pop_until(Nanos(40));
                }
                assert_eq!(with_slots.pop_until(Nanos(40)), expected);
            }
        }
        assert_eq!(with_slots.completions.len(), last.iter().flatten().count());
    }

    #[test]
    fn events_after_the_end_stay() {
        let mut queue = EventQueue::default();
        queue.push(Nanos(10), EventKind::Snapshot);
        assert_eq!(queue.pop_until(Nanos(9)), None);
        assert!(queue.pop_until(Nanos(10)).is_some());
        assert!(queue.is_empty());
    }

    #[test]
    fn a_perturbation_permutes_only_what_happens_at_one_instant() {
        let order = |perturbation: Option<u64>| {
            let mut queue = EventQueue::default();
            if let Some(by) = perturbation {
                queue.perturb(by);
            }
            for index in 0..20 {
                queue.push(Nanos(index / 10), EventKind::Jiffy(index));
            }
            let mut came = Vec::new();
            while let Some(event) = queue.pop_until(Nanos(9)) {
                came.push((event.key.at.0, event.kind));
            }
            came
        };
        let (plain, perturbed) = (order(None), order(Some(1)));
        assert_ne!(plain, perturbed);
        assert!(perturbed.is_sorted_by_key(|&(at, _)| at));
        assert_ne!(perturbed, order(Some(2)));
    }
}
