// SPDX-License-Identifier: GPL-2.0-or-later
//! Runqueue locks: each has an owner for the length of a phase, and a queue of CPUs that spin.
//!
//! A phase begins when its CPU has the lock. It keeps the lock to its end, unless the path's next phase runs
//! under it; then the longest-waiting CPU gets the lock. A spinning CPU is busy, with interrupts off. A CPU
//! that holds a lock waits only for locks of higher number.

use super::Machine;
use crate::engine::Engine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::resumable::PhaseLock;
use fairlab_sched::units::Nanos;
use std::collections::VecDeque;

/// Lock of a runqueue.
#[derive(Clone, Debug, Default)]
pub(crate) struct RqLock {
    owner: Option<CpuId>,
    waiters: VecDeque<CpuId>,
}

/// Time between two checks of a spinning CPU: 140 cycles of the PAUSE instruction since Skylake, at 3.5 GHz
/// (Intel 64 and IA-32 Architectures Optimization Reference Manual, PAUSE latency).
const SPIN_INTERVAL: Nanos = Nanos(40);

/// Initial capacity of the queue of waiting CPUs.
const WAITERS_CAPACITY: usize = 8;

impl RqLock {
    /// Returns a free lock.
    pub(super) fn new() -> Self {
        Self { owner: None, waiters: VecDeque::with_capacity(WAITERS_CAPACITY) }
    }
}

impl<E: Engine> Machine<E> {
    /// Acquires the lock with which a scheduler call begins. Returns whether the CPU has it; if not, the CPU
    /// spins.
    #[inline]
    pub(super) fn try_enter(&mut self, cpu: CpuId, entry: Entry) -> bool {
        !self.kernel_takes_time || self.acquire_or_spin(cpu, self.sched.first_lock(cpu, entry))
    }

    /// Acquires the lock of the next phase of a yielded path. Returns whether the CPU has it; if not, the CPU
    /// spins.
    ///
    /// Without a cost model phases take no time, so no lock is ever contended and none is taken.
    #[inline(always)]
    pub(super) fn acquire_or_spin(&mut self, cpu: CpuId, lock: PhaseLock) -> bool {
        match lock {
            PhaseLock::None | PhaseLock::Held(_) => true,
            PhaseLock::Rq(lock) => !self.kernel_takes_time || self.take_lock(cpu, lock),
            PhaseLock::Try(lock) => self.try_lock(cpu, lock),
            PhaseLock::Spin => self.spin_once(cpu),
        }
    }

    /// Takes a runqueue lock if it is free. The path resumes in both cases, so the result is always true.
    #[cold]
    fn try_lock(&mut self, cpu: CpuId, lock: CpuId) -> bool {
        let is_free = self.locks[lock.index()].owner.is_none_or(|owner| owner == cpu);
        let is_taken = is_free && (!self.kernel_takes_time || self.take_lock(cpu, lock));
        self.sched.handle_trylock(cpu, is_taken);
        true
    }

    /// Lets a spinning CPU check again after [`SPIN_INTERVAL`]. Returns whether the interval is over.
    #[cold]
    fn spin_once(&mut self, cpu: CpuId) -> bool {
        let kernel = &mut self.cpus[cpu.index()].kernel;
        kernel.has_spun = !kernel.has_spun;
        if kernel.has_spun {
            self.extend_kernel_time(cpu, SPIN_INTERVAL);
        }
        !self.cpus[cpu.index()].kernel.has_spun
    }

    /// Takes a runqueue lock, unless the CPU holds it already. Returns whether the CPU has it; if not, it
    /// spins until the lock is granted and then tries again.
    fn take_lock(&mut self, cpu: CpuId, lock: CpuId) -> bool {
        let place = &mut self.locks[lock.index()];
        match place.owner {
            Some(owner) if owner == cpu => true,
            None => {
                place.owner = Some(cpu);
                self.cpus[cpu.index()].kernel.held.push(lock);
                true
            }
            Some(_) => {
                place.waiters.push_back(cpu);
                let kernel = &mut self.cpus[cpu.index()].kernel;
                kernel.waits_since.get_or_insert(self.now);
                kernel.spins_since = self.now;
                self.enter_kernel(cpu, Nanos::NEVER);
                if !self.cpus[cpu.index()].kernel.held.is_empty() && self.is_deadlock(cpu, lock) {
                    self.sched.handle_deadlock(cpu, lock);
                }
                false
            }
        }
    }

    /// Whether the owner of a lock waits, directly or through other CPUs, for a lock that `cpu` holds.
    fn is_deadlock(&self, cpu: CpuId, mut lock: CpuId) -> bool {
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

    /// Releases locks that were granted but are no longer needed.
    #[inline]
    pub(super) fn release_unused_locks(&mut self, cpu: CpuId) {
        if !self.cpus[cpu.index()].kernel.held.is_empty() {
            self.release_locks(cpu);
        }
    }

    /// Releases the locks of a CPU at the end of a phase. Each goes to its longest waiter, which settles
    /// after this event. A lock that the next phase needs is kept.
    #[inline]
    pub(super) fn release_locks(&mut self, cpu: CpuId) {
        if !self.kernel_takes_time {
            return;
        }
        if !self.cpus[cpu.index()].kernel.held.is_empty() {
            self.grant_locks(cpu);
        }
        self.sched.handle_phase_end(cpu);
    }

    fn grant_locks(&mut self, cpu: CpuId) {
        let mut place = self.cpus[cpu.index()].kernel.held.len();
        while let Some(before) = place.checked_sub(1) {
            place = before;
            let held = &mut self.cpus[cpu.index()].kernel.held;
            let lock = held[place];
            if self.sched.holds_lock(cpu, lock) {
                continue;
            }
            if place + 1 == held.len() {
                held.pop();
            } else {
                held.remove(place);
            }
            self.grant_lock(lock);
        }
        let kernel = &mut self.cpus[cpu.index()].kernel;
        if kernel.held.is_empty() {
            kernel.waits_since = None;
        }
    }

    fn grant_lock(&mut self, lock: CpuId) {
        let place = &mut self.locks[lock.index()];
        place.owner = place.waiters.pop_front();
        let Some(next) = place.owner else { return };
        self.exit_kernel(next);
        let kernel = &mut self.cpus[next.index()].kernel;
        kernel.held.push(lock);
        let since = kernel.spins_since;
        let counters = &mut self.counters.per_cpu[next.index()];
        counters.lock_waits += 1;
        counters.lock_wait_time += self.now - since;
        self.granted.push_back(next);
    }
}
