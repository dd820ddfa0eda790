// SPDX-License-Identifier: GPL-2.0-or-later
//! Runqueue locks: each has an owner for the length of a phase, and a queue of CPUs that spin.
//!
//! A phase begins when its CPU has the lock. It keeps the lock to its end, unless the path's next phase runs
//! under it; then the longest-waiting CPU gets the lock. A CPU that holds a lock waits only for locks of
//! higher number.

use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::collections::VecDeque;

/// Lock of a runqueue.
#[derive(Clone, Debug, Default)]
struct RqLock {
    owner: Option<CpuId>,
    waiters: VecDeque<CpuId>,
}

/// Locks that a CPU holds, and its wait for another one.
#[derive(Clone, Debug, Default)]
struct CpuLocks {
    /// Locks that the CPU holds until the end of the phase.
    held: Vec<CpuId>,
    /// Start of the wait for a lock, which may be the wait that preceded the next phase.
    waits_since: Option<Nanos>,
    /// Start of the present wait.
    spins_since: Nanos,
    /// Whether the CPU has spun for one interval and may check the lock again.
    has_spun: bool,
}

/// Runqueue locks of a machine.
#[derive(Clone, Debug)]
pub(crate) struct RqLocks {
    locks: Vec<RqLock>,
    cpus: Vec<CpuLocks>,
    /// CPUs that were granted a lock during this event and must settle.
    granted: VecDeque<CpuId>,
}

/// Initial capacity of the queue of waiting CPUs.
const WAITERS_CAPACITY: usize = 8;
/// Initial capacity of the list of held locks: the CPU's own runqueue and another one, with reserve.
const HELD_LOCKS_CAPACITY: usize = 4;

impl RqLocks {
    /// Returns free locks.
    pub(crate) fn new(nr_cpus: usize) -> Self {
        let lock = |_| RqLock { owner: None, waiters: VecDeque::with_capacity(WAITERS_CAPACITY) };
        let cpu = |_| CpuLocks { held: Vec::with_capacity(HELD_LOCKS_CAPACITY), ..CpuLocks::default() };
        Self {
            locks: (0..nr_cpus).map(lock).collect(),
            cpus: (0..nr_cpus).map(cpu).collect(),
            granted: VecDeque::with_capacity(nr_cpus),
        }
    }

    /// Whether a CPU holds a lock.
    #[inline]
    pub(crate) fn holds_any(&self, cpu: CpuId) -> bool {
        !self.cpus[cpu.index()].held.is_empty()
    }

    /// Returns the locks that a CPU holds, in the order in which it got them.
    #[inline]
    pub(crate) fn held(&self, cpu: CpuId) -> &[CpuId] {
        &self.cpus[cpu.index()].held
    }

    /// Whether a lock is free, or held by `cpu`.
    #[inline]
    pub(crate) fn is_available(&self, cpu: CpuId, lock: CpuId) -> bool {
        self.locks[lock.index()].owner.is_none_or(|owner| owner == cpu)
    }

    /// Takes a lock, unless the CPU holds it already. Returns whether the CPU has it; if not, it waits in the
    /// lock's queue.
    #[inline]
    pub(crate) fn take(&mut self, cpu: CpuId, lock: CpuId, now: Nanos) -> bool {
        let place = &mut self.locks[lock.index()];
        match place.owner {
            Some(owner) if owner == cpu => true,
            None => {
                place.owner = Some(cpu);
                self.cpus[cpu.index()].held.push(lock);
                true
            }
            Some(_) => {
                place.waiters.push_back(cpu);
                let wait = &mut self.cpus[cpu.index()];
                wait.waits_since.get_or_insert(now);
                wait.spins_since = now;
                false
            }
        }
    }

    /// Begins or ends an interval of spinning. Returns whether an interval has begun.
    #[inline]
    pub(crate) fn begins_to_spin(&mut self, cpu: CpuId) -> bool {
        let wait = &mut self.cpus[cpu.index()];
        wait.has_spun = !wait.has_spun;
        wait.has_spun
    }

