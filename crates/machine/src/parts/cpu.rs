// SPDX-License-Identifier: GPL-2.0-or-later
//! State of a simulated CPU.

use super::idle::CpuIdleState;
use super::kernel::KernelState;
use super::speed::CpuRate;
use fairlab_sched::units::Nanos;

/// State of a simulated CPU.
#[derive(Clone, Debug)]
pub(crate) struct SimCpu {
    pub(crate) idle_loop: IdleLoop,
    /// The task of the workload that the last switch has brought.
    pub(crate) task: Option<u32>,
    /// Frequency and share of the core.
    pub(crate) rate: CpuRate,
    pub(crate) timer: CpuTimer,
    pub(crate) idle: CpuIdleState,
    /// Kernel code in progress on this CPU, if kernel code takes time.
    pub(crate) kernel: KernelState,
    /// Time of cache lines that wake-ups queued on this CPU will move to it, in picoseconds.
    pub(crate) queued_lines_ps: u64,
}

/// Position of a CPU's idle task relative to its idle loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleLoop {
    /// The idle task has not entered its loop since the last context switch.
    Outside,
    /// In the loop, with the tick stopped.
    Inside,
    /// In the loop, with the tick running.
    Ticking,
    /// The idle task has left the loop to reschedule.
    Left,
}

impl IdleLoop {
    /// Whether the idle task is in its loop, with or without a tick.
    #[inline]
    pub(crate) const fn is_inside(self) -> bool {
        matches!(self, Self::Inside | Self::Ticking)
    }
}

/// The scheduler's timer of a CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuTimer {
    /// Version of the programmed timer.
    version: u32,
    /// Expiry of the programmed timer.
    at: Nanos,
}

/// Expiry of a timer that is not programmed.
const OFF: Nanos = Nanos(u64::MAX);

impl CpuTimer {
    /// Returns a timer that is not programmed.
    pub(crate) const fn new() -> Self {
        Self { version: 0, at: OFF }
    }

    /// Expiry of the timer; later than any run lasts if it is not programmed.
    #[inline]
    pub(crate) fn at(&self) -> Nanos {
        self.at
    }

    /// Programs the timer. Returns the version of the new expiry; `None` if nothing changes or the timer is
    /// off.
    #[inline]
    pub(crate) fn arm(&mut self, at: Nanos) -> Option<u32> {
        if at == self.at {
            return None;
        }
        self.at = at;
        self.version = self.version.wrapping_add(1);
        (at < Nanos::NEVER).then_some(self.version)
    }

    /// Marks the timer as expired.
    #[inline]
    pub(crate) fn expire(&mut self) {
        self.at = OFF;
    }

    /// Whether an expiry is the programmed one.
    #[inline]
    pub(crate) fn is_programmed(&self, version: u32) -> bool {
        version == self.version
    }
}
