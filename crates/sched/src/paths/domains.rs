// SPDX-License-Identifier: GPL-2.0-or-later
//! Periodic balancing: selects the domains of a CPU that are due.
//!
//! Models `trigger_load_balance()`, `run_rebalance_domains()` and `rebalance_domains()` (6.1; since 6.10
//! `sched_balance_trigger()`, `sched_balance_softirq()` and `sched_balance_domains()`).

use crate::interface::ctx::Ctx;
use crate::paths::load_balance::{LbPass, LbPassResult};
use crate::paths::resumable::{Step, YieldPoint};
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::nohz::WiderDomains;
use crate::state::topology::{DomainId, SdFlags};
use crate::types::idle_type::CpuIdleType;
use crate::types::ids::CpuId;

/// Iteration over the domains of a CPU in progress: the local variables of `rebalance_domains()`.
#[derive(Clone, Debug)]
pub(crate) struct RebalanceDomains {
    cpu: CpuId,
    idle: CpuIdleType,
    is_busy: bool,
    continue_balancing: bool,
    has_decayed: bool,
    max_cost: u64,
    latest: u64,
    next_balance: Option<u64>,
    /// Summary of the domains above the base domain, while all visited so far were visited within one phase.
    wider: Option<WiderDomains>,
    /// Domain that is visited next.
    next: Option<DomainId>,
    /// Load-balance pass in progress.
    pass: Option<LbPass>,
    /// Pass that is complete, and whose cost elapses before its end is accounted.
    passed: Option<(DomainId, LbPassResult)>,
}

impl RebalanceDomains {
    /// Returns the load-balance pass in progress.
    pub(crate) fn pass(&self) -> Option<&LbPass> {
        self.pass.as_ref()
    }

    /// Records that a domain is due at this time.
    #[inline]
    fn record_due(&mut self, due: u64) {
        if due < self.next_balance.unwrap_or(self.latest) {
            self.next_balance = Some(due);
        }
    }
}

impl Sched {
    /// Begins to balance the due domains of a CPU, from the narrowest to the widest.
    ///
    /// Rules, in order:
    /// 1. The cost of newly-idle balancing decays with time, in every domain.
    /// 2. If another CPU is responsible for a narrower domain, the wider ones are not balanced.
    /// 3. A domain with SD_SERIALIZE, between NUMA nodes, is skipped while another CPU balances such a
    ///    domain.
    /// 4. A domain is due when its interval is over. The interval is longer while the CPU is busy; a CPU that
    ///    has received tasks is busy.
    /// 5. The earliest due time of the domains is the CPU's `next_balance`.
    pub(crate) fn begin_domains(&self, cpu: CpuId, idle: CpuIdleType) -> RebalanceDomains {
        RebalanceDomains {
            cpu,
            idle,
            is_busy: self.counts_as_busy(cpu, idle),
            continue_balancing: true,
            has_decayed: false,
            max_cost: 0,
            latest: self.jiffies + 60 * self.hz,
            next_balance: None,
            wider: None,
            next: self.domains.cpus[cpu].base,
            pass: None,
            passed: None,
        }
    }

    /// Runs one phase of `rebalance_domains()`.
    pub(crate) fn step_domains(&mut self, ctx: &mut Ctx<'_>, path: &mut RebalanceDomains) -> Step<()> {
        loop {
            if let Some(pass) = &mut path.pass {
                path.wider = None;
                let result = match self.step_pass(ctx, pass) {
                    Step::Yield(before) => return Step::Yield(before),
                    Step::Done(result) => result,
                };
                path.passed = Some((pass.env.sd, result));
                path.pass = None;
                return Step::Yield(YieldPoint::UNLOCKED);
            }
            if let Some((sd, result)) = path.passed.take() {
                self.end_domain_pass(path, sd, result);
            }
            let Some(sd) = path.next else { break self.record_wider_domains(path) };
            let is_second = self.domains.domains[sd].child == self.domains.cpus[path.cpu].base;
            if is_second && path.continue_balancing && !path.is_busy {
                if self.try_skip_wider_domains(path) {
                    break;
                }
                path.wider = Some(WiderDomains::NONE);
            }
            if !self.enter_domain(ctx, path, sd) {
                break;
            }
            if path.passed.is_some() && self.path_stacks.yields() {
                path.wider = None;
                return Step::Yield(YieldPoint::UNLOCKED);
            }
        }
        self.end_domains(path);
        Step::Done(())
    }

