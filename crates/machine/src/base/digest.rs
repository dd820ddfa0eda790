// SPDX-License-Identifier: GPL-2.0-or-later
//! Digest of a run: a hash over the stream of scheduler events. Equal inputs give equal digests on every
//! host, in debug and release builds.

use fairlab_sched::probe::Event;
use fairlab_sched::units::Nanos;
use std::fmt;

/// Running 64-bit hash of the scheduler events of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Mixes a number into the hash.
    #[inline]
    pub fn mix(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }

    /// Mixes a scheduler event into the hash. PELT updates are excluded, because they are emitted only for
    /// observers that want them.
    #[inline(always)]
    pub fn mix_event(&mut self, now: Nanos, event: &Event<'_>) {
        let (tag, a, b, c) = match *event {
            Event::Wakeup { task, cpu, is_new, on } => (1, task.0, cpu.0, on.0 << 1 | u32::from(is_new)),
            Event::Switch { cpu, prev, next, prev_state } => (2 + prev_state as u64, cpu.0, prev.0, next.0),
            Event::Migrate { task, from, to, .. } => (5, task.0, from.0, to.0),
            Event::Frequency { cpu, capacity, .. } => (6, cpu.0, capacity as u32, 0),
            Event::Ipi { cpu, kind, on } => (7 + kind as u64, cpu.0, on.0, 0),
            Event::DomainStat { cpu, level, amount, .. } => (9, cpu.0, level, amount as u32),
            _ => return,
        };
        self.mix(now.0);
        self.mix(tag << 56 | u64::from(a) << 28 | u64::from(b));
        self.mix(u64::from(c));
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
