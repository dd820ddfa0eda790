// SPDX-License-Identifier: GPL-2.0-or-later
//! Event queue: a total order of future events.
//!
//! Events are ordered by time, and at one instant by the order in which they were pushed.

mod slots;

use crate::streams::mix;
use fairlab_sched::ctx::IpiKind;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use slots::{CpuSlots, NO_EVENT_KEY};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Position of an event in the total order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// Simulated time of the event.
    pub at: Nanos,
    /// Order at one instant: the number of the push, or its permutation.
    pub seq: u64,
}

/// Kind of an event, with its target.
///
/// A `u32` that is called a version makes the event stale if the target's version has changed since the push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A jiffy with this number begins.
    Jiffy(u64),
    /// The tick of a CPU.
    Tick(CpuId),
    /// An inter-processor interrupt arrives.
    Ipi(CpuId, IpiKind),
    /// The timer of a CPU expires: CPU and version.
    Timer(CpuId, u32),
    /// The work of a task is complete: CPU, task and version.
    Completion(CpuId, u32, u32),
    /// A sleep ends on the CPU on which it began: CPU, task and version.
    SleepEnd(CpuId, u32, u32),
    /// A task is forked: CPU and task.
    Fork(CpuId, u32),
    /// The frequency of a CPU changes: CPU and index of the scenario's frequency step.
    Frequency(CpuId, u32),
    /// A change of the workload, by its index.
    Change(u32),
    /// An interrupt load has taken time from its CPU, by its index.
    Interrupt(u32),
    /// Packets of a load of the workload arrive, by its index.
    Packets(u32),
    /// The interrupt of a network device whose packets wait.
    NetRx(CpuId),
    /// A kernel phase on a CPU ends: CPU and version.
    KernelDone(CpuId, u32),
    /// A tick that was deferred until its CPU has left an idle state.
    LateTick(CpuId),
    /// The polling limit of an idle CPU expires.
    PollLimit(CpuId),
    /// The hardware evaluates the turbo frequency of a package.
    Turbo(u32),
    /// A governor's interrupt to its own CPU, which wakes the thread of a frequency domain: CPU and domain.
    GovernorWork(CpuId, u32),
    /// A background timer expires: CPU and index of the timer.
    Background(CpuId, u32),
    /// A `fast_switch` driver completes a frequency change: CPU and version.
    Switched(CpuId, u32),
    /// Observers take a snapshot of the state.
    Snapshot,
}

/// An event with its position in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct QueuedEvent {
    pub key: EventKey,
    pub kind: EventKind,
}

/// Entry of the queue. The key is one number, so that entries are compared in one step.
#[derive(Clone, Copy, Debug)]
struct QueueEntry {
    key: u128,
    kind: EventKind,
}

impl QueueEntry {
    fn new(key: EventKey, kind: EventKind) -> Self {
        Self { key: u128::from(key.at.0) << 64 | u128::from(key.seq), kind }
    }

    fn at(&self) -> Nanos {
        time_of(self.key)
    }

    fn event(self) -> QueuedEvent {
        QueuedEvent { key: EventKey { at: self.at(), seq: self.key as u64 }, kind: self.kind }
    }
}

/// Returns the time of a key.
const fn time_of(key: u128) -> Nanos {
    Nanos((key >> 64) as u64)
}

impl PartialEq for QueueEntry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for QueueEntry {}

impl PartialOrd for QueueEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A binary heap returns its greatest entry first, and the queue its earliest event; an earlier event is
/// therefore the greater entry.
impl Ord for QueueEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// Class of events with a fixed time between push and event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Periodic events with the period of the tick.
    Ticks,
    /// Inter-processor interrupts, which take a fixed time.
    Ipis,
}

const NR_LANES: usize = 2;

