// SPDX-License-Identifier: GPL-2.0-or-later
//! Waits for runqueue locks ([`crate::parts::locks`]). A spinning CPU is busy, with interrupts off.

use crate::engine::{Engine, EngineLock};
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::paths::entry::Entry;
use fairlab_sched::units::Nanos;

/// Time between two checks of a spinning CPU: 140 cycles of the PAUSE instruction since Skylake, at 3.5 GHz
/// (Intel 64 and IA-32 Architectures Optimization Reference Manual, PAUSE latency).
const SPIN_INTERVAL: Nanos = Nanos(40);

impl<E: Engine> Machine<E> {
    /// Acquires the lock with which a scheduler call begins. Returns whether the CPU has it; if not, the CPU
    /// spins.
    #[inline]
    pub(crate) fn try_enter(&mut self, cpu: CpuId, entry: Entry) -> bool {
        !self.kernel_takes_time || self.acquire_or_spin(cpu, self.sched.first_lock(cpu, entry))
    }

    /// Acquires the lock of the next phase of a yielded path. Returns whether the CPU has it; if not, the CPU
    /// spins.
    ///
    /// Without a cost model phases take no time, so no lock is ever contended and none is taken.
    #[inline(always)]
    pub(crate) fn acquire_or_spin(&mut self, cpu: CpuId, lock: EngineLock) -> bool {
        match lock {
            EngineLock::None | EngineLock::Held(_) => true,
            EngineLock::Rq(lock) => !self.kernel_takes_time || self.take_lock(cpu, lock),
            EngineLock::Try(lock) => self.try_rq_lock(cpu, lock),
            EngineLock::Spin => self.spin_once(cpu),
        }
    }

    /// Takes a runqueue lock if it is free. The path resumes in both cases, so the result is always true.
    #[cold]
    fn try_rq_lock(&mut self, cpu: CpuId, lock: CpuId) -> bool {
        let is_free = self.locks.is_available(cpu, lock);
        let is_taken = is_free && (!self.kernel_takes_time || self.take_lock(cpu, lock));
        self.sched.handle_trylock(cpu, is_taken);
        true
    }

    /// Lets a spinning CPU check again after [`SPIN_INTERVAL`]. Returns whether the interval is over.
    #[cold]
    fn spin_once(&mut self, cpu: CpuId) -> bool {
        let begins = self.locks.begins_to_spin(cpu);
        if begins {
            self.extend_kernel_time(cpu, SPIN_INTERVAL);
        }
        !begins
    }

    /// Takes a runqueue lock, unless the CPU holds it already. Returns whether the CPU has it; if not, it
    /// spins until the lock is granted and then tries again.
    fn take_lock(&mut self, cpu: CpuId, lock: CpuId) -> bool {
        let has_lock = self.locks.take(cpu, lock, self.now);
        if !has_lock {
            self.enter_kernel(cpu, Nanos::NEVER);
            if self.locks.holds_any(cpu) && self.locks.is_deadlock(cpu, lock) {
                self.sched.handle_deadlock(cpu, lock);
            }
        }
        has_lock
    }

    /// Releases locks that were granted but are no longer needed.
    #[inline]
    pub(crate) fn release_unused_locks(&mut self, cpu: CpuId) {
        if self.kernel_takes_time && self.locks.holds_any(cpu) {
            self.release_locks(cpu);
        }
    }

    /// Releases the locks of a CPU at the end of a phase. Each goes to its longest waiter, which settles
    /// after this event. A lock that the next phase needs is kept.
    #[inline]
    pub(crate) fn release_locks(&mut self, cpu: CpuId) {
        if !self.kernel_takes_time {
            return;
        }
        if self.locks.holds_any(cpu) {
            self.grant_locks(cpu);
        }
        self.sched.handle_phase_end(cpu);
    }

    #[inline(never)]
    fn grant_locks(&mut self, cpu: CpuId) {
        for place in (0..self.locks.held(cpu).len()).rev() {
            let sched = &self.sched;
            if let Some((next, since)) = self.locks.release_unless(cpu, place, |lock| sched.holds_lock(cpu, lock)) {
                self.exit_kernel(next);
                self.counters.per_cpu[next.index()].add_lock_wait(self.now - since);
            }
        }
        self.locks.clear_wait(cpu);
    }
}
