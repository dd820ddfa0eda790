// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing on behalf of idle CPUs whose tick is stopped.

use crate::cpumask::CpuMask;
use crate::ctx::Ctx;
use crate::ids::CpuId;
use crate::sched::Sched;

/// The kernel's `nohz`: what is known of tickless CPUs.
#[derive(Clone, Debug)]
pub struct Nohz {
    /// Tickless idle CPUs.
    pub idle_cpus_mask: CpuMask,
    /// How many there are.
    pub nr_cpus: u32,
    /// Whether any of them has blocked load.
    pub has_blocked: bool,
    /// Whether a CPU has become tickless since `next_balance` was computed.
    pub needs_update: bool,
    /// When idle balancing is due, in jiffies.
    pub next_balance: u64,
    /// When blocked load is to be updated, in jiffies.
    pub next_blocked: u64,
}

impl Nohz {
    pub(crate) fn new(nr_cpus: usize, jiffies: u64) -> Self {
        Self {
            idle_cpus_mask: CpuMask::new(nr_cpus),
            nr_cpus: 0,
            has_blocked: false,
            needs_update: false,
            next_balance: jiffies,
            next_blocked: jiffies,
        }
    }
}

impl Sched {
    pub(crate) fn nohz_csd_func(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId) {}

    pub(crate) fn nohz_run_idle_balance(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId) {}

    pub(crate) fn nohz_balance_enter_idle(&mut self, _cpu: CpuId) {}
}
