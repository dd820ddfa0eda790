// SPDX-License-Identifier: GPL-2.0-or-later
//! Tickless CPUs, and the number of busy CPUs of each last-level cache.
//!
//! Models `nohz_balance_enter_idle()`, `nohz_balance_exit_idle()`, `set_cpu_sd_state_idle()` and
//! `set_cpu_sd_state_busy()` (6.1). A CPU counts as tickless until its first tick after it was idle.

use crate::interface::ctx::Ctx;
use crate::state::State;
use crate::state::rq::Rq;
use crate::state::topology::{DomainId, SchedDomain, SchedDomains};
use crate::types::arena::Arena;
use crate::types::cpumask::CpuMask;
use crate::types::ids::CpuId;
use crate::types::tunables::Tunables;
use crate::types::work::KernelOp;

/// State of NOHZ idle balancing: the kernel's `nohz`.
#[derive(Clone, Debug)]
pub struct Nohz {
    /// CPUs that are idle and whose tick is stopped.
    pub idle_cpus_mask: CpuMask,
    /// Number of CPUs in `idle_cpus_mask`.
    pub nr_cpus: u32,
    /// Whether a tickless CPU may have blocked load.
    pub has_blocked: bool,
    /// Whether a CPU has become tickless since `next_balance` was computed.
    pub needs_update: bool,
    /// Time at which idle balancing is due, in jiffies.
    pub next_balance: u64,
    /// Time at which blocked load is updated next, in jiffies.
    pub next_blocked: u64,
    pub(crate) cpus: Arena<CpuId, NohzCpu>,
}

/// Fields of `struct rq` that idle balancing reads of each CPU. They are stored side by side, because it
/// reads them for all CPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NohzCpu {
    /// Time of the CPU's next balancing, in jiffies.
    pub next_balance: u64,
    /// Time of the last update of the CPU's blocked load, in jiffies.
    pub last_blocked_load_update_tick: u64,
    /// Whether the CPU has blocked load that another CPU must decay.
    pub has_blocked_load: bool,
    /// Domains of the CPU above its base domain.
    pub wider: WiderDomains,
}

/// Summary of the domains of a CPU above its base domain, of which balancing for the idle CPU mostly visits none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WiderDomains {
    /// Time at which one of them is due, in jiffies; 0 if it is not known.
    pub due: u64,
    /// Time up to which the cost of newly-idle balancing decays in none of them, in jiffies.
    pub decays_after: u64,
}

impl WiderDomains {
    pub(crate) const UNKNOWN: Self = Self { due: 0, decays_after: 0 };
    /// Summary of no domain.
    pub(crate) const NONE: Self = Self { due: u64::MAX, decays_after: u64::MAX };
}

impl Nohz {
    pub(crate) fn new(nr_cpus: usize, jiffies: u64) -> Self {
        let of_cpu = NohzCpu {
            next_balance: jiffies,
            last_blocked_load_update_tick: jiffies,
            has_blocked_load: false,
            wider: WiderDomains::UNKNOWN,
        };
        Self {
            idle_cpus_mask: CpuMask::new(nr_cpus),
            nr_cpus: 0,
            has_blocked: false,
            needs_update: false,
            next_balance: jiffies,
            next_blocked: jiffies,
            cpus: Arena::filled(of_cpu, nr_cpus),
        }
    }

    /// Records that the tick of an idle CPU stops. From then on other CPUs have to decay its blocked load.
    pub(crate) fn nohz_balance_enter_idle(&mut self, domains: &mut SchedDomains, rq: &mut Rq) {
        self.cpus[rq.cpu].has_blocked_load = true;
        if !rq.nohz_tick_stopped {
            if domains.cpus[rq.cpu].base.is_none() {
                return;
            }
            rq.nohz_tick_stopped = true;
            self.idle_cpus_mask.set(rq.cpu);
            self.nr_cpus += 1;
            domains.set_cpu_sd_state(rq.cpu, true);
            self.needs_update = true;
        }
        self.has_blocked = true;
    }

    /// Handles the first tick of a busy CPU that was tickless: the CPU counts as tickless no longer. Returns
    /// whether it did.
    pub(crate) fn nohz_balance_exit_idle(
        &mut self,
        ctx: &mut Ctx<'_>,
        domains: &mut SchedDomains,
        rq: &mut Rq,
    ) -> bool {
        let was_tickless = core::mem::take(&mut rq.nohz_tick_stopped);
        if was_tickless {
            ctx.charge(KernelOp::NohzExit);
            self.idle_cpus_mask.clear(rq.cpu);
            self.nr_cpus -= 1;
            domains.set_cpu_sd_state(rq.cpu, false);
        }
        was_tickless
    }

    /// Whether `update_nohz_stats()` would update the blocked load of a tickless CPU now.
    pub(crate) fn nohz_stats_are_due(&self, tunables: &Tunables, jiffies: u64, cpu: CpuId) -> bool {
        let of = &self.cpus[cpu];
        of.has_blocked_load
            && self.idle_cpus_mask.contains(cpu)
            && jiffies > of.last_blocked_load_update_tick + tunables.changes.blocked_limit
    }

    /// Forgets the summary of the domains above the base domain of a CPU, because one of them changes.
    #[inline]
    pub(crate) fn forget_wider_domains(&mut self, sd: &SchedDomain) {
        if sd.child.is_some() {
            self.cpus[sd.cpu].wider = WiderDomains::UNKNOWN;
        }
    }
}

impl State {
    /// Sets the interval between passes over a domain.
    pub(crate) fn set_balance_interval(&mut self, sd: DomainId, interval_ms: u32) {
        let domain = &mut self.domains.domains[sd];
        domain.balance_interval = interval_ms;
        self.nohz.forget_wider_domains(domain);
    }
}

impl SchedDomains {
    /// Counts a CPU as idle or busy in its last-level cache, unless it is counted so already.
    fn set_cpu_sd_state(&mut self, cpu: CpuId, idle: bool) {
        let Some(llc) = self.cpus[cpu].sd_llc else { return };
        let sd = &mut self.domains[llc];
        if core::mem::replace(&mut sd.nohz_idle, idle) == idle {
            return;
        }
        let shared = sd.shared.expect("CPUs of a cache domain share its state");
        self.shared[shared].nr_busy_cpus += if idle { -1 } else { 1 };
    }
}
