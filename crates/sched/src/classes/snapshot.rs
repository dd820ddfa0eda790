// SPDX-License-Identifier: GPL-2.0-or-later
//! Snapshots of the real-time and deadline state of a CPU.

use crate::state::State;
use crate::types::ids::CpuId;
use crate::types::units::{Nanos, SCHED_CAPACITY_SCALE};

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

impl State {
    /// Returns the real-time state of a CPU.
    pub fn rt_snapshot(&self, cpu: CpuId) -> RtSnapshot {
        let rt = &self.rqs[cpu].rt;
        RtSnapshot {
            rt_nr_running: rt.nr_running(),
            rt_nr_migratory: rt.nr_migratory(),
            rt_throttled: rt.throttled(),
            rt_time: Nanos(rt.rt_time()),
            rt_runtime: Some(rt.runtime(&self.tunables)).filter(|&runtime| runtime != u64::MAX).map(Nanos),
        }
    }

    /// Returns the deadline state of a CPU.
    pub fn dl_snapshot(&self, cpu: CpuId) -> DlSnapshot {
        let dl = &self.rqs[cpu].dl;
        DlSnapshot {
            dl_nr_running: dl.nr_running(),
            dl_nr_migratory: dl.nr_migratory,
            bw: self.tunables.dl_bandwidth_of(SCHED_CAPACITY_SCALE),
            total_bw: self.dl_root.total_bw(),
        }
    }
}