    /// Returns the start of the wait that preceded the present phase, and forgets it.
    #[inline]
    pub(crate) fn take_wait(&mut self, cpu: CpuId) -> Option<Nanos> {
        self.cpus[cpu.index()].waits_since.take()
    }

    /// Releases the lock at `place` among those that a CPU holds, unless `keeps` holds for it. The lock goes to
    /// its longest waiter, which is returned with the start of its wait, and must settle after this event.
    #[inline]
    pub(crate) fn release_unless(
        &mut self,
        cpu: CpuId,
        place: usize,
        keeps: impl Fn(CpuId) -> bool,
    ) -> Option<(CpuId, Nanos)> {
        let held = &mut self.cpus[cpu.index()].held;
        let lock = held[place];
        if keeps(lock) {
            return None;
        }
        if place + 1 == held.len() {
            held.pop();
        } else {
            held.remove(place);
        }
        let place = &mut self.locks[lock.index()];
        place.owner = place.waiters.pop_front();
        let next = place.owner?;
        let wait = &mut self.cpus[next.index()];
        wait.held.push(lock);
        self.granted.push_back(next);
        Some((next, wait.spins_since))
    }

    /// Forgets the wait of a CPU that holds no lock any more.
    #[inline]
    pub(crate) fn clear_wait(&mut self, cpu: CpuId) {
        let locks = &mut self.cpus[cpu.index()];
        if locks.held.is_empty() {
            locks.waits_since = None;
        }
    }

    /// Returns the next CPU that was granted a lock and must settle.
    #[inline]
    pub(crate) fn pop_granted(&mut self) -> Option<CpuId> {
        self.granted.pop_front()
    }

    /// Whether the owner of a lock waits, directly or through other CPUs, for a lock that `cpu` holds.
    pub(crate) fn is_deadlock(&self, cpu: CpuId, mut lock: CpuId) -> bool {
        for _ in 0..self.locks.len() {
            let Some(owner) = self.locks[lock.index()].owner else { return false };
            if owner == cpu {
                return true;
            }
            let Some(next) = self.locks.iter().position(|place| place.waiters.contains(&owner)) else { return false };
            lock = CpuId::from_index(next);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: CpuId = CpuId(0);
    const B: CpuId = CpuId(1);
    const C: CpuId = CpuId(2);

    #[test]
    fn a_released_lock_goes_to_its_longest_waiter() {
        let mut locks = RqLocks::new(3);
        assert!(locks.take(A, B, Nanos(0)) && locks.take(A, B, Nanos(1)), "a lock can be taken twice");
        assert!(!locks.take(C, B, Nanos(2)) && !locks.take(B, B, Nanos(3)));
        assert!(!locks.is_available(C, B));
        assert_eq!(locks.release_unless(A, 0, |lock| lock == B), None, "the path keeps it");
        assert_eq!(locks.release_unless(A, 0, |_| false), Some((C, Nanos(2))));
        assert_eq!([locks.pop_granted(), locks.pop_granted()], [Some(C), None]);
        assert!(!locks.holds_any(A) && locks.held(C) == [B]);
        assert_eq!(locks.take_wait(C), Some(Nanos(2)));
        assert_eq!(locks.release_unless(C, 0, |_| false), Some((B, Nanos(3))));
        assert_eq!(locks.release_unless(B, 0, |_| false), None);
    }

    #[test]
    fn a_cycle_of_waiting_owners_is_a_deadlock() {
        let mut locks = RqLocks::new(3);
        assert!(locks.take(A, A, Nanos(0)) && locks.take(B, B, Nanos(0)) && locks.take(C, C, Nanos(0)));
        assert!(!locks.take(A, B, Nanos(1)));
        assert!(!locks.is_deadlock(A, B), "the owner of B waits for nothing");
        assert!(!locks.take(B, C, Nanos(1)) && !locks.take(C, A, Nanos(1)));
        assert!(locks.is_deadlock(C, A));
    }
}
