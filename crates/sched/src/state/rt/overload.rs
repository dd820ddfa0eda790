// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that are overloaded with real-time tasks, and which of them is asked to push.
//!
//! Models `rt_set_overload()`, `rt_clear_overload()` and `rto_next_cpu()` (6.1).

use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;

/// CPUs with real-time tasks that other CPUs could run, and the round of push requests.
#[derive(Clone, Debug)]
pub(crate) struct RtOverload {
    /// Overloaded CPUs: the kernel's `rto_mask`.
    cpus: CpuMask,
    /// Number of overloaded CPUs: the kernel's `rto_count`.
    count: u32,
    /// CPU that is asked now: `rto_cpu`. At most one request is under way.
    asked: Option<CpuId>,
    /// Number of times that a CPU wanted to pull: `rto_loop_next`.
    nr_wanted: u32,
    /// Value of `nr_wanted` that the present round serves: `rto_loop`.
    nr_served: u32,
    /// Number of root domains before this one.
    root_domain: u32,
}

impl RtOverload {
    pub(crate) fn new(nr_cpus: usize) -> Self {
        Self { cpus: CpuMask::new(nr_cpus), count: 0, asked: None, nr_wanted: 0, nr_served: 0, root_domain: 0 }
    }

    /// Begins a new root domain, without CPUs. Rounds of the old one end with their next request.
    pub(crate) fn start_again(&mut self) {
        *self = Self { root_domain: self.root_domain.wrapping_add(1), ..Self::new(self.cpus.nr_cpus()) };
    }

    /// Root domain to which requests belong.
    pub(crate) fn root_domain(&self) -> u32 {
        self.root_domain
    }

    pub(crate) fn set(&mut self, cpu: CpuId, overloaded: bool) {
        if overloaded {
            self.cpus.set(cpu);
            self.count += 1;
        } else {
            self.count -= 1;
            self.cpus.clear(cpu);
        }
    }

    /// Whether a CPU other than `cpu` is overloaded.
    pub(crate) fn has_other(&self, cpu: CpuId) -> bool {
        self.count > u32::from(self.cpus.contains(cpu))
    }

    pub(crate) fn cpus(&self) -> &CpuMask {
        &self.cpus
    }

    /// Number of CPUs that are counted as overloaded.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Records that a CPU wants to pull. Returns the first CPU to ask, unless a round of requests is under
    /// way.
    pub(crate) fn begin_round(&mut self, this_cpu: CpuId) -> Option<CpuId> {
        self.nr_wanted = self.nr_wanted.wrapping_add(1);
        if self.asked.is_some() { None } else { self.next(this_cpu) }
    }

    /// Returns the next CPU to ask, in ascending order. Starts again from the first if a CPU wanted to pull
    /// since the round began.
    pub(crate) fn next(&mut self, this_cpu: CpuId) -> Option<CpuId> {
        loop {
            let start = self.asked.map_or(CpuId(0), |cpu| CpuId(cpu.0 + 1));
            self.asked = self.cpus.next_from(start);
            match self.asked {
                Some(cpu) if cpu == this_cpu => {}
                Some(_) => return self.asked,
                None if self.nr_served == self.nr_wanted => return None,
                None => self.nr_served = self.nr_wanted,
            }
        }
    }
}
