// SPDX-License-Identifier: GPL-2.0-or-later
//! Periodic balancing: which domains of a CPU are due.
//!
//! Models `trigger_load_balance()`, `run_rebalance_domains()` and `rebalance_domains()` (6.1; since 6.10
//! `sched_balance_trigger()`, `sched_balance_softirq()` and `sched_balance_domains()`).
//!
//! DIFFERS: a domain with `SD_SERIALIZE` is skipped by the kernel while another CPU balances such a one. Here a pass is
//! never interrupted by another, so nobody is ever skipped.

use crate::ctx::Ctx;
use crate::ids::CpuId;
use crate::nohz::blocked::BlockedCaller;
use crate::sched::Sched;
use crate::topology::CpuIdleType;

impl Sched {
    /// The tick asks for balancing: on this CPU if it is due, and perhaps on behalf of tickless CPUs.
    pub(crate) fn trigger_load_balance(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if self.domains.cpus[cpu.index()].base.is_none() {
            return;
        }
        if self.jiffies >= self.rqs[cpu.index()].next_balance {
            self.rqs[cpu.index()].sched_softirq = true;
        }
        self.nohz_balancer_kick(ctx, cpu);
    }

    /// The balancing softirq.
    ///
    /// A CPU that was asked to balances for the tickless ones first. That includes itself, so nothing else is left to do.
    pub(crate) fn run_rebalance_domains(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        let idle = if self.rqs[cpu.index()].idle_balance { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
        if self.nohz_idle_balance(ctx, cpu, idle) {
            return;
        }
        self.update_blocked_averages(ctx, cpu, BlockedCaller::Softirq);
        self.rebalance_domains(ctx, cpu, idle);
    }

    /// Balances those domains of a CPU that are due, from the narrowest to the widest.
    ///
    /// Rules, in order:
    /// 1. The price of newly-idle balancing decays with time, in every domain.
    /// 2. When a narrower domain was not this CPU's to balance, the wider ones are not either.
    /// 3. A domain is due when its interval is over, which is longer while the CPU is busy. A CPU that got tasks is busy.
    /// 4. The first domain to be due next says when this CPU balances again.
    pub(crate) fn rebalance_domains(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, mut idle: CpuIdleType) {
        let mut is_busy = self.counts_as_busy(cpu, idle);
        let mut continue_balancing = true;
        let mut has_decayed = false;
        let mut max_cost = 0;
        let latest = self.jiffies + 60 * self.hz();
        let mut next_balance = None;
        let mut next = self.domains.cpus[cpu.index()].base;
        while let Some(sd) = next {
            has_decayed = self.decay_newidle_cost(sd);
            let domain = &self.domains.domains[sd];
            next = domain.parent;
            max_cost += domain.max_newidle_lb_cost;
            if !continue_balancing {
                if has_decayed {
                    continue;
                }
                break;
            }
            let mut interval = self.get_sd_balance_interval(sd, is_busy);
            if self.jiffies >= self.domains.domains[sd].last_balance + interval {
                let result = self.load_balance(ctx, cpu, sd, idle);
                continue_balancing = result.continue_balancing;
                if result.nr_moved > 0 {
                    idle = if self.rqs[cpu.index()].is_idle() { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
                    is_busy = self.counts_as_busy(cpu, idle);
                }
                self.domains.domains[sd].last_balance = self.jiffies;
                interval = self.get_sd_balance_interval(sd, is_busy);
            }
            let due = self.domains.domains[sd].last_balance + interval;
            if due < next_balance.unwrap_or(latest) {
                next_balance = Some(due);
            }
        }
        let migration_cost = self.migration_cost_u64();
        let rq = &mut self.rqs[cpu.index()];
        if has_decayed {
            rq.max_idle_balance_cost = max_cost.max(migration_cost);
        }
        if let Some(due) = next_balance {
            rq.next_balance = due;
        }
    }

    /// A CPU that only runs SCHED_IDLE tasks balances as often as an idle one.
    fn counts_as_busy(&self, cpu: CpuId, idle: CpuIdleType) -> bool {
        idle != CpuIdleType::Idle && !self.sched_idle_cpu(cpu)
    }
}