/// Queue of future events.
///
/// Events of one [`Lane`] are pushed with the same delay, so they are pushed in the order in which they
/// happen. Each lane is a FIFO queue, so the ticks of many CPUs do not make other events more expensive. The end of
/// what a CPU does, a phase or its task's work, has a slot, in which a new end replaces the old one. Timers of CPUs expire late:
/// of those in order, only the first is in the heap, so that many CPUs do not make it deep. The order of events
/// is that of a single heap.
#[derive(Clone, Debug)]
pub struct EventQueue {
    heap: BinaryHeap<QueueEntry>,
    /// Timers that are later than a timer in the heap, the one with the key `first_timer`.
    timers: BinaryHeap<QueueEntry>,
    /// `None` if no timer is in the heap that others could be later than.
    first_timer: Option<u128>,
    /// Lanes, each in ascending order.
    lanes: [VecDeque<QueueEntry>; NR_LANES],
    slots: CpuSlots,
    /// Key of the first event in heap and lanes; [`NO_EVENT_KEY`] without one.
    first_outside: u128,
    next_seq: u64,
    /// Seed that permutes simultaneous events, if set.
    perturbation: Option<u64>,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::with_capacity(0, 0)
    }
}

impl EventQueue {
    /// Returns an empty queue with reserved capacity: `events` in the heap and among the timers, and `in_lane` in each
    /// lane.
    pub fn with_capacity(events: usize, in_lane: usize) -> Self {
        let lanes = core::array::from_fn(|_| VecDeque::with_capacity(in_lane));
        let heap = || BinaryHeap::with_capacity(events);
        Self {
            heap: heap(),
            timers: heap(),
            first_timer: None,
            lanes,
            slots: CpuSlots::default(),
            first_outside: NO_EVENT_KEY,
            next_seq: 0,
            perturbation: None,
        }
    }

    /// Permutes simultaneous events. Each seed gives a different permutation.
    pub fn perturb(&mut self, by: u64) {
        self.perturbation = Some(by);
    }

    /// Number of events, including stale ones.
    pub fn len(&self) -> usize {
        self.heap.len() + self.timers.len() + self.lanes.iter().map(VecDeque::len).sum::<usize>() + self.slots.len()
    }

    /// Whether no event is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event that is due at `at`.
    #[inline]
    pub fn push(&mut self, at: Nanos, kind: EventKind) {
        let entry = self.new_entry(at, kind);
        self.push_in_heap(entry);
    }

    #[inline]
    fn push_in_heap(&mut self, entry: QueueEntry) {
        self.first_outside = self.first_outside.min(entry.key);
        self.heap.push(entry);
    }

    /// Adds the expiry of a CPU's timer, which usually is late or stale. The order of events is that of
    /// [`EventQueue::push`].
    #[inline]
    pub fn push_timer(&mut self, at: Nanos, kind: EventKind) {
        let entry = self.new_entry(at, kind);
        if self.first_timer.is_some_and(|first| first < entry.key) {
            return self.timers.push(entry);
        }
        self.first_timer.get_or_insert(entry.key);
        self.push_in_heap(entry);
    }

    /// Replaces the timer that has left the heap by the next one.
    #[cold]
    fn refill_timer(&mut self) {
        let next = self.timers.pop();
        self.first_timer = next.map(|next| next.key);
        self.heap.extend(next);
    }

    /// Adds an event that is expected to be the last of its lane. The order of events is that of
    /// [`EventQueue::push`].
    #[inline]
    pub fn push_in_lane(&mut self, lane: Lane, at: Nanos, kind: EventKind) {
        let entry = self.new_entry(at, kind);
        let lane = &mut self.lanes[lane as usize];
        if lane.back().is_none_or(|last| last.key < entry.key) {
            lane.push_back(entry);
            self.first_outside = self.first_outside.min(entry.key);
        } else {
            self.push_in_heap(entry);
        }
    }

    /// Adds the end of what a CPU does now. It replaces the previous end of that CPU, whose time is returned.
    #[inline]
    pub fn push_in_slot(&mut self, cpu: CpuId, at: Nanos, kind: EventKind) -> Option<Nanos> {
        let entry = self.new_entry(at, kind);
        self.slots.replace(cpu.index(), entry)
    }

    /// Returns the time of the first event.
    pub fn next_at(&mut self) -> Option<Nanos> {
        let first = self.first_outside.min(self.slots.first_key());
        (first != NO_EVENT_KEY).then(|| time_of(first))
    }

