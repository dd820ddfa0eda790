// SPDX-License-Identifier: GPL-2.0-or-later
//! What the outside may read of the real-time and deadline tasks of a CPU.

use crate::state::State;
use crate::types::ids::CpuId;
use crate::types::units::{Nanos, SCHED_CAPACITY_SCALE};

/// Figures of the real-time tasks of a CPU, under the names of the kernel's `struct rt_rq`.
#[derive(Clone, Copy, Debug)]
pub struct RtSnapshot {
    /// Runnable tasks.
    pub rt_nr_running: u32,
    /// Those of them that may use more than one CPU.
    pub rt_nr_migratory: u32,
    /// Whether they have used up their runtime.
    pub rt_throttled: bool,
    /// Runtime that they have used in this period.
    pub rt_time: Nanos,
    /// Runtime that they have in each period; `None`: as much as they want.
    pub rt_runtime: Option<Nanos>,
}

/// Figures of the deadline tasks of a CPU, under the names of the kernel's `struct dl_rq` and `struct dl_bw`.
#[derive(Clone, Copy, Debug)]
pub struct DlSnapshot {
    /// Runnable tasks.
    pub dl_nr_running: u32,
    /// Those of them that may use more than one CPU.
    pub dl_nr_migratory: u32,
    /// Bandwidth of a CPU that may be admitted, in parts of 2^20; `None`: there is no limit.
    pub bw: Option<u64>,
    /// Bandwidth that is admitted on all CPUs of the root domain.
    pub total_bw: u64,
}

impl State {
    /// The figures of the real-time tasks of a CPU.
    pub fn rt_figures(&self, cpu: CpuId) -> RtSnapshot {
        let rt = &self.rq(cpu).rt;
        RtSnapshot {
            rt_nr_running: rt.nr_running,
            rt_nr_migratory: rt.nr_migratory,
            rt_throttled: rt.throttled,
            rt_time: Nanos(rt.rt_time),
            rt_runtime: Some(self.rt_runtime(cpu)).filter(|&runtime| runtime != u64::MAX).map(Nanos),
        }
    }

    /// The figures of the deadline tasks of a CPU.
    pub fn dl_figures(&self, cpu: CpuId) -> DlSnapshot {
        let dl = &self.rq(cpu).dl;
        DlSnapshot {
            dl_nr_running: dl.nr_running,
            dl_nr_migratory: dl.nr_migratory,
            bw: self.dl_bandwidth_of(SCHED_CAPACITY_SCALE),
            total_bw: self.dl_root.total_bw,
        }
    }
}
