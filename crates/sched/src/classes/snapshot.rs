// SPDX-License-Identifier: GPL-2.0-or-later
//! Snapshots of the real-time and deadline state of a CPU.

use crate::types::units::Nanos;

/// Real-time state of a CPU, with the names of the kernel's `struct rt_rq`.
#[derive(Clone, Copy, Debug)]
pub struct RtSnapshot {
    /// Number of runnable tasks.
    pub rt_nr_running: u32,
    /// Number of runnable tasks that may use more than one CPU.
    pub rt_nr_migratory: u32,
    /// Whether the runtime of the CPU is exhausted.
    pub rt_throttled: bool,
    /// Runtime used in the present period.
    pub rt_time: Nanos,
    /// Runtime in each period; `None` without a limit.
    pub rt_runtime: Option<Nanos>,
}

/// Deadline state of a CPU, with the names of the kernel's `struct dl_rq` and `struct dl_bw`.
#[derive(Clone, Copy, Debug)]
pub struct DlSnapshot {
    /// Number of runnable tasks.
    pub dl_nr_running: u32,
    /// Number of runnable tasks that may use more than one CPU.
    pub dl_nr_migratory: u32,
    /// Bandwidth of a CPU that may be admitted, in units of 2^-20; `None` without a limit.
    pub bw: Option<u64>,
    /// Bandwidth admitted on all CPUs of the root domain, in units of 2^-20.
    pub total_bw: u64,
}
