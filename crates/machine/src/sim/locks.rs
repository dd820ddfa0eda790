// SPDX-License-Identifier: GPL-2.0-or-later
//! Locks of runqueues: each has an owner for the length of a phase, and a queue of CPUs that spin.
//!
//! A phase begins when its CPU has the lock. It keeps the lock to its end, unless its path goes on under it; then the CPU that has waited
//! longest gets it. Who spins is busy, with interrupts off. Nobody waits for a second lock of lower number than one that it holds.

use super::Machine;
use crate::engine::Engine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::resumable::PhaseLock;
use fairlab_sched::units::Nanos;
use std::collections::VecDeque;

/// The lock of a runqueue.
#[derive(Clone, Debug, Default)]
pub(crate) struct RqLock {
    owner: Option<CpuId>,
    waiting: VecDeque<CpuId>,
}

/// A CPU that spins looks so often: 140 cycles of the PAUSE instruction since Skylake, at 3.5 GHz (Intel 64 and IA-32 Architectures
/// Optimization Reference Manual, on PAUSE latency).
const SPIN: Nanos = Nanos(40);

/// As many CPUs may wait for a lock before its queue has to grow.
const ROOM: usize = 8;

impl RqLock {
    /// Nobody has it.
    pub(super) fn free() -> Self {
        Self { owner: None, waiting: VecDeque::with_capacity(ROOM) }
    }
}

impl<E: Engine> Machine<E> {
    /// Whether a CPU holds the lock with which a call into the scheduler begins, now that it wants it. If not it spins.
    #[inline]
    pub(super) fn try_enter(&mut self, cpu: CpuId, entry: Entry) -> bool {
        !self.kernel_takes_time || self.acquire_or_spin(cpu, self.sched.first_lock(cpu, entry))
    }

    /// The same for the next phase of a path that has paused.
    ///
    /// Where phases take no time nobody ever finds a lock taken, so none is.
    #[inline(always)]
    pub(super) fn acquire_or_spin(&mut self, cpu: CpuId, lock: PhaseLock) -> bool {
        match lock {
            PhaseLock::None | PhaseLock::Held(_) => true,
            PhaseLock::Rq(lock) => !self.kernel_takes_time || self.take_lock(cpu, lock),
            PhaseLock::Try(lock) => self.try_lock(cpu, lock),
            PhaseLock::Spin => self.spin_once(cpu),
        }
    }

    /// Takes the lock of a runqueue if it is free; the path goes on either way.
    #[cold]
    fn try_lock(&mut self, cpu: CpuId, lock: CpuId) -> bool {
        let is_free = self.locks[lock.index()].owner.is_none_or(|owner| owner == cpu);
        let is_taken = is_free && (!self.kernel_takes_time || self.take_lock(cpu, lock));
        self.sched.handle_try(cpu, is_taken);
        true
    }

    /// A CPU that spins looks again after some time.
    #[cold]
    fn spin_once(&mut self, cpu: CpuId) -> bool {
        let kernel = &mut self.cpus[cpu.index()].kernel;
        kernel.has_spun = !kernel.has_spun;
        if kernel.has_spun {
            self.stay_in_kernel(cpu, SPIN);
        }
        !self.cpus[cpu.index()].kernel.has_spun
    }

    /// Takes the lock of a runqueue, unless the CPU has it already. Returns whether it has it now; if not, it spins until
    /// the lock comes to it, and then asks again.
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
                place.waiting.push_back(cpu);
                let kernel = &mut self.cpus[cpu.index()].kernel;
                kernel.waits_since.get_or_insert(self.now);
                kernel.spins_since = self.now;
                self.enter_kernel(cpu, Nanos::NEVER);
                if !self.cpus[cpu.index()].kernel.held.is_empty() && self.is_in_circle(cpu, lock) {
                    self.sched.handle_deadlock(cpu, lock);
                }
                false
            }
        }
    }

    /// Whether who holds a lock waits for one whose holder waits, and so on, for a CPU.
    fn is_in_circle(&self, cpu: CpuId, mut lock: CpuId) -> bool {
        for _ in 0..self.locks.len() {
            let Some(owner) = self.locks[lock.index()].owner else { return false };
            if owner == cpu {
                return true;
            }
            let Some(next) = self.locks.iter().position(|place| place.waiting.contains(&owner)) else { return false };
            lock = CpuId::from_index(next);
        }
        false
    }

    /// Releases a lock that has come although it is not needed any more.
    #[inline]
    pub(super) fn release_unused_locks(&mut self, cpu: CpuId) {
        if !self.cpus[cpu.index()].kernel.held.is_empty() {
            self.release_locks(cpu);
        }
    }

    /// A phase is over: its locks go to those who have waited longest, who continue after this event. A path that goes on under a lock
    /// keeps it.
    #[inline]
    pub(super) fn release_locks(&mut self, cpu: CpuId) {
        if !self.kernel_takes_time {
            return;
        }
        if !self.cpus[cpu.index()].kernel.held.is_empty() {
            self.pass_locks_on(cpu);
        }
        self.sched.handle_phase_end(cpu);
    }

    fn pass_locks_on(&mut self, cpu: CpuId) {
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
            self.pass_lock_on(lock);
        }
        let kernel = &mut self.cpus[cpu.index()].kernel;
        if kernel.held.is_empty() {
            kernel.waits_since = None;
        }
    }

    fn pass_lock_on(&mut self, lock: CpuId) {
        let place = &mut self.locks[lock.index()];
        place.owner = place.waiting.pop_front();
        let Some(next) = place.owner else { return };
        self.exit_kernel(next);
        let kernel = &mut self.cpus[next.index()].kernel;
        kernel.held.push(lock);
        let since = kernel.spins_since;
        let counters = &mut self.counters.per_cpu[next.index()];
        counters.lock_waits += 1;
        counters.lock_waiting += self.now - since;
        self.granted.push_back(next);
    }
}
