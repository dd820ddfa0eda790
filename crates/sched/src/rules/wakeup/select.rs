// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU selection for fair tasks: the order of the rules.
//!
//! Models `select_task_rq_fair()` (6.1).

use super::search::Selection;
use crate::interface::ctx::Ctx;
use crate::interface::wakeup::{AffineRule, WakeFlags, WakeKind, WakeupDecision};
use crate::state::State;
use crate::state::task::TaskState;
use crate::state::topology::{DomainId, SchedDomains, SdFlags};
use crate::types::ids::{CpuId, TaskId};

impl State {
    /// Selects a CPU for a fair task that may use more than one.
    ///
    /// A wake-up is first recorded in the waker's wakee flips. Then the policy hook decides, if there is one
    /// for wake-ups; otherwise the kernel's rules do.
    pub(crate) fn select_task_rq_fair(
        &mut self,
        ctx: &mut Ctx<'_>,
        task: TaskId,
        prev: CpuId,
        flags: WakeFlags,
    ) -> Selection {
        let this_cpu = ctx.cpu;
        let mut decision = WakeupDecision::new(task, prev, this_cpu, flags);
        // A task that is exiting releases its CPU anyway, and the load of its CPU is no measure.
        decision.sync &= self.tasks[self.rqs[this_cpu].curr].state != TaskState::Dead;

        if flags.ttwu {
            self.tasks[self.rqs[this_cpu].curr].record_wakee(task, self.jiffies, self.hz);
            if ctx.policy.as_deref().is_some_and(|seat| seat.scope().wakeups) {
                return self.scan_by_policy(ctx, decision, flags);
            }
        }
        self.select_by_rules(ctx, decision, flags)
    }

    /// Selects a CPU by the kernel's rules.
    ///
    /// Rules, in order:
    /// 1. With energy-aware scheduling, `find_energy_efficient_cpu()` may decide a wake-up.
    /// 2. Unless the wakee is too wide or the waker's CPU is not allowed, the lowest domain with
    ///    SD_WAKE_AFFINE that contains the previous CPU determines the target: the waker's or the previous
    ///    CPU.
    /// 3. Without such a domain, the highest domain that balances at this event (fork, exec) selects its
    ///    idlest CPU. No domain does so for wake-ups.
    /// 4. Otherwise a wake-up searches for an idle CPU near the target; fork and exec leave the task on its
    ///    CPU.
    pub(super) fn select_by_rules(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut decision: WakeupDecision,
        flags: WakeFlags,
    ) -> Selection {
        let this_cpu = ctx.cpu;
        let WakeupDecision { task, prev, .. } = decision;
        if flags.ttwu {
            if self.find_energy_efficient_cpu(ctx, &mut decision) {
                return Selection::Chosen(decision);
            }
            let (waker, llc_size) = (self.rqs[this_cpu].curr, self.domains.cpus[this_cpu].sd_llc_size);
            decision.affine = if self.tasks[waker].wake_wide(&self.tasks[task], llc_size) {
                AffineRule::Wide
            } else if !self.tasks[task].cpus_allowed.contains(this_cpu) {
                AffineRule::NotAllowed
            } else {
                AffineRule::NoDomain
            };
        }
        let (affine, widest) = self.domains.wake_domains(&decision);
        match affine {
            Some(_) if this_cpu == prev => decision.affine = AffineRule::SameCpu,
            Some(sd) => self.wake_affine(ctx, sd, &mut decision),
            None => {}
        }
        if let Some(sd) = widest {
            self.find_idlest_cpu(ctx, sd, &mut decision);
        } else if flags.ttwu {
            return self.select_idle_sibling(ctx, decision, flags.in_interrupt);
        }
        Selection::Chosen(decision)
    }
}

impl SchedDomains {
    /// Returns the domain of the waker that decides an affine wake-up, or else the widest one that balances
    /// at this event.
    ///
    /// Rules, from the narrowest domain up:
    /// 1. If an affine wake-up is still possible, the first domain with SD_WAKE_AFFINE that contains the
    ///    previous CPU ends the search.
    /// 2. A domain that balances at this event is recorded.
    /// 3. A domain that does not ends the search, unless rule 1 can still apply.
    #[inline]
    fn wake_domains(&self, decision: &WakeupDecision) -> (Option<DomainId>, Option<DomainId>) {
        let wants_affine = decision.affine == AffineRule::NoDomain;
        let occasion = decision.kind.domain_flag();
        let mut widest = None;
        for sd in self.chain(decision.waker) {
            let domain = &self.domains[sd];
            if wants_affine && domain.flags.contains(SdFlags::WAKE_AFFINE) && domain.span.contains(decision.prev) {
                return (Some(sd), None);
            }
            if domain.flags.contains(occasion) {
                widest = Some(sd);
            } else if !wants_affine {
                break;
            }
        }
        (None, widest)
    }
}

impl WakeKind {
    /// Returns the flag of domains that balance at this event.
    pub(crate) const fn domain_flag(self) -> SdFlags {
        match self {
            Self::Wakeup => SdFlags::BALANCE_WAKE,
            Self::Fork => SdFlags::BALANCE_FORK,
            Self::Exec => SdFlags::BALANCE_EXEC,
        }
    }
}