    /// Removes and returns the first event, unless it is later than `end`.
    #[inline]
    pub fn pop_until(&mut self, end: Nanos) -> Option<QueuedEvent> {
        let in_slot = self.slots.first_key();
        let first = self.first_outside.min(in_slot);
        if first == NO_EVENT_KEY || time_of(first) > end {
            return None;
        }
        let entry = if first == in_slot { self.slots.take_first() } else { self.pop_outside() };
        entry.map(QueueEntry::event)
    }

    /// Removes and returns the first event in heap and lanes.
    fn pop_outside(&mut self) -> Option<QueueEntry> {
        let first = self.first_outside;
        let lane = self.lanes.iter_mut().find(|lane| lane.front().is_some_and(|entry| entry.key == first));
        let entry = if let Some(lane) = lane {
            lane.pop_front()
        } else {
            let entry = self.heap.pop();
            if self.first_timer == Some(first) {
                self.refill_timer();
            }
            entry
        };
        let in_heap = self.heap.peek().map_or(NO_EVENT_KEY, |entry| entry.key);
        let in_lanes = self.lanes.iter().filter_map(|lane| Some(lane.front()?.key));
        self.first_outside = in_lanes.fold(in_heap, u128::min);
        entry
    }

    #[inline]
    fn new_entry(&mut self, at: Nanos, kind: EventKind) -> QueueEntry {
        let mut seq = self.next_seq;
        self.next_seq += 1;
        if let Some(by) = self.perturbation {
            seq = mix(seq ^ by);
        }
        QueueEntry::new(EventKey { at, seq }, kind)
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
            // Periodic events at 4, 8, 12, ... and, out of order, at 3; others before, at and after the same
            // times.
            for step in 0..200 {
                let (at, kind) = (Nanos(mix(step) % 64), EventKind::Jiffy(step));
                plain.push(at, kind);
                with_lane.push(at, kind);
                let (at, kind) = (Nanos(if step % 7 == 0 { 3 } else { 4 * (step / 5) }), EventKind::Jiffy(1000 + step));
                plain.push(at, kind);
                with_lane.push_in_lane(Lane::Ticks, at, kind);
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
    fn timers_keep_their_place_among_the_others() {
        for perturbation in [None, Some(1), Some(2)] {
            let (mut plain, mut with_timers) = (EventQueue::default(), EventQueue::default());
            if let Some(by) = perturbation {
                plain.perturb(by);
                with_timers.perturb(by);
            }
            for step in 0..400 {
                let (at, kind) = (Nanos(step / 4 + mix(step) % 8), EventKind::Jiffy(step));
                plain.push(at, kind);
                with_timers.push(at, kind);
                let (at, kind) = (Nanos(step / 4 + mix(step + 1000) % 64), EventKind::Timer(CpuId(0), step as u32));
                plain.push(at, kind);
                with_timers.push_timer(at, kind);
                assert_eq!(with_timers.len(), plain.len());
                let end = Nanos(step / 4);
                while let Some(event) = plain.pop_until(end) {
                    assert_eq!(with_timers.pop_until(end), Some(event));
                }
                assert_eq!(with_timers.pop_until(end), None);
            }
            assert!(with_timers.timers.len() > 20, "{} timers", with_timers.timers.len());
            while let Some(event) = plain.pop_until(Nanos(u64::MAX)) {
                assert_eq!(with_timers.pop_until(Nanos(u64::MAX)), Some(event));
            }
            assert!(with_timers.is_empty());
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
            let before = with_slots.push_in_slot(cpu, at, kind);
            assert_eq!(before, last[cpu.index()].replace((at, kind)).map(|(at, _)| at));
            if step % 3 == 0 {
                // Skip replaced completions.
                let mut expected = plain.pop_until(Nanos(40));
                while let Some(QueuedEvent { kind: kind @ EventKind::Completion(cpu, ..), .. }) = expected {
                    if last[cpu.index()].is_some_and(|(_, last)| last == kind) {
                        last[cpu.index()] = None;
                        break;
                    }
                    expected = plain.pop_until(Nanos(40));
                }
                assert_eq!(with_slots.pop_until(Nanos(40)), expected);
            }
        }
        assert_eq!(with_slots.slots.len(), last.iter().flatten().count());
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
