// SPDX-License-Identifier: GPL-2.0-or-later
//! NOHZ kicks: whether the tick of a busy CPU makes a tickless CPU balance for all of them.
//!
//! Models `nohz_balancer_kick()`, `kick_ilb()`, `find_new_ilb()` and `nohz_csd_func()` (6.1).

use crate::interface::balance::{
    KickDecision, KickReason, NOHZ_BALANCE_KICK, NOHZ_KICK_MASK, NOHZ_NEWILB_KICK, NOHZ_NEXT_KICK, NOHZ_STATS_KICK,
};
use crate::interface::ctx::Ctx;
use crate::interface::probe::Event;
use crate::paths::sched::Sched;
use crate::rules::balance::classify::sched_asym_prefer;
use crate::state::calls::CallFunction;
use crate::track::capacity::check_cpu_capacity;
use crate::types::ids::{CfsRqId, CpuId};
use crate::types::work::KernelOp;

impl Sched {
    /// Decides what the tick of a busy CPU requests from a tickless one.
    ///
    /// Rules, in order:
    /// 1. Without tickless CPUs nothing is requested. (An idle CPU's own softirq does the work and does not
    ///    call this.)
    /// 2. An update of blocked load is requested if some CPU has blocked load and the update is due.
    /// 3. Balancing is requested if there is a reason, see [`Sched::kick_reason`]. It includes rule 2.
    /// 4. If CPUs have become tickless since, an update of `next_balance` is requested.
    pub(crate) fn decide_nohz_kick(&self, ctx: &mut Ctx<'_>, cpu: CpuId) -> KickDecision {
        ctx.charge(KernelOp::NohzKick);
        let reason = KickReason::NobodyTickless;
        let mut decision = KickDecision { cpu, reason, flags: 0, target: None, kicked: false };
        if self.nohz.nr_cpus > 0 {
            if self.nohz.has_blocked && self.jiffies > self.nohz.next_blocked {
                decision.flags = NOHZ_STATS_KICK;
            }
            decision.reason = self.kick_reason(cpu);
            if decision.reason.requests_kick() {
                decision.flags = NOHZ_STATS_KICK | NOHZ_BALANCE_KICK;
            }
            let changes = &self.tunables.changes;
            if self.nohz.needs_update && !changes.kick_next && !changes.next_kick_off {
                decision.flags |= NOHZ_NEXT_KICK;
            }
        }
        decision
    }

    /// Kicks a tickless CPU if the decision requests anything, and reports the decision.
    pub(crate) fn send_nohz_kick(&mut self, ctx: &mut Ctx<'_>, mut decision: KickDecision) {
        if decision.flags != 0 {
            self.kick_ilb(ctx, &mut decision);
        }
        ctx.report(Event::KickDecision(&decision));
    }

    /// Returns the reason why a tickless CPU should balance, or why not.
    ///
    /// The first matching rule decides, in order:
    /// 1. Balancing is not due: no.
    /// 2. This CPU has two or more tasks: yes.
    /// 3. This CPU has a fair task, and other classes leave it too little capacity: yes.
    /// 4. With asymmetric packing, a tickless CPU of higher priority exists: yes.
    /// 5. With asymmetric CPU capacities: yes for a misfit task that another CPU could run; otherwise no,
    ///    because rule 6 would spread tasks over unequal CPUs.
    /// 6. More than one CPU of the last-level cache is busy: yes.
    ///
    /// The tunables `misfit_kick` and `llc_kick` restore former behaviour of rule 5.
    fn kick_reason(&self, cpu: CpuId) -> KickReason {
        let rq = &self.rqs[cpu];
        let cached = &self.domains.cpus[cpu];
        if self.jiffies < self.nohz.next_balance {
            return KickReason::NotDue;
        }
        if rq.nr_running >= 2 {
            return KickReason::ManyTasks;
        }
        if let Some(base) = cached.base
            && self.fair.cfs_rqs[CfsRqId::root(cpu)].h_nr_running >= 1
            && check_cpu_capacity(rq, &self.domains.domains[base])
        {
            return KickReason::ReducedCapacity;
        }
        if let Some(sd) = cached.sd_asym_packing {
            let mut tickless = self.domains.domains[sd].span.iter_and(&self.nohz.idle_cpus_mask);
            let counts = |idle| !self.rules.asym_needs_idle_core || self.sched_use_asym_prio(sd, idle);
            if tickless.any(|idle| sched_asym_prefer(idle, cpu) && counts(idle)) {
                return KickReason::AsymPacking;
            }
        }
        let changes = &self.tunables.changes;
        if let Some(sd) = cached.sd_asym_cpucapacity {
            let is_misfit = if changes.misfit_kick {
                rq.misfit_task_load > 0
            } else {
                rq.check_misfit_status(&self.rules, &self.domains, sd)
            };
            if is_misfit {
                return KickReason::Misfit;
            }
            if !changes.llc_kick {
                return KickReason::AsymCapacity;
            }
        }
        match cached.sd_llc_shared {
            Some(shared) if self.domains.shared[shared].nr_busy_cpus > 1 => KickReason::LlcBusy,
            _ => KickReason::NoReason,
        }
    }

    /// Kicks an idle CPU, unless an earlier kick is still pending there.
    fn kick_ilb(&mut self, ctx: &mut Ctx<'_>, decision: &mut KickDecision) {
        let changes = &self.tunables.changes;
        if decision.flags & NOHZ_BALANCE_KICK != 0 || changes.kick_stats {
            // Prevents further kicks by other CPUs in this jiffy.
            let last = if changes.kick_next { self.nohz.next_balance } else { self.jiffies };
            self.nohz.next_balance = last + 1;
        }
        decision.target = self.find_new_ilb(ctx.cpu);
        let Some(ilb) = decision.target else { return };
        let asked = &mut self.rqs[ilb].nohz_flags;
        decision.kicked = *asked & NOHZ_KICK_MASK == 0;
        *asked |= decision.flags;
        if decision.kicked {
            self.state.rqs[ilb].queue_call(ctx, CallFunction::NohzKick, self.state.polling_idle);
        }
    }

    /// Returns the first idle tickless CPU other than this one. With the tunable `ilb_first` only the first
    /// tickless CPU is considered.
    fn find_new_ilb(&self, this_cpu: CpuId) -> Option<CpuId> {
        if self.tunables.changes.ilb_first {
            return self.nohz.idle_cpus_mask.first().filter(|cpu| self.rqs[*cpu].is_idle());
        }
        let mut tickless = self.nohz.idle_cpus_mask.iter();
        tickless.find(|&cpu| cpu != this_cpu && self.rqs[cpu].is_idle())
    }

    /// Handles a kick: if the CPU is still idle, raises its softirq, which does the requested work.
    pub(crate) fn nohz_csd_func(&mut self, _ctx: &mut Ctx<'_>, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        let asked = rq.nohz_flags;
        rq.nohz_flags &= !(NOHZ_KICK_MASK | NOHZ_NEWILB_KICK);
        rq.idle_balance = rq.is_idle();
        if rq.idle_balance {
            rq.nohz_idle_balance = asked;
            rq.sched_softirq = true;
        }
    }
}

impl KickReason {
    /// Whether this is a reason to request balancing.
    pub const fn requests_kick(self) -> bool {
        match self {
            Self::ManyTasks | Self::ReducedCapacity | Self::AsymPacking | Self::Misfit | Self::LlcBusy => true,
            Self::CpuIsIdle | Self::NobodyTickless | Self::NotDue | Self::AsymCapacity | Self::NoReason => false,
        }
    }
}
