// SPDX-License-Identifier: GPL-2.0-or-later
//! Heap of the CPUs' earliest deadlines. It finds the CPU with the latest one, where an earlier deadline may
//! preempt.
//!
//! Models `cpudeadline.c` (6.1): a max-heap of the earliest deadline of each CPU that has deadline tasks, and
//! the set of CPUs that have none. Observable order is kept: among equal deadlines the newest moves up, a
//! left child goes before a right one, and an empty heap still remembers the CPU that left it last.

use crate::state::deadline::time_before;
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use alloc::vec;
use alloc::vec::Vec;

/// Heap of deadlines and set of free CPUs: the kernel's `struct cpudl`.
#[derive(Clone, Debug)]
pub struct CpuDl {
    /// Deadlines with their CPUs. The first `size` are a heap with the latest deadline at its top.
    elements: Vec<(u64, CpuId)>,
    /// By CPU: position in the heap.
    places: Arena<CpuId, Option<u32>>,
    size: usize,
    /// CPUs without deadline tasks.
    free_cpus: CpuMask,
}

impl CpuDl {
    /// Creates a heap in which no CPU has deadline tasks.
    pub(crate) fn new(nr_cpus: usize) -> Self {
        Self {
            elements: vec![(0, CpuId(0)); nr_cpus],
            places: Arena::filled(None, nr_cpus),
            size: 0,
            free_cpus: CpuMask::full(nr_cpus),
        }
    }

    /// Creates the heap of a root domain that has no CPU.
    pub(crate) fn without_cpus(nr_cpus: usize) -> Self {
        Self { free_cpus: CpuMask::new(nr_cpus), ..Self::new(nr_cpus) }
    }

    /// CPUs without deadline tasks.
    pub fn free_cpus(&self) -> &CpuMask {
        &self.free_cpus
    }

    /// Latest of the CPUs' earliest deadlines, with its CPU. If no CPU has deadline tasks, the values of the
    /// last one that had.
    pub(crate) fn latest(&self) -> (u64, CpuId) {
        self.elements[0]
    }

    /// Earliest deadline recorded for a CPU; `None` if it has no deadline tasks.
    pub(crate) fn deadline_of(&self, cpu: CpuId) -> Option<u64> {
        self.places[cpu].map(|place| self.elements[place as usize].0).filter(|_| !self.free_cpus.contains(cpu))
    }

    /// Whether no element is later than its parent, and each CPU is at its recorded position.
    pub(crate) fn is_heap(&self) -> bool {
        let is_below_parent = |place: usize| place == 0 || !self.is_before((place - 1) / 2, place);
        let is_found = |place: usize| self.places[self.elements[place].1] == Some(place as u32);
        (0..self.size).all(|place| is_below_parent(place) && is_found(place))
    }

    /// Sets the earliest deadline of a CPU that has deadline tasks: `cpudl_set()`.
    pub(crate) fn set(&mut self, cpu: CpuId, deadline: u64) {
        match self.places[cpu] {
            Some(place) => {
                self.elements[place as usize].0 = deadline;
                self.restore_order(place as usize);
            }
            None => {
                let place = self.size;
                self.size += 1;
                self.put(place, (deadline, cpu));
                self.sift_up(place);
                self.free_cpus.clear(cpu);
            }
        }
    }

    /// Removes a CPU that has no deadline tasks any more: `cpudl_clear()`. It counts as free if it is online.
    pub(crate) fn clear(&mut self, cpu: CpuId, is_online: bool) {
        if let Some(place) = self.places[cpu].take() {
            let place = place as usize;
            self.size -= 1;
            if place < self.size {
                self.put(place, self.elements[self.size]);
                self.restore_order(place);
            }
        }
        if is_online {
            self.free_cpus.set(cpu);
        } else {
            self.free_cpus.clear(cpu);
        }
    }

    fn put(&mut self, place: usize, element: (u64, CpuId)) {
        self.elements[place] = element;
        self.places[element.1] = Some(place as u32);
    }

    fn swap(&mut self, a: usize, b: usize) {
        let (at_a, at_b) = (self.elements[a], self.elements[b]);
        self.put(a, at_b);
        self.put(b, at_a);
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        time_before(self.elements[a].0, self.elements[b].0)
    }

    fn restore_order(&mut self, place: usize) {
        if place > 0 && self.is_before((place - 1) / 2, place) { self.sift_up(place) } else { self.sift_down(place) }
    }

    /// Moves an element up past all that are not later.
    fn sift_up(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.is_before(place, parent) {
                return;
            }
            self.swap(place, parent);
            place = parent;
        }
    }

    /// Moves an element down past its later child, as long as that child is later than the element.
    fn sift_down(&mut self, mut place: usize) {
        loop {
            let mut latest = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.size && self.is_before(latest, child) {
                    latest = child;
                }
            }
            if latest == place {
                return;
            }
            self.swap(place, latest);
            place = latest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_deadline_is_at_the_top_after_any_changes() {
        let nr_cpus = 13;
        let mut heap = CpuDl::new(nr_cpus);
        let mut known: Vec<Option<u64>> = vec![None; nr_cpus];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let cpu = CpuId((state >> 33) as u32 % nr_cpus as u32);
            if (state >> 20).is_multiple_of(3) {
                heap.clear(cpu, true);
                known[cpu.index()] = None;
            } else {
                let deadline = (state >> 40) % 50;
                heap.set(cpu, deadline);
                known[cpu.index()] = Some(deadline);
            }
            let latest = known.iter().flatten().max();
            if let Some(&latest) = latest {
                assert_eq!(heap.latest().0, latest);
                assert_eq!(known[heap.latest().1.index()], Some(latest));
            }
            for cpu in (0..nr_cpus).map(CpuId::from_index) {
                assert_eq!(heap.free_cpus().contains(cpu), known[cpu.index()].is_none());
                let place = heap.places[cpu];
                assert_eq!(place.map(|place| heap.elements[place as usize]), known[cpu.index()].map(|d| (d, cpu)));
            }
        }
    }

    #[test]
    fn of_equal_deadlines_the_newest_is_at_the_top() {
        let mut heap = CpuDl::new(3);
        heap.set(CpuId(0), 7);
        heap.set(CpuId(2), 7);
        assert_eq!(heap.latest(), (7, CpuId(2)));
    }

    #[test]
    fn an_empty_heap_remembers_who_left_last() {
        let mut heap = CpuDl::new(3);
        heap.set(CpuId(1), 7);
        heap.clear(CpuId(1), true);
        assert_eq!(heap.latest(), (7, CpuId(1)));
        assert_eq!(heap.free_cpus().weight(), 3);
    }
}
