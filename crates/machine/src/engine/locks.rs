// SPDX-License-Identifier: GPL-2.0-or-later
//! Locks of runqueues: each has an owner for the length of a phase, and a queue of CPUs that spin.
//!
//! A phase begins when its CPU has the lock. It keeps the lock to its end, unless its path goes on under it; then the CPU that has waited
//! longest gets it. Who spins is busy, with interrupts off. Nobody waits for a second lock of lower number than one that it holds.

use super::Machine;
use crate::seam::Engine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_sched::walks::PhaseLock;
use std::collections::VecDeque;

/// The lock of a runqueue.
#[derive(Clone, Debug, Default)]
pub(crate) struct RqLock {
    owner: Option<CpuId>,
    waiting: VecDeque<CpuId>,
}

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
    pub(super) fn may_enter(&mut self, cpu: CpuId, entry: Entry) -> bool {
        self.has_lock(cpu, Sched::first_lock(cpu, entry))
    }

    /// The same for the next phase of a path that has paused.
    ///
    /// Where phases take no time nobody ever finds a lock taken, so none is.
    #[inline]
    pub(super) fn has_lock(&mut self, cpu: CpuId, lock: PhaseLock) -> bool {
        match lock {
            PhaseLock::Rq(lock) if self.kernel_takes_time => self.take_lock(cpu, lock),
            PhaseLock::None | PhaseLock::Rq(_) | PhaseLock::Held(_) => true,
        }
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
                false
            }
        }
    }

    /// Releases a lock that has come although it is not needed any more.
    #[inline]
    pub(super) fn release_unused_locks(&mut self, cpu: CpuId) {
        if !self.cpus[cpu.index()].kernel.held.is_empty() {
            self.release_locks(cpu);
        }
    }

    /// A phase is over: its locks go to those who have waited longest, who continue after this event. A path that goes on under its lock
    /// keeps it.
    #[inline]
    pub(super) fn release_locks(&mut self, cpu: CpuId) {
        if self.kernel_takes_time && !self.keeps_lock(cpu) {
            self.pass_locks_on(cpu);
        }
    }

    fn keeps_lock(&self, cpu: CpuId) -> bool {
        !self.cpus[cpu.index()].kernel.held.is_empty()
            && self.sched.paused(cpu).is_some_and(|pause| matches!(pause.next, PhaseLock::Held(_)))
    }

    fn pass_locks_on(&mut self, cpu: CpuId) {
        self.cpus[cpu.index()].kernel.waits_since = None;
        while let Some(lock) = self.cpus[cpu.index()].kernel.held.pop() {
            let place = &mut self.locks[lock.index()];
            place.owner = place.waiting.pop_front();
            let Some(next) = place.owner else { continue };
            self.leave_kernel(next);
            let kernel = &mut self.cpus[next.index()].kernel;
            kernel.held.push(lock);
            let since = kernel.spins_since;
            let counters = &mut self.counters.per_cpu[next.index()];
            counters.lock_waits += 1;
            counters.lock_waiting += self.now - since;
            self.granted.push_back(next);
        }
    }
}