    /// Begins a pass over a domain if it is due. Returns whether the iteration continues.
    fn enter_domain(&mut self, ctx: &mut Ctx<'_>, path: &mut RebalanceDomains, sd: DomainId) -> bool {
        path.has_decayed = self.decay_newidle_cost(sd);
        let domain = &self.domains.domains[sd];
        if let Some(wider) = &mut path.wider {
            wider.decays_after = wider.decays_after.min(domain.last_decay_max_lb_cost + self.hz);
        }
        path.next = domain.parent;
        path.max_cost += domain.max_newidle_lb_cost;
        if !path.continue_balancing {
            // The time at which this domain is due is not computed.
            path.wider = None;
            return path.has_decayed;
        }
        let is_serialized = domain.flags.intersects(SdFlags::SERIALIZE);
        let interval = self.get_sd_balance_interval(sd, path.is_busy);
        let is_locked_out = is_serialized && self.balancing;
        if !is_locked_out && self.jiffies >= self.domains.domains[sd].last_balance + interval {
            self.balancing |= is_serialized;
            match self.try_quiet_pass(ctx, path.cpu, sd, path.idle) {
                Some(result) => path.passed = Some((sd, result)),
                None => path.pass = Some(self.begin_pass(ctx, path.cpu, sd, path.idle)),
            }
        } else {
            self.record_next_due(path, sd, interval);
        }
        true
    }

    /// Accounts a complete pass over a domain.
    fn end_domain_pass(&mut self, path: &mut RebalanceDomains, sd: DomainId, result: LbPassResult) {
        path.continue_balancing = result.continue_balancing;
        if result.nr_moved > 0 {
            let is_idle = self.rqs[path.cpu].is_idle();
            path.idle = if is_idle { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
            path.is_busy = self.counts_as_busy(path.cpu, path.idle);
        }
        let State { domains, nohz, jiffies, .. } = &mut self.state;
        let domain = &mut domains.domains[sd];
        domain.last_balance = *jiffies;
        nohz.forget_wider_domains(domain);
        if domain.flags.intersects(SdFlags::SERIALIZE) {
            self.balancing = false;
        }
        let interval = self.get_sd_balance_interval(sd, path.is_busy);
        self.record_next_due(path, sd, interval);
    }

    fn record_next_due(&self, path: &mut RebalanceDomains, sd: DomainId, interval: u64) {
        let due = self.domains.domains[sd].last_balance + interval;
        if let Some(wider) = &mut path.wider {
            wider.due = wider.due.min(due);
        }
        path.record_due(due);
    }

    /// Skips the domains above the base domain if none of them is due and nothing decays there.
    fn try_skip_wider_domains(&self, path: &mut RebalanceDomains) -> bool {
        let wider = self.nohz.cpus[path.cpu].wider;
        let is_known = self.jiffies < wider.due && self.jiffies <= wider.decays_after;
        if is_known {
            path.record_due(wider.due);
            path.has_decayed = false;
        }
        is_known
    }

    /// Keeps the summary of the domains above the base domain, after a visit of all within one phase.
    fn record_wider_domains(&mut self, path: &RebalanceDomains) {
        if let Some(wider) = path.wider {
            self.nohz.cpus[path.cpu].wider = wider;
        }
    }

    fn end_domains(&mut self, path: &RebalanceDomains) {
        let migration_cost = self.tunables.migration_cost_u64();
        let rq = &mut self.rqs[path.cpu];
        if path.has_decayed {
            rq.max_idle_balance_cost = path.max_cost.max(migration_cost);
        }
        if let Some(due) = path.next_balance {
            self.nohz.cpus[path.cpu].next_balance = due;
            if self.tunables.changes.ilb_others > 0 && path.idle == CpuIdleType::Idle {
                self.nohz.next_balance = self.nohz.next_balance.min(due);
            }
        }
    }

    /// Whether the CPU uses the interval of busy CPUs. A CPU that runs only SCHED_IDLE tasks balances as
    /// often as an idle one; before 5.6, as seldom as a busy one.
    fn counts_as_busy(&self, cpu: CpuId, idle: CpuIdleType) -> bool {
        idle != CpuIdleType::Idle
            && !(self.fair.sched_idle_cpu(&self.rqs[cpu]) && self.tunables.changes.sched_idle_busy == 0)
    }
}
