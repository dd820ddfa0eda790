// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPUs are tickless, and how many CPUs of each last-level cache are busy.
//!
//! Models `nohz_balance_enter_idle()`, `nohz_balance_exit_idle()`, `set_cpu_sd_state_idle()` and
//! `set_cpu_sd_state_busy()` (6.1). A CPU counts as tickless until its first tick after it was idle.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::work::KernelOp;
use alloc::vec;
use alloc::vec::Vec;

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
    /// Each CPU's part.
    pub(crate) cpus: Vec<NohzCpu>,
}

/// What idle balancing reads of each CPU: fields of `struct rq` that stand side by side here, since a walk looks at all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NohzCpu {
    /// When it balances next, in jiffies.
    pub next_balance: u64,
    /// When its blocked load was updated last, in jiffies.
    pub last_blocked_load_update_tick: u64,
    /// Whether it has blocked load that somebody must decay.
    pub has_blocked_load: bool,
}

impl Nohz {
    pub(crate) fn new(nr_cpus: usize, jiffies: u64) -> Self {
        let of_cpu = NohzCpu { next_balance: jiffies, last_blocked_load_update_tick: jiffies, has_blocked_load: false };
        Self {
            idle_cpus_mask: CpuMask::new(nr_cpus),
            nr_cpus: 0,
            has_blocked: false,
            needs_update: false,
            next_balance: jiffies,
            next_blocked: jiffies,
            cpus: vec![of_cpu; nr_cpus],
        }
    }
}

impl State {
    /// The tick of an idle CPU stops. Its blocked load has to be decayed by others from now on.
    pub(crate) fn nohz_balance_enter_idle(&mut self, cpu: CpuId) {
        self.nohz.cpus[cpu.index()].has_blocked_load = true;
        let rq = &mut self.rqs[cpu.index()];
        if !rq.nohz_tick_stopped {
            if self.domains.cpus[cpu.index()].base.is_none() {
                return;
            }
            rq.nohz_tick_stopped = true;
            self.nohz.idle_cpus_mask.set(cpu);
            self.nohz.nr_cpus += 1;
            self.set_cpu_sd_state(cpu, true);
            self.nohz.needs_update = true;
        }
        self.nohz.has_blocked = true;
    }

    /// A busy CPU has a tick: if it is the first one since it was tickless, it is not so any more. Returns whether that is so.
    pub(crate) fn nohz_balance_exit_idle(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> bool {
        let was_tickless = core::mem::take(&mut self.rqs[cpu.index()].nohz_tick_stopped);
        if was_tickless {
            ctx.charge(KernelOp::NohzExit);
            self.nohz.idle_cpus_mask.clear(cpu);
            self.nohz.nr_cpus -= 1;
            self.set_cpu_sd_state(cpu, false);
        }
        was_tickless
    }

    /// Counts a CPU as idle or busy in its last-level cache, unless it is counted so.
    fn set_cpu_sd_state(&mut self, cpu: CpuId, idle: bool) {
        let Some(llc) = self.domains.cpus[cpu.index()].sd_llc else { return };
        let sd = &mut self.domains.domains[llc];
        if core::mem::replace(&mut sd.nohz_idle, idle) == idle {
            return;
        }
        let shared = sd.shared.expect("CPUs of a cache domain share its state");
        self.domains.shared[shared].nr_busy_cpus += if idle { -1 } else { 1 };
    }
}
