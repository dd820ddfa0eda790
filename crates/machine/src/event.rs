// SPDX-License-Identifier: GPL-2.0-or-later
//! The event queue: what will happen, in a total order.
//!
//! Events happen in the order of time, and at one instant in the order in which they were pushed. A four-way heap: half as
//! deep as a binary one, and the four children of a node lie side by side.

use crate::streams::mix;
use fairlab_sched::ctx::IpiKind;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

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
    /// A phase of the kernel's code on a CPU is over, unless it was lengthened (version).
    KernelDone(CpuId, u32),
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

const ARITY: usize = 4;

/// Events that have not happened yet.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    heap: Vec<Event>,
    pushed: u64,
    /// Permutes events of one instant, if set.
    perturbation: Option<u64>,
}

impl EventQueue {
    /// Lets events of one instant happen in another order, a different one for each number.
    pub fn perturb(&mut self, by: u64) {
        self.perturbation = Some(by);
    }

    /// Number of events, stale ones among them.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing will happen any more.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Adds an event.
    pub fn push(&mut self, at: Nanos, kind: EventKind) {
        let mut seq = self.pushed;
        self.pushed += 1;
        if let Some(by) = self.perturbation {
            seq = mix(seq ^ by);
        }
        let event = Event { key: EventKey { at, seq }, kind };
        let mut place = self.heap.len();
        self.heap.push(event);
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].key <= event.key {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = event;
    }

    /// The first event, unless it lies after `end`.
    pub fn pop_until(&mut self, end: Nanos) -> Option<Event> {
        let first = *self.heap.first().filter(|event| event.key.at <= end)?;
        let last = self.heap.pop().expect("the heap has a first event");
        if !self.heap.is_empty() {
            self.sift_down(last);
        }
        Some(first)
    }

    fn sift_down(&mut self, event: Event) {
        let len = self.heap.len();
        let mut place = 0;
        loop {
            let first_child = place * ARITY + 1;
            if first_child >= len {
                break;
            }
            let children = &self.heap[first_child..len.min(first_child + ARITY)];
            let mut least = 0;
            for (index, child) in children.iter().enumerate().skip(1) {
                if child.key < children[least].key {
                    least = index;
                }
            }
            if event.key <= children[least].key {
                break;
            }
            self.heap[place] = children[least];
            place = first_child + least;
        }
        self.heap[place] = event;
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
